"""The options that say how the flows of a suite run: how many at once, how often, how long."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flowproof.errors import UsageError
from flowproof.files import shortened

if TYPE_CHECKING:
    from flowproof.suite.engines.interface import OpenEngine

F = TypeVar("F", bound=Callable[..., Any])
_SHORTEST, _LONGEST = 0.001, 7 * 24 * 3600.0
_NUMBER = re.compile(r"(?:[0-9]{1,9}\.?|[0-9]{0,9}\.[0-9]{1,9})(?:[eE][+-]?[0-9]{1,2})?")
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]{1,255}:[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Running:
    """The options as they were typed; times are in seconds."""

    jobs: str | None = None
    retries: int | None = None
    fail_on_flaky: bool = False
    repeat: int = 1
    max_failures: int | None = None
    timeout: float | None = None
    global_timeout: float | None = None
    engine: str = "local"
    scheduler: str | None = None

    def slots(self, suite: str | None, one_at_a_time: bool, cores: int | None = None) -> int:
        """How many flows run at once, where the `suite` says this about it, and where hooks
        around each may bear only one. `cores` are those that flows can have (None: this
        machine's).

        :raises UsageError: if the option cannot be used.
        """
        from flowproof.suite.jobs import parse_jobs

        return parse_jobs(self.jobs or suite or ("1" if one_at_a_time else "auto"), "-j", cores)

    def opened(self, slots: Callable[[int], int]) -> OpenEngine | None:
        """What opens the engine, where it is not this process; `slots` says how many flows run
        at once of those that could.

        :raises UsageError: if the options exclude each other.
        :raises CapabilityError: if what the engine needs is not installed.
        """
        if self.engine != "dask":
            if self.scheduler is not None:
                raise UsageError("--scheduler is for --engine dask, which is not given")
            return None
        if self.scheduler is not None and not _ADDRESS.fullmatch(self.scheduler):
            raise UsageError(
                f"--scheduler {shortened(self.scheduler)}: an address such as tcp://host:8786, or "
                "tls://host:8786"
            )
        from functools import partial

        from flowproof.suite.engines.cluster import begin_server, require_dask

        require_dask()
        if self.scheduler is None:
            begin_server()  # it takes a while, and there is more to do before it is needed
        from flowproof.suite.engines.dask import DaskOptions, open_dask

        return partial(open_dask, DaskOptions(self.scheduler, slots))


def _seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """The seconds that a time stands for, written with a unit as in a spec, or without one.

    :raises click.BadParameter: if it is none, or too short or long to wait.
    """
    if text is None:
        return None
    from flowproof.spec.shapes import DURATION_ACCEPTED, with_unit

    seconds = with_unit(text)
    if seconds is None and _NUMBER.fullmatch(text):
        seconds = float(text)
    if seconds is None:
        raise click.BadParameter(f"{shortened(text)}: expected {DURATION_ACCEPTED}", ctx, param)
    if not _SHORTEST <= seconds <= _LONGEST:
        bounds = f"from {_SHORTEST * 1000:g}ms to {_LONGEST / 3600:g}h"
        raise click.BadParameter(f"{shortened(text)}: {bounds}", ctx, param)
    return seconds


def running_options(function: F) -> F:
    """Add -j, --retries, --fail-on-flaky, --repeat, -x, --max-failures, --timeout,
    --global-timeout, --engine and --scheduler, passed on as one `running`."""

    def gathered(
        *args: Any,
        jobs: str | None,
        retries: int | None,
        fail_on_flaky: bool,
        repeat: int,
        exit_first: bool,
        max_failures: int | None,
        timeout: float | None,
        global_timeout: float | None,
        engine: str,
        scheduler: str | None,
        **kwargs: Any,
    ) -> Any:
        running = Running(
            jobs,
            retries,
            fail_on_flaky,
            repeat,
            1 if exit_first else max_failures,
            timeout,
            global_timeout,
            engine,
            scheduler,
        )
        return function(*args, running=running, **kwargs)

    gathered.__name__ = function.__name__
    gathered.__doc__ = function.__doc__
    gathered.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="The Dask scheduler, such as tcp://host:8786. Default: processes on this machine.",
        ),
        click.option(
            "--engine",
            type=click.Choice(["local", "dask"]),
            default="local",
            show_default=True,
            help="Where flows run: in this process, or on the workers of a Dask cluster.",
        ),
        click.option(
            "--global-timeout",
            metavar="TIME",
            callback=_seconds,
            help="End the whole run after this time, with reports of what finished.",
        ),
        click.option(
            "--timeout",
            metavar="TIME",
            callback=_seconds,
            help="The most that one flow may take: seconds, or such as 90s or 5m.",
        ),
        click.option(
            "--max-failures",
            metavar="N",
            type=click.IntRange(1),
            help="Begin no other flow once N failed.",
        ),
        click.option("-x", "exit_first", is_flag=True, help="The same as --max-failures 1."),
        click.option(
            "--repeat",
            metavar="N",
            type=click.IntRange(1, 1000),
            default=1,
            help="Run each flow N times.",
        ),
        click.option(
            "--fail-on-flaky", is_flag=True, help="Be red if a flow passed only when tried again."
        ),
        click.option(
            "--retries",
            metavar="N",
            type=click.IntRange(0, 100),
            help="Try a failed flow again up to N times.",
        ),
        click.option(
            "-j",
            "--jobs",
            metavar="N|auto|50%",
            help="How many flows run at once. Default: what the suite says, else one per core.",
        ),
    ):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]
