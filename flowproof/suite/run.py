"""Runs the flows of a plan, as many at once as there are slots, and makes one record of them.

`plan` says what each waits for; `gate` lets them in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio

from flowproof.errors import FlowproofError
from flowproof.flow.job import World
from flowproof.flow.run import reason_to_skip
from flowproof.graph.scheduler import TaskContext, TaskEnd, run_graph
from flowproof.model.clock import utc_text
from flowproof.suite.engines.local import LocalEngine, Starting, beside
from flowproof.suite.flow_store import FlowStore
from flowproof.suite.gate import Claim, Gate
from flowproof.suite.plan import AFTER_ALL, BEFORE_ALL, FLOW, PlannedFlow, graph_of
from flowproof.suite.project import Project
from flowproof.suite.running import Running

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord, RunRecord
    from flowproof.suite.engines.interface import Engine, OpenEngine
    from flowproof.suite.hook_tasks import HookTasks
    from flowproof.suite.provenance import Provenance

CLEANUP = 30.0
"""Seconds that cleaning up may take once a run was cut short: commands after all flows share them
with the ending of flows."""


class Progress(Protocol):
    """Told about flows as they start and end."""

    def engine_opened(self, slots: int) -> None:
        """So many flows will run at once."""

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
    `fail_on_flaky`, one that passed only when it was tried again makes the run red. `cleanup` is
    how many seconds remain for commands after all flows once a run was cut short.

    `folder` is where the suite lies: its repository and lock files are looked at, and who runs
    it (None: nobody looks). `discovered` is how many flows there were to select from (None:
    nobody counted), `selection` has the options that did, by name, and `left_out` those flows
    that they left out.
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
    cleanup: float = CLEANUP
    folder: Path | None = None
    discovered: int | None = None
    selection: tuple[tuple[str, str], ...] = ()
    left_out: Sequence[Path] = ()


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
    starting = Starting(world.driver)
    found: list[Provenance] = []
    world = replace(world, driver=starting)
    here = LocalEngine(options.jobs, world)
    run = _Run(planned, project, world, options, progress, here, begun)
    ends: dict[str, TaskEnd] = {}

    async def look() -> None:
        await starting.begun.wait()
        if options.folder is not None:
            # What cannot be found out, for want of descriptors, must not end the run.
            try:
                from flowproof.suite.provenance import Provenance

                found.append(Provenance())
                await found[0].find(options.folder, planned, project, world)
            except* OSError:
                pass

    async with beside(look) as rest:
        with anyio.CancelScope(deadline=_deadline(options)) as scope:
            interrupt.watch(scope)
            async with engine(planned, project, world) if engine else nullcontext(here) as opened:
                if opened is not here:
                    run = _Run(planned, project, world, options, progress, opened, begun)
                    starting.begun.set()  # agents start elsewhere
                progress.engine_opened(opened.slots)
                await run_graph(
                    graph_of(planned),
                    {FLOW: run.flow, BEFORE_ALL: run.before_all, AFTER_ALL: run.after_all},
                    clock=world.clock,
                    admission=run.gate,
                    ends=ends,
                    cleanup_timeout=options.cleanup,
                )
        seconds = world.clock.monotonic() - begun
        starting.begun.set()
        if scope.cancelled_caught:
            rest.cancel()
    # Here and not above: records are loaded after the first agent was launched.
    from flowproof.flow.held_keys import run_without_keys
    from flowproof.suite.ending import Ended

    ended = Ended(
        planned=planned,
        project=project,
        options=options,
        started=started,
        slots=run.slots,
        flows=run.flows,
        running=run.running,
        ends=ends,
        errors=run.errors,
        hooks=run.hooks,
        found=found[0] if found else None,
        stopped=run.stopped,
        cut_short=scope.cancelled_caught,
        interrupted=interrupt.requested,
    )
    ended.note_errors()
    for one, record in ended.unfinished():
        run.tell(one, record)
    return run_without_keys(ended.record(seconds), world.environ)


def _deadline(options: RunOptions) -> float:
    seconds = options.global_timeout
    return math.inf if seconds is None else anyio.current_time() + seconds


def _urgency(one: PlannedFlow) -> float:
    """The smaller the sooner: the longest first, and before them what nobody has timed."""
    return float("-inf") if one.seconds is None else -one.seconds


class _Run:
    """The state of one run. `flows` has those that ended, `running` has the ids of those
    that began and have not. `hooks` are the commands of suites beside all flows, if there are
    some, and `errors` what went wrong beside the flows. It began at `begun` of its clock."""

    def __init__(
        self,
        planned: Sequence[PlannedFlow],
        project: Project,
        world: World,
        options: RunOptions,
        progress: Progress,
        engine: Engine,
        begun: float,
    ) -> None:
        self._engine = engine
        self._begun = begun
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
        self.running: dict[str, Running] = {}
        self.errors: list[str] = []
        self.hooks: HookTasks | None = None
        self._failures = 0
        if any(one.suite is not None for one in planned):
            from flowproof.suite.hook_tasks import HookTasks

            self.hooks = HookTasks(planned, project, world, begun, self.errors)

    @property
    def slots(self) -> int:
        """How many flows may run at once."""
        return self._engine.slots

    @property
    def stopped(self) -> bool:
        """Whether so many flows failed that no other may begin."""
        limit = self._options.max_failures
        return limit is not None and self._failures >= limit

    async def before_all(self, context: TaskContext) -> None:
        """What a suite does before its flows; none of them runs if it fails."""
        if self.hooks is not None:
            await self.hooks.before_all(context.node.item or "")

    async def after_all(self, context: TaskContext) -> None:
        """What a suite does once all of its flows have ended, however they did."""
        if self.hooks is not None:
            await self.hooks.after_all(context.node.item or "")

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
        running = self.running[one.id] = Running(self.gate.slot(one.id))
        try:
            record = await self._tried(one, running)
        finally:
            running.ended = self._world.clock.monotonic()
        self._ended(one, record)

    def _passed(self, id: str) -> bool:
        from flowproof.model.outcome import Verdict

        verdict = self.flows.verdict(id)
        return verdict is None or (verdict.green and verdict is not Verdict.SKIPPED)

    def _not_run(self, one: PlannedFlow, reason: str) -> FlowRecord:
        from flowproof.suite.records import not_run

        return not_run(one.spec, self._project, reason)

    def _ended(self, one: PlannedFlow, record: FlowRecord) -> None:
        self._failures += bool(record.exit_code)
        self.tell(one, record)

    def tell(self, one: PlannedFlow, record: FlowRecord) -> None:
        """Keep the record of a flow, with what the plan says of it, and tell of it."""
        from flowproof.flow.held_keys import without_keys

        running = self.running.pop(one.id, None)
        record = without_keys(record, self._world.environ)
        record = replace(
            one.told(record, self._planned, self._project),
            # What was skipped held a slot for a moment, and ran nowhere.
            slot=running.slot if running and record.verdict != "skipped" else 0,
            offset=self._offset(record, running),
        )
        self.flows.put(one.id, record)
        self._progress.flow_ended(record)

    def _offset(self, record: FlowRecord, running: Running | None) -> float | None:
        """When the last try of a flow was given to the engine, or else, where that was cut off
        before, when it began; None if there was none."""
        if running is None or record.verdict == "skipped":
            return None
        if running.launched is None and record.duration:
            return running.begun - self._begun
        return running.launched

    async def _tried(self, one: PlannedFlow, running: Running) -> FlowRecord:
        """The flow, tried again after what may end otherwise next time; each try begins anew."""
        record = await self._once(one, running)
        if not one.retries or (record.phase == "record" and self._options.record_missing):
            return record  # a real model answers: to ask it again is for a person to decide
        from flowproof.suite.attempts import again, given_up, with_attempts

        earlier: list[FlowRecord] = []
        running.earlier = earlier
        while again(record) and len(earlier) < one.retries:
            if earlier and (why := given_up(record, earlier[-1])):
                record = replace(record, reason=f"{record.reason}\n{why}")
                break
            earlier.append(record)
            record = await self._once(one, running)
        return with_attempts(record, earlier)

    async def _once(self, one: PlannedFlow, running: Running) -> FlowRecord:
        clock = self._world.clock
        running.begin(utc_text(clock.now()), clock.monotonic())
        try:
            job = self._project.job(one.spec)
        except FlowproofError as error:
            from flowproof.suite.records import of_its_suite, unreadable

            # The same for each of its flows: told in full once.
            whole = of_its_suite(one.spec, self._project, error)
            if whole and whole not in self.errors:
                self.errors.append(whole)
            return unreadable(one.spec, self._project, error)
        self._progress.flow_started(one.named(job.spec.name), job.shown_path)
        commands = None if self.hooks is None else self.hooks.commands.get(one.suite or "")
        untraced = job.phase == "replay" and not job.trace_path.exists()
        if untraced and not reason_to_skip(job.spec, self._world.environ):
            if self._options.record_missing:
                job = replace(job, phase="record")
            elif self._options.skip_untraced:
                from flowproof.suite.records import untraced as without_trace

                return without_trace(job, self._project)

        async def run() -> FlowRecord:
            running.launched = clock.monotonic() - self._begun
            record = await self._engine.run(job, running.note)
            running.note(record)  # the hook after it may be cut off
            return record

        if commands is None:
            return await run()
        from flowproof.suite.each import surrounded

        return await surrounded(commands, job, self._project, run)
