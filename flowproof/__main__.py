"""Entry point of the `flowproof` command and of `python -m flowproof`."""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave with its exit code."""


if __name__ == "__main__":
    main()
