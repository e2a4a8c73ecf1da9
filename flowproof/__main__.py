"""Entry point of the `flowproof` command and of `python -m flowproof`."""

from __future__ import annotations

import sys

from flowproof.cli.streams import flushed, open_missing, told


def main() -> None:
    """Run the command line and leave with its exit code."""
    open_missing()
    arguments = sys.argv[1:]
    try:
        code = _run(arguments)
    except KeyboardInterrupt:
        # Before the command line was loaded; it answers for what comes after.
        code = 130
        if "--json" in arguments:
            code = told('{"error":"interrupted","exit_code":130}\n', code)
    sys.exit(flushed(code))


def _run(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        # Answered here, since the command line's own imports cost more than all else it does.
        from flowproof.version import __version__

        return told(f"flowproof {__version__}\n", 0)
    if arguments[:2] == ["mcp", "stand-in"]:
        # An agent waits for it; the variables it is given start the file itself, sooner still.
        from flowproof.boundary.mcp import stand_in

        return stand_in.main(arguments[2:])
    from flowproof.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    main()
