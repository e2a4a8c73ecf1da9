"""The command line as a whole: which commands there are, and how errors leave the process.

A command's module is imported when that command runs, so that none pays for another.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from flowproof.errors import ExitCode, FlowproofError, SpecError, UsageError, WorldError
from flowproof.version import __version__

_COMMANDS = {
    "record": ("flowproof.cli.record", "Run once against the real model and write the trace."),
    "run": ("flowproof.cli.replay", "Replay flows from their traces; no model is contacted."),
    "suite": ("flowproof.cli.suite", "Run many flows and write reports."),
    "report": ("flowproof.cli.report", "Make, merge, verify and open reports."),
    "check": ("flowproof.cli.check", "Validate specs and suites without running anything."),
    "schema": ("flowproof.cli.schema", "Print the JSON Schema of specs, suites and records."),
    "graph": ("flowproof.cli.graph", "Draw the task graph that a spec, or a suite, compiles into."),
    "show": ("flowproof.cli.show", "Print the trajectory that a trace holds."),
}


class _Commands(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command = importlib.import_module(_COMMANDS[name][0]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{_COMMANDS[name][0]} defines no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # The help texts stand here as well, so that `--help` imports no command.
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in _COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, _COMMANDS, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise click.UsageError(f"no such command `{name}`{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Not that of our output: a command answers for that. Click would tell nobody.
            raise RuntimeError("a pipe to another process broke") from error


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 passed, 1 a flow failed, 2 usage or files, 3 internal error, "
    "4 the world (upstream, port, capability), 5 nothing ran, 130 interrupted.",
)
@click.version_option(__version__, prog_name="flowproof", message="%(prog)s %(version)s")
def cli() -> None:
    """Record an AI agent once; replay it with no model and no key."""


def run(arguments: Sequence[str], command: click.Command = cli) -> int:
    """Run one command line; the exit code of the process."""
    try:
        outcome = command.main(list(arguments), prog_name="flowproof", standalone_mode=False)
        return int(outcome) if isinstance(outcome, int) else int(ExitCode.PASSED)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        if "--json" in arguments:
            from flowproof.cli.options import put_error

            put_error(error.format_message(), ExitCode.AUTHOR_ERROR)
        else:
            _show(error)
        return int(ExitCode.AUTHOR_ERROR)
    except FlowproofError as error:
        _tell(error, arguments)
        return int(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        if "--json" in arguments:
            from flowproof.cli.options import put_error

            put_error("interrupted", ExitCode.INTERRUPTED)
        return int(ExitCode.INTERRUPTED)
    except SystemExit:
        # So click leaves when the reader of its help has left.
        return int(ExitCode.PASSED)
    except Exception as error:
        refused = None if "--debug" in arguments else _refusal(error)
        if refused is None:
            return _internal(error, arguments)
        _tell(refused, arguments)
        return int(refused.exit_code)


def _refusal(error: BaseException) -> FlowproofError | None:
    """What the system refused where no command answers for it: a name too long, a folder that
    may not be entered, a current folder that is gone."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, FlowproofError):
        return error
    if not isinstance(error, OSError):
        return None
    from flowproof.files import exhausted, remedy, system_error

    try:
        os.getcwd()  # noqa: PTH109 (its error is all that is of interest)
    except OSError:
        return UsageError("the current folder is no longer there; change to another one")
    # Files that find no room are named; what is not is our own output, which somebody redirected.
    if exhausted(error) and (error.errno != errno.ENOSPC or error.filename is not None):
        return WorldError(f"{system_error(error)}{remedy(error.errno)}")
    return UsageError(system_error(error))


def _tell(error: FlowproofError, arguments: Sequence[str]) -> None:
    from flowproof.cli.options import OutputLost, put_error, say

    if "--json" in arguments and not isinstance(error, OutputLost):
        put_error(str(error), error.exit_code)
    else:
        from flowproof.model.visible import printable

        prefix = "" if isinstance(error, SpecError) else "error: "
        say(f"{prefix}{printable(str(error))}")


def _show(error: click.ClickException) -> None:
    from flowproof.cli.options import OutputLost, for_a_reader

    with contextlib.suppress(OutputLost), for_a_reader(sys.stderr):
        error.show()


def _internal(error: Exception, arguments: Sequence[str]) -> int:
    from flowproof.cli.options import put_error, say
    from flowproof.model.visible import printable

    message = printable(f"internal error: {type(error).__name__}: {error}")
    if "--json" in arguments:
        put_error(message, ExitCode.INTERNAL)
    if "--debug" in arguments:
        import traceback

        say("".join(traceback.format_exception(error)))
    elif "--json" not in arguments:
        say(f"{message}\nThis is a fault of flowproof; --debug shows where.")
    return int(ExitCode.INTERNAL)
