"""Runs flows one after another and folds what they left into one run record."""

from __future__ import annotations

import dataclasses
import platform
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import anyio

from flowproof.errors import CapabilityError, ExitCode, FlowproofError, TraceMissing
from flowproof.flow.job import World, relative
from flowproof.flow.run import run_flow
from flowproof.model.clock import utc_text
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, RunRecord, combined_exit_code
from flowproof.suite.discover import SUFFIX
from flowproof.suite.project import Project
from flowproof.version import __version__


class Progress(Protocol):
    """Told about flows as they start and end."""

    def flow_started(self, name: str) -> None:
        """A flow begins."""

    def flow_ended(self, record: FlowRecord) -> None:
        """A flow has its verdict."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run treats its flows as a whole.

    With `skip_untraced`, a flow without a trace is skipped and not an error; `allow_empty` lets
    a run in which nothing ran be green; `partial` says that the flows are a selection.
    """

    command: str
    suite: str
    run_id: str
    skip_untraced: bool = False
    allow_empty: bool = False
    partial: bool = False


class Interrupt:
    """Lets a signal handler end a run, whose record then says what was cut off."""

    def __init__(self) -> None:
        self.requested = False
        self._scope: anyio.CancelScope | None = None

    def watch(self, scope: anyio.CancelScope) -> None:
        """Cancel this scope when an interrupt is requested, at once if it has been."""
        self._scope = scope
        if self.requested:
            scope.cancel()

    def request(self) -> None:
        """End the run: nothing more begins, what runs is ended."""
        self.requested = True
        if self._scope is not None:
            self._scope.cancel()


async def run_flows(
    specs: Sequence[Path],
    project: Project,
    world: World,
    options: RunOptions,
    progress: Progress,
    interrupt: Interrupt,
) -> RunRecord:
    """Run these flows in order. A flow whose spec cannot be read is an `error`, and the others
    still run. After an interrupt what was running is an `error`, the rest `skipped`."""
    started, begun = world.clock.now(), world.clock.monotonic()
    records: list[FlowRecord] = []
    with anyio.CancelScope() as scope:
        interrupt.watch(scope)
        for spec in specs:
            record = await _one(spec, project, world, options, progress)
            records.append(record)
            progress.flow_ended(record)
    for index, spec in enumerate(specs[len(records) :]):
        record = _cut_off(spec, project, running=index == 0)
        records.append(record)
        progress.flow_ended(record)
    return RunRecord(
        id=options.run_id,
        suite=options.suite,
        command=options.command,
        phase=project.options.phase,
        started=utc_text(started),
        duration=world.clock.monotonic() - begun,
        flowproof=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        host=socket.gethostname(),
        partial=options.partial,
        exit_code=_exit_code(records, options, interrupt),
        flows=tuple(records),
    )


def _exit_code(
    records: Sequence[FlowRecord], options: RunOptions, interrupt: Interrupt
) -> ExitCode:
    if interrupt.requested:
        return ExitCode.INTERRUPTED
    ran = tuple(one.exit_code for one in records if one.verdict is not Verdict.SKIPPED)
    if not ran and options.allow_empty:
        return ExitCode.PASSED
    return combined_exit_code(ran)


async def _one(
    spec: Path, project: Project, world: World, options: RunOptions, progress: Progress
) -> FlowRecord:
    try:
        job = project.job(spec)
    except FlowproofError as error:
        verdict = Verdict.CAPABILITY_ERROR if isinstance(error, CapabilityError) else Verdict.ERROR
        return _unrun(spec, project, verdict, error.exit_code, str(error))
    progress.flow_started(job.spec.name)
    if options.skip_untraced and job.phase == "replay" and not job.trace_path.exists():
        missing = TraceMissing(job.shown_trace, job.shown_path)
        record = _unrun(spec, project, Verdict.SKIPPED, ExitCode.PASSED, str(missing))
        if job.strict:
            record = dataclasses.replace(record, verdict=Verdict.ERROR, exit_code=missing.exit_code)
        return dataclasses.replace(
            record, name=job.spec.name, tags=job.spec.tags, control=job.spec.control
        )
    return await run_flow(job, world)


def _cut_off(spec: Path, project: Project, *, running: bool) -> FlowRecord:
    if running:
        code = ExitCode.INTERRUPTED
        return _unrun(spec, project, Verdict.ERROR, code, "interrupted while it ran")
    return _unrun(
        spec, project, Verdict.SKIPPED, ExitCode.PASSED, "the run was interrupted before it began"
    )


def _unrun(
    spec: Path, project: Project, verdict: Verdict, exit_code: ExitCode, reason: str
) -> FlowRecord:
    return FlowRecord(
        name=spec.name.removesuffix(SUFFIX),
        path=relative(spec, project.here),
        line=1,
        phase=project.options.phase,
        verdict=verdict,
        exit_code=exit_code,
        duration=0.0,
        reason=reason,
    )
