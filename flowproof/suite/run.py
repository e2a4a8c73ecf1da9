"""Runs flows one after another and folds what they left into one run record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio

from flowproof.errors import FlowproofError
from flowproof.flow.job import World
from flowproof.flow.run import reason_to_skip, run_flow
from flowproof.model.clock import utc_text
from flowproof.suite.project import Project

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord, RunRecord


class Progress(Protocol):
    """Told about flows as they start and end."""

    def flow_started(self, name: str) -> None:
        """A flow begins."""

    def flow_ended(self, record: FlowRecord) -> None:
        """A flow has its verdict."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run treats its flows as a whole. `chance` (three random bytes) makes its id unique.

    With `skip_untraced`, a flow without a trace is skipped and not an error; `allow_empty` lets
    a run in which nothing ran be green; `partial` says that the flows are a selection;
    `warnings` are about the run as a whole.
    """

    command: str
    suite: str
    chance: bytes
    skip_untraced: bool = False
    allow_empty: bool = False
    partial: bool = False
    warnings: tuple[str, ...] = ()


def new_run_id(now: datetime, chance: bytes) -> str:
    """An id that sorts by time, such as `20261130T090000Z-1f00aa`; `now` is in UTC."""
    return f"{now:%Y%m%dT%H%M%SZ}-{chance.hex()}"


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
    flows: list[FlowRecord] = []
    with anyio.CancelScope() as scope:
        interrupt.watch(scope)
        for spec in specs:
            record = await _one(spec, project, world, options, progress)
            flows.append(record)
            progress.flow_ended(record)
    # Here and not above: records are loaded after the first agent was launched.
    from flowproof.suite.records import RunFacts, cut_off, run_record

    for index, spec in enumerate(specs[len(flows) :]):
        flows.append(cut_off(spec, project, running=index == 0))
        progress.flow_ended(flows[-1])
    return run_record(
        RunFacts(
            id=new_run_id(started, options.chance),
            suite=options.suite,
            command=options.command,
            phase=project.options.phase,
            started=utc_text(started),
            partial=options.partial,
        ),
        flows,
        world.clock.monotonic() - begun,
        interrupted=interrupt.requested,
        allow_empty=options.allow_empty,
        warnings=options.warnings,
    )


async def _one(
    spec: Path, project: Project, world: World, options: RunOptions, progress: Progress
) -> FlowRecord:
    try:
        job = project.job(spec)
    except FlowproofError as error:
        from flowproof.suite.records import unreadable

        return unreadable(spec, project, error)
    progress.flow_started(job.spec.name)
    needs_trace = options.skip_untraced and job.phase == "replay"
    if needs_trace and not job.trace_path.exists() and not reason_to_skip(job.spec, world.environ):
        from flowproof.suite.records import untraced

        return untraced(job, project)
    return await run_flow(job, world)
