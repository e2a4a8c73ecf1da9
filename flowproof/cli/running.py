"""Runs flows for a command: signals, progress, the run record, reports, the exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from flowproof.cli.options import Output, OutputLost, environment, put, say
from flowproof.cli.view import view_for
from flowproof.drivers.interface import Driver
from flowproof.errors import ExitCode, UsageError
from flowproof.files import shortened
from flowproof.flow.job import World
from flowproof.model.clock import SystemClock
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows

if TYPE_CHECKING:
    from flowproof.model.run_record import RunRecord


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command wants run. `folder` is where the run record goes; `reports` are kinds with
    the folder or file that each goes to. The rest is as in `RunOptions`."""

    command: str
    suite: str
    flows: Sequence[PlannedFlow]
    folder: Path
    skip_untraced: bool = False
    allow_empty: bool = False
    partial: bool = False
    jobs: int = 1
    max_failures: int | None = None
    global_timeout: float | None = None
    fail_on_flaky: bool = False
    reports: Mapping[str, Path] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def execute(plan: Plan, output: Output, project: Project, driver: Driver) -> int:
    """Run a plan, tell people and files about it, and return the exit code."""
    clock = SystemClock()
    environ = environment()
    world = World(clock, environ, driver, debug=output.debug)
    options = RunOptions(
        command=plan.command,
        suite=plan.suite,
        chance=os.urandom(3),
        skip_untraced=plan.skip_untraced,
        allow_empty=plan.allow_empty,
        partial=plan.partial,
        warnings=plan.warnings,
        jobs=plan.jobs,
        max_failures=plan.max_failures,
        global_timeout=plan.global_timeout,
        fail_on_flaky=plan.fail_on_flaky,
    )
    _require_writable(plan.reports.values())
    view = view_for(len(plan.flows), output, environ)

    async def main() -> RunRecord:
        interrupt = Interrupt()
        async with anyio.create_task_group() as group:
            group.start_soon(_listen, interrupt)
            record = await run_flows(plan.flows, project, world, options, view, interrupt)
            group.cancel_scope.cancel()
        return record

    with view:
        record = anyio.run(main)
    written = _write(plan, record, project.here)
    if not output.quiet or record.exit_code:
        from flowproof.report.console import Style, summary, wants_color

        color = wants_color(sys.stderr, environ) if output.color is None else output.color
        shown = written if plan.reports or output.verbose else []
        say(summary(record, shown, Style(color)))
    return int(_told(record) if output.json else record.exit_code)


def _told(record: RunRecord) -> ExitCode:
    """Print a run record, last of all; the exit code. A record that is lost makes no green run."""
    from flowproof.report.run_json import dump

    try:
        put(dump(record))
    except OutputLost as error:
        say(f"error: {error}")
        return record.exit_code or error.exit_code
    return record.exit_code


async def _listen(interrupt: Interrupt) -> None:
    """End the run on the first Ctrl-C or SIGTERM, and the process at once on the second: the
    guard of each agent ends its tree when we are gone."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            if interrupt.requested:
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)
            interrupt.request()


def _require_writable(folders: Iterable[Path]) -> None:
    """Learn before the run that reports have no place, and not after it.

    :raises UsageError: if a folder cannot be made or written to.
    """
    for folder in folders:
        shown = shortened(str(folder))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write reports to {shown}: {error.strerror}") from error
        if not os.access(folder, os.W_OK):
            raise UsageError(f"cannot write reports to {shown}: it is read-only")


def _write(plan: Plan, record: RunRecord, here: Path) -> list[str]:
    from flowproof.report.write import write_files
    from flowproof.suite.run_store import keep, remember

    written: list[str] = []
    try:
        kept = [str(keep(record, plan.folder))]
        remember(record, plan.folder, here)
    except UsageError as error:
        # Nobody asked for it, and the run is what it is.
        say(f"warning: {error}")
        kept = []
    if plan.reports:
        from flowproof.report.interface import REPORTS

        for kind, folder in plan.reports.items():
            files = write_files(folder, REPORTS[kind](record))
            written += [str(file) for file in files]
    return written or kept
