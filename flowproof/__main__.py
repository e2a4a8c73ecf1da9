"""Entry point of the `flowproof` command and of `python -m flowproof`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        # Answered here, since the command line's own imports cost more than all else it does.
        from flowproof.version import __version__

        sys.stdout.write(f"flowproof {__version__}\n")
        return
    from flowproof.cli.main import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
