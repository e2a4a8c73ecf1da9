"""Runs the flows of a plan, as many at once as there are slots, and makes one record of them.

`plan` says what each waits for; `gate` lets them in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio

from flowproof.errors import FlowproofError
from flowproof.flow.job import World
from flowproof.flow.run import reason_to_skip
from flowproof.graph.scheduler import TaskContext, TaskEnd, run_graph
from flowproof.model.clock import utc_text
from flowproof.model.task_state import TaskState
from flowproof.suite.engines.local import LocalEngine
from flowproof.suite.flow_store import FlowStore
from flowproof.suite.gate import Claim, Gate
from flowproof.suite.plan import AFTER_ALL, BEFORE_ALL, FLOW, PlannedFlow, graph_of
from flowproof.suite.project import Project

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord, RunRecord
    from flowproof.suite.engines.interface import Engine, OpenEngine
    from flowproof.suite.hooks import SuiteCommands

_CLEANUP = 30.0
"""Seconds that cleaning up may take once a run was interrupted."""


class Progress(Protocol):
    """Told about flows as they start and end."""

    def flow_started(self, name: str, path: str) -> None:
        """A flow begins, or is tried again; its record will have this name and path."""

    def flow_ended(self, record: FlowRecord) -> None:
        """A flow has its verdict."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run treats its flows as a whole. `chance` (three random bytes) makes its id unique.

    With `record_missing`, a flow without a trace is recorded; else with `skip_untraced` it is
    skipped and not an error. `allow_empty` lets
    a run in which nothing ran be green; `partial` says that the flows are a selection;
    `warnings` are about the run as a whole. `jobs` flows run at once. After `max_failures` of
    them failed no other begins, and after `global_timeout` seconds all end. With
    `fail_on_flaky`, one that passed only when it was tried again makes the run red.
    """

    command: str
    suite: str
    chance: bytes
    skip_untraced: bool = False
    record_missing: bool = False
    allow_empty: bool = False
    partial: bool = False
    warnings: tuple[str, ...] = ()
    jobs: int = 1
    max_failures: int | None = None
    global_timeout: float | None = None
    fail_on_flaky: bool = False


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
    planned: Sequence[PlannedFlow],
    project: Project,
    world: World,
    options: RunOptions,
    progress: Progress,
    interrupt: Interrupt,
    engine: OpenEngine | None = None,
) -> RunRecord:
    """Run these flows, on the `engine` (None: in this process). A flow whose spec cannot be read
    is an `error`, and the others still run. After an interrupt, or the end of the time for all,
    what was running is an `error`, the rest `skipped`. The record has the flows in the order of
    the plan.

    :raises GraphError: if flows wait for each other.
    :raises FlowproofError: if the engine cannot be opened.
    """
    started, begun = world.clock.now(), world.clock.monotonic()
    here = LocalEngine(options.jobs, world)
    run = _Run(planned, project, world, options, progress, here)
    ends: dict[str, TaskEnd] = {}
    seconds = options.global_timeout
    with anyio.CancelScope() as scope:
        interrupt.watch(scope)
        if seconds is not None:
            scope.deadline = anyio.current_time() + seconds
        async with engine(planned, project, world) if engine else nullcontext(here) as opened:
            run = _Run(planned, project, world, options, progress, opened)
            await run_graph(
                graph_of(planned),
                {FLOW: run.flow, BEFORE_ALL: run.before_all, AFTER_ALL: run.after_all},
                clock=world.clock,
                admission=run.gate,
                ends=ends,
                cleanup_timeout=_CLEANUP,
            )
    timed_out = scope.cancelled_caught and not interrupt.requested
    run.note_ends(ends)
    if timed_out:
        run.errors.append(f"the time limit of the whole run passed ({options.global_timeout:g} s)")
    run.account_for(ends, cut_short=scope.cancelled_caught, timed_out=timed_out)
    # Here and not above: records are loaded after the first agent was launched.
    from flowproof.suite.records import RunFacts, run_record

    return run_record(
        RunFacts(
            id=new_run_id(started, options.chance),
            suite=options.suite,
            command=options.command,
            phase=project.options.phase,
            started=utc_text(started),
            partial=options.partial or run.stopped or scope.cancelled_caught,
        ),
        run.flows.in_order(one.id for one in planned),
        world.clock.monotonic() - begun,
        interrupted=interrupt.requested,
        allow_empty=options.allow_empty,
        fail_on_flaky=options.fail_on_flaky,
        warnings=options.warnings,
        errors=tuple(run.errors),
    )


def _urgency(one: PlannedFlow) -> float:
    """The smaller the sooner: the longest first, and before them what nobody has timed."""
    return float("-inf") if one.seconds is None else -one.seconds


class _Run:
    """The state of one run. `flows` has those that ended, `running` has the ids of those
    that began and have not. `failed` says by their folders why flows of suites cannot run,
    `errors` what went wrong beside the flows."""

    def __init__(
        self,
        planned: Sequence[PlannedFlow],
        project: Project,
        world: World,
        options: RunOptions,
        progress: Progress,
        engine: Engine,
    ) -> None:
        self._engine = engine
        self._planned = {one.id: one for one in planned}
        self._project = project
        self._world = world
        self._options = options
        self._progress = progress
        timed = any(one.seconds is not None for one in planned)
        self.gate = Gate(
            engine.slots,
            {
                one.id: Claim((_urgency(one) if timed else 0.0, at), one.locks)
                for at, one in enumerate(planned)
            },
        )
        # Mutable: what has happened so far.
        self.flows = FlowStore()
        self.running: set[str] = set()
        self.failed: dict[str, str] = {}
        self.errors: list[str] = []
        self._commands: dict[str, SuiteCommands] = {}
        self._failures = 0

    @property
    def stopped(self) -> bool:
        """Whether so many flows failed that no other may begin."""
        limit = self._options.max_failures
        return limit is not None and self._failures >= limit

    def account_for(self, ends: Mapping[str, TaskEnd], *, cut_short: bool, timed_out: bool) -> None:
        """Give a record to every flow that did not come to its end, and tell of it. The run was
        `cut_short` by an interrupt, or because it had `timed_out`.

        :raises Exception: what made our own code fail in a flow.
        """
        from flowproof.suite.records import Cut, cut_off, kept_from_running, not_run

        cut = Cut.GLOBAL_TIMEOUT if timed_out else Cut.INTERRUPT
        for one in self._planned.values():
            if self.flows.verdict(one.id) is not None:
                continue
            end = ends.get(one.id)  # none if the engine was still being opened
            if end is not None and end.error is not None:
                raise end.error
            if failed := one.suite is not None and self.failed.get(one.suite):
                record = kept_from_running(one.spec, self._project, failed)
            elif end is not None and not cut_short:
                reason = f"what it needs could not run: {end.cause}"
                record = not_run(one.spec, self._project, reason)
            else:
                record = cut_off(one.spec, self._project, cut, running=one.id in self.running)
            record = replace(record, name=one.named(record.name))
            self.flows.put(one.id, record)
            self._progress.flow_ended(record)

    def note_ends(self, ends: Mapping[str, TaskEnd]) -> None:
        """Find commands after all flows that were cut off or never ran: nobody cleaned up."""
        for folder, commands in self._commands.items():
            end = ends.get(f"after_all {folder}")
            if commands.suite.after_all is None or (end and end.state is TaskState.DONE):
                continue
            why = end.cause if end else "the run ended before"
            self.errors.append(f"suite {commands.suite.name}: after_all did not end: {why}")

    async def before_all(self, context: TaskContext) -> None:
        """What a suite does before its flows; none of them runs if it fails."""
        from flowproof.suite.hooks import HookFailed, SuiteCommands

        folder = context.node.item or ""
        suite = self._project.suite_of(Path(folder))
        if suite is None:
            raise RuntimeError(f"there is no suite in {folder} any more")
        commands = SuiteCommands(suite, self._world.driver, self._world.environ)
        self._commands[folder] = commands
        try:
            await commands.before_all()
        except HookFailed as error:
            self.failed[folder] = f"suite {suite.name}: {error}"
            raise
        self._project.minted[folder] = commands.minted

    async def after_all(self, context: TaskContext) -> None:
        """What a suite does once all of its flows have ended, however they did."""
        from flowproof.suite.hooks import HookFailed

        commands = self._commands.get(context.node.item or "")
        if commands is None:
            return
        try:
            await commands.after_all()
        except HookFailed as error:
            self.errors.append(f"suite {commands.suite.name}: {error}")

    async def flow(self, context: TaskContext) -> None:
        """One flow, from its needs to its verdict."""
        one = self._planned[context.node.id]
        unmet = next((need for need in one.needs if not self._passed(need)), None)
        if unmet is not None:
            self._ended(one, self._not_run(one, f"{unmet}, which it needs, did not pass"))
            return
        if self.stopped:
            failed = f"{self._failures} flow{'s' * (self._failures != 1)} had failed"
            self._ended(one, self._not_run(one, f"it did not begin, since {failed}"))
            return
        self.running.add(one.id)
        record = await self._tried(one)
        self._ended(one, replace(record, slot=self.gate.slot(one.id)))

    def _passed(self, id: str) -> bool:
        from flowproof.model.outcome import Verdict

        verdict = self.flows.verdict(id)
        return verdict is None or (verdict.green and verdict is not Verdict.SKIPPED)

    def _not_run(self, one: PlannedFlow, reason: str) -> FlowRecord:
        from flowproof.suite.records import not_run

        return not_run(one.spec, self._project, reason)

    def _ended(self, one: PlannedFlow, record: FlowRecord) -> None:
        record = replace(record, name=one.named(record.name))
        self.flows.put(one.id, record)
        self.running.discard(one.id)
        self._failures += bool(record.exit_code)
        self._progress.flow_ended(record)

    async def _tried(self, one: PlannedFlow) -> FlowRecord:
        """The flow, tried again after what may end otherwise next time; each try begins anew."""
        record = await self._once(one)
        if not one.retries or (record.phase == "record" and self._options.record_missing):
            return record  # a real model answers: to ask it again is for a person to decide
        from flowproof.suite.attempts import again, with_attempts

        earlier: list[FlowRecord] = []
        while again(record) and len(earlier) < one.retries:
            earlier.append(record)
            record = await self._once(one)
        return with_attempts(record, earlier)

    async def _once(self, one: PlannedFlow) -> FlowRecord:
        try:
            job = self._project.job(one.spec)
        except FlowproofError as error:
            from flowproof.suite.records import unreadable

            return unreadable(one.spec, self._project, error)
        self._progress.flow_started(one.named(job.spec.name), job.shown_path)
        commands = None if one.suite is None else self._commands[one.suite]
        untraced = job.phase == "replay" and not job.trace_path.exists()
        if untraced and not reason_to_skip(job.spec, self._world.environ):
            if self._options.record_missing:
                job = replace(job, phase="record")
            elif self._options.skip_untraced:
                from flowproof.suite.records import untraced as without_trace

                return without_trace(job, self._project)
        if commands is None:
            return await self._engine.run(job)
        from flowproof.suite.each import surrounded

        return await surrounded(commands, job, self._project, lambda: self._engine.run(job))
