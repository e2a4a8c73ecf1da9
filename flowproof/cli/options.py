"""Options that every command takes, and what they decide."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

import click

from flowproof.cli.streams import drop
from flowproof.errors import ExitCode, UsageError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Output:
    """How much a command says and how. `color` is None where the environment decides."""

    json: bool
    quiet: bool
    verbose: bool
    color: bool | None
    debug: bool


def output_options(function: F) -> F:
    """Add --json, -q, -v, --no-color and --debug, passed on as one `output`."""

    def gathered(
        *args: Any,
        json: bool,
        quiet: bool,
        verbose: bool,
        no_color: bool,
        debug: bool,
        **kwargs: Any,
    ) -> Any:
        output = Output(json, quiet, verbose, False if no_color else None, debug)
        return function(*args, output=output, **kwargs)

    gathered.__name__ = function.__name__
    gathered.__doc__ = function.__doc__
    gathered.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option("--debug", is_flag=True, help="Show where an internal error came from."),
        click.option("--no-color", is_flag=True, help="Never use colours."),
        click.option("-v", "--verbose", is_flag=True, help="Say more, agent output included."),
        click.option("-q", "--quiet", is_flag=True, help="Say only what is not green."),
        click.option("--json", is_flag=True, help="Print one JSON object to stdout."),
    ):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


class OutputLost(UsageError):
    """What was asked for could not be written, to a full disk for example."""


def say(text: str) -> None:
    """A line for people, on stderr. If it cannot be told, there is nobody to tell that to."""
    with contextlib.suppress(OutputLost), for_a_reader(sys.stderr):
        sys.stderr.write(text + "\n")


def put(text: str) -> None:
    """A result, on stdout.

    :raises OutputLost: if it cannot be written.
    """
    with for_a_reader(sys.stdout):
        sys.stdout.write(text)


def put_error(message: str, code: ExitCode) -> None:
    """What `--json` prints where there is no result: one object, whatever went wrong."""
    from flowproof.model.jsonvalue import write

    try:
        put(write({"error": message, "exit_code": int(code)}) + "\n")
    except OutputLost as error:
        say(f"error: {error}")


@contextlib.contextmanager
def for_a_reader(stream: TextIO) -> Iterator[None]:
    """Write to a stream. A reader that leaves, such as `head`, is no error, and changes neither
    what a command does nor what it returns.

    :raises OutputLost: if it cannot be written for another reason.
    """
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        drop(stream)
    except OSError as error:
        drop(stream)
        raise OutputLost(f"the output cannot be written: {error.strerror}") from error


def environment() -> dict[str, str]:
    """The process environment, read once."""
    return dict(os.environ)
