"""Runs flows for a command: signals, progress, the run record, reports, the exit code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from flowproof.cli.options import Output, OutputLost, environment, put, put_error, say
from flowproof.cli.reporting import Reporting, prepare, write_reports
from flowproof.cli.view import foldable, view_for
from flowproof.drivers.interface import Driver
from flowproof.errors import ExitCode, FlowproofError, UsageError
from flowproof.flow.job import World
from flowproof.model.clock import SystemClock
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows

if TYPE_CHECKING:
    from flowproof.model.run_record import RunRecord
    from flowproof.report.blob import BlobHead
    from flowproof.report.live import Progress
    from flowproof.suite.engines.interface import OpenEngine


_HEAD_START = 0.05
"""Seconds in which the first agents are launched, before anything is loaded beside them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command wants run. `folder` is where the run record goes; `reporting` are the
    reports to write, and `head` is what one of kind `blob` says of the part that runs; `github`
    tells GitHub too, and `slowest` is as in `console.summary`. `engine` is as in `run_flows`, the
    rest as in `RunOptions`, whose folder it is too."""

    command: str
    suite: str
    flows: Sequence[PlannedFlow]
    folder: Path
    skip_untraced: bool = False
    record_missing: bool = False
    allow_empty: bool = False
    partial: bool = False
    jobs: int = 1
    max_failures: int | None = None
    global_timeout: float | None = None
    fail_on_flaky: bool = False
    reporting: Reporting = field(default_factory=lambda: Reporting({}))
    head: BlobHead | None = None
    warnings: tuple[str, ...] = ()
    github: bool = False
    slowest: int | None = None
    engine: OpenEngine | None = None
    discovered: int | None = None
    selection: tuple[tuple[str, str], ...] = ()
    left_out: Sequence[Path] = ()


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
        record_missing=plan.record_missing,
        allow_empty=plan.allow_empty,
        partial=plan.head.partial if plan.head else plan.partial,
        warnings=plan.warnings,
        jobs=plan.jobs,
        max_failures=plan.max_failures,
        global_timeout=plan.global_timeout,
        fail_on_flaky=plan.fail_on_flaky,
        folder=plan.folder,
        discovered=plan.discovered,
        selection=plan.selection,
        left_out=plan.left_out,
    )
    prepare(plan.reporting.folders)
    view = view_for(plan.flows, plan.jobs, output, environ)

    async def main() -> RunRecord:
        interrupt = Interrupt()
        async with anyio.create_task_group() as group:
            group.start_soon(_listen, interrupt, view, output.json)
            if plan.reporting.folders:
                group.start_soon(_prepare_reports, "html" in plan.reporting.folders)
            record = await run_flows(
                plan.flows, project, world, options, view, interrupt, plan.engine
            )
            group.cancel_scope.cancel()
        return record

    with foldable(len(plan.flows), output, environ, clock), view:
        record = anyio.run(main)
    # Only a run tells whether it left out more than its part of what the shards divided.
    head = replace(plan.head, partial=record.partial) if plan.head else None
    record = replace(record, partial=record.partial or plan.partial)
    lost: list[FlowproofError] = []
    written = _write(plan, record, project, environ, head, lost)
    record = _with_lost_reports(record, lost)
    if plan.github:
        from flowproof.cli.github import tell_github

        tell_github(record, project.here, environ)
    if not output.quiet or record.exit_code:
        shown = written if plan.reporting.folders or output.verbose else []
        _sum_up(record, shown, plan, output, environ)
    return int(_told(record, environ) if output.json else record.exit_code)


def _sum_up(
    record: RunRecord,
    reports: Sequence[str],
    plan: Plan,
    output: Output,
    environ: Mapping[str, str],
) -> None:
    from flowproof.report.ci import defused, obeys_its_log
    from flowproof.report.console import Style, summary, wants_color

    color = wants_color(sys.stderr, environ) if output.color is None else output.color
    text = summary(record, reports, Style(color), slowest=plan.slowest)
    say(defused(text) if obeys_its_log(environ) else text)


def _told(record: RunRecord, environ: Mapping[str, str]) -> ExitCode:
    """Print a run record, last of all; the exit code. A record that is lost makes no green run."""
    from flowproof.report.ci import defused_json, obeys_its_log
    from flowproof.report.run_json import dump

    text = dump(record)
    try:
        put(defused_json(text) if obeys_its_log(environ) else text)
    except OutputLost as error:
        say(f"error: {error}")
        return record.exit_code or error.exit_code
    return record.exit_code


async def _prepare_reports(pages: bool) -> None:
    """Load what reports are made with while agents run: it takes as long as several flows."""
    await anyio.sleep(_HEAD_START)
    from anyio import to_thread

    def load() -> None:
        # What is wrong with them is told when pages are made.
        with suppress(Exception):
            importlib.import_module("flowproof.report.interface")
            if pages:
                from flowproof.report.html import prepare

                prepare()

    await to_thread.run_sync(load)


async def _listen(interrupt: Interrupt, view: Progress, as_json: bool) -> None:
    """End the run on the first Ctrl-C, SIGTERM or SIGHUP, and the process at once on the second:
    the guard of each agent ends its tree when we are gone."""
    ending = [signal.SIGINT, signal.SIGTERM]
    # Under nohup a run goes on when its terminal goes.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ending.append(signal.SIGHUP)
    with anyio.open_signal_receiver(*ending) as signals:
        async for number in signals:
            if interrupt.requested:
                # First, so that a third ends us even while a terminal takes no output.
                signal.signal(number, signal.SIG_DFL)
                view.__exit__(None, None, None)  # gives the terminal its cursor back
                if as_json:
                    put_error("interrupted", ExitCode.INTERRUPTED)
                signal.raise_signal(number)
            interrupt.request()


def _write(
    plan: Plan,
    record: RunRecord,
    project: Project,
    environ: Mapping[str, str],
    head: BlobHead | None,
    lost: list[FlowproofError],
) -> list[str]:
    from flowproof.suite.run_store import keep, remember

    try:
        kept = [str(keep(record, plan.folder, project.here))]
        remember(record, plan.folder, project)
    except UsageError as error:
        # Nobody asked for it, and the run is what it is.
        say(f"warning: {error}")
        kept = []
    here = project.here
    try:
        written = write_reports(plan.reporting, record, here, environ, head, plan.folder, lost)
    except FlowproofError as error:
        lost.append(error)  # the list of digests, after all reports
        written = []
    return written or kept


def _with_lost_reports(record: RunRecord, lost: Sequence[FlowproofError]) -> RunRecord:
    """The record of a run whose reports could not all be written: whoever relies on them must
    not take it for green."""
    if not lost:
        return record
    from flowproof.model.run_record import combined_exit_code

    codes = (record.exit_code, *(error.exit_code for error in lost))
    errors = (*record.errors, *dict.fromkeys(map(str, lost)))
    return replace(record, exit_code=combined_exit_code(codes), errors=errors)
