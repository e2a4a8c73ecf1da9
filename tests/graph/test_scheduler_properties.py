"""What holds for every graph, every mix of faults, and every moment of cancellation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.graph.scheduler import TaskContext, TaskEnd, TaskFunction, run_graph
from flowproof.graph.task import Graph, TaskNode
from flowproof.model.clock import SystemClock
from tests.graph.tools import CANCELLED, DONE, FAILED, NOT_RUN, Boom, in_loop

Fault: TypeAlias = Literal["none", "body", "exit", "hang", "break"]


@dataclass(frozen=True)
class Act:
    """How one task behaves: a plain task or a context manager, its fault, its pace in turns of
    the event loop. `body` and `hang` strike while a context manager opens, `break` while it is
    open."""

    node: TaskNode
    context: bool
    fault: Fault
    work: int
    leave: int

    @property
    def becomes_ready(self) -> bool:
        return self.fault not in ("body", "hang")


@dataclass(frozen=True)
class Play:
    acts: dict[str, Act]
    graph: Graph
    tokens: int | None

    def dependents(self, id: str) -> tuple[str, ...]:
        return self.graph.dependents(id)


@st.composite
def plays(draw: st.DrawFn, breaks: bool = False) -> Play:
    acts: dict[str, Act] = {}
    for at in range(draw(st.integers(1, 8))):
        id = f"t{at}"
        needs = draw(st.lists(st.sampled_from(sorted(acts)), max_size=3, unique=True)) if at else []
        context = draw(st.booleans())
        faults: list[Fault] = ["none", "none", "none", "none", "body", "hang"]
        if context:
            faults += ["exit", "break", "break"] if breaks else ["exit"]
        fault = draw(st.sampled_from(faults))
        always = draw(st.sampled_from([False, False, False, True]))
        timeout = 0.004 if fault == "hang" else None
        node = TaskNode(id, id, tuple(needs), always, timeout)
        acts[id] = Act(node, context, fault, draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    graph = Graph.of(act.node for act in acts.values())
    return Play(acts, graph, draw(st.sampled_from([None, 1, 2])))


class Log:
    """What happened, in order: begin, ready, close, over by the tasks, ended by the scheduler."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def started(self, node: TaskNode, at: float) -> None:
        pass

    def ended(self, node: TaskNode, end: TaskEnd) -> None:
        self.events.append(("ended", node.id))

    def at(self, what: str, id: str) -> int | None:
        places = [at for at, event in enumerate(self.events) if event == (what, id)]
        assert len(places) <= 1, f"{what} {id} happened {len(places)} times"
        return places[0] if places else None

    def before(self, what: str, id: str, moment: int) -> bool:
        at = self.at(what, id)
        return at is not None and at < moment


def function(act: Act, log: Log) -> TaskFunction:
    note: Callable[[str], None] = lambda what: log.events.append((what, act.node.id))  # noqa: E731

    async def work() -> None:
        for _ in range(act.work):
            await checkpoint()
        if act.fault == "body":
            raise Boom
        if act.fault == "hang":
            await anyio.sleep_forever()
        note("ready")

    async def strike() -> None:
        for _ in range(act.leave):
            await checkpoint()
        raise Boom

    async def plain(context: TaskContext) -> None:
        note("begin")
        try:
            await work()
        finally:
            note("over")

    @asynccontextmanager
    async def resource(context: TaskContext) -> AsyncIterator[None]:
        note("begin")
        try:
            await work()
            try:
                async with anyio.create_task_group() as group:
                    if act.fault == "break":
                        group.start_soon(strike)
                    yield
                    group.cancel_scope.cancel()
            finally:
                note("close")
                for _ in range(act.leave):
                    await checkpoint()
                if act.fault == "exit":
                    raise Boom
        finally:
            note("over")

    return resource if act.context else plain


def perform(play: Play, cancel_after: int | None) -> tuple[Log, dict[str, TaskEnd], bool]:
    """The log, the ends, and whether the run returned rather than being cancelled."""
    log, ends = Log(), dict[str, TaskEnd]()
    returned = False

    async def cancel(scope: anyio.CancelScope, turns: int) -> None:
        for _ in range(turns):
            await checkpoint()
        scope.cancel()

    async def main() -> None:
        nonlocal returned
        functions = {id: function(act, log) for id, act in play.acts.items()}
        limiter = None if play.tokens is None else anyio.CapacityLimiter(play.tokens)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                if cancel_after is not None:
                    group.start_soon(cancel, group.cancel_scope, cancel_after)
                result = await run_graph(
                    play.graph,
                    functions,
                    clock=SystemClock(),
                    limiter=limiter,
                    observer=log,
                    ends=ends,
                )
                returned = True
                assert result.ends == ends
                group.cancel_scope.cancel()

    in_loop(main)
    return log, ends, returned


def check_order_and_closing(play: Play, log: Log, ends: dict[str, TaskEnd]) -> None:
    """What holds however the run went."""
    assert set(ends) == set(play.acts)
    for id, act in play.acts.items():
        assert log.at("ended", id) is not None
        begin = log.at("begin", id)
        assert (begin is None) == (log.at("over", id) is None)
        if begin is not None:
            for need in act.node.needs:
                ready = log.before("ready", need, begin)
                over = log.before("ended", need, begin)
                if play.acts[need].context:
                    assert over or (ready and not log.before("close", need, begin))
                else:
                    assert over
                assert act.node.always or ready
        if act.context:
            opened = log.at("ready", id)
            close = log.at("close", id)
            assert (close is None) == (opened is None)
            if close is not None:
                assert all(log.before("ended", user, close) for user in play.dependents(id))
    check_closes(play, log)


def check_closes(play: Play, log: Log) -> None:
    """Closes never overlap; those with the same users go in reverse order of opening."""
    closing: str | None = None
    for what, id in log.events:
        if what == "close":
            assert closing is None
            closing = id
        elif what == "over" and id == closing:
            closing = None
    assert closing is None
    opened = [id for what, id in log.events if what == "ready" and play.acts[id].context]
    for at, first in enumerate(opened):
        for second in opened[at + 1 :]:
            users = play.dependents(first)
            ready, close = log.at("ready", second), log.at("close", first)
            assert ready is not None and close is not None
            # Due at one moment only if the last user ended when both were open.
            due_together = not all(log.before("ended", user, ready) for user in users)
            if users == play.dependents(second) and due_together:
                assert log.before("close", second, close)


def check_limit(play: Play, log: Log) -> None:
    running: set[str] = set()
    for what, id in log.events:
        if what == "begin":
            running.add(id)
            assert play.tokens is None or len(running) <= play.tokens
        elif what in ("ready", "over"):
            running.discard(id)


def expected(play: Play) -> tuple[dict[str, object], set[str]]:
    """Which state each task ends in when nobody interrupts, and which tasks begin."""
    begun: set[str] = set()
    result: dict[str, object] = {}
    for node in play.graph.order():
        act = play.acts[node.id]
        if node.always or all(n in begun and play.acts[n].becomes_ready for n in node.needs):
            begun.add(node.id)
            result[node.id] = DONE if act.fault == "none" else FAILED
        else:
            result[node.id] = CANCELLED
    return result, begun


def ancestors(play: Play, id: str) -> set[str]:
    needs = play.acts[id].node.needs
    return set(needs).union(*(ancestors(play, need) for need in needs))


@settings(deadline=None, max_examples=150)
@given(plays())
def test_every_task_ends_as_its_needs_and_its_own_fault_say(play: Play) -> None:
    log, ends, returned = perform(play, None)
    assert returned
    check_order_and_closing(play, log, ends)
    check_limit(play, log)
    states, begun = expected(play)
    assert {id: end.state for id, end in ends.items()} == states
    assert {id for id in play.acts if log.at("begin", id) is not None} == begun
    for id, act in play.acts.items():
        if act.context and id in begun and act.becomes_ready:
            assert log.at("close", id) is not None
        if ends[id].state is CANCELLED:
            root = ends[id].cause.split("`")[1]
            assert root in ancestors(play, id)
            assert ends[root].state is FAILED


@settings(deadline=None, max_examples=150)
@given(plays(), st.integers(0, 25))
def test_a_cancelled_run_still_closes_everything_and_runs_always_tasks(
    play: Play, cancel_after: int
) -> None:
    log, ends, returned = perform(play, cancel_after)
    check_order_and_closing(play, log, ends)
    check_limit(play, log)
    for id, act in play.acts.items():
        state, begun = ends[id].state, log.at("begin", id) is not None
        assert begun or state in (CANCELLED, NOT_RUN)
        assert not begun or state is not NOT_RUN
        assert begun or not act.node.always
        assert state is not FAILED or act.fault != "none"
        assert state is not DONE or act.fault == "none"
    if returned:
        assert {id: end.state for id, end in ends.items()} == expected(play)[0]


@settings(deadline=None, max_examples=150)
@given(plays(breaks=True), st.none() | st.integers(0, 25))
def test_what_breaks_while_open_leaves_nothing_open(play: Play, cancel_after: int | None) -> None:
    log, ends, _ = perform(play, cancel_after)
    check_limit(play, log)
    assert set(ends) == set(play.acts)

    def gone(id: str, moment: int) -> bool:
        """The task had ended, and what used it while it was open had too."""
        users = play.dependents(id) if log.at("ready", id) is not None else ()
        through = play.acts[id].context
        return log.before("ended", id, moment) and (
            not through or all(gone(user, moment) for user in users)
        )

    for id, act in play.acts.items():
        assert not act.node.always or log.at("begin", id) is not None
        if act.context:
            close = log.at("close", id)
            assert (close is None) == (log.at("ready", id) is None)
            if close is not None and act.fault != "break":
                assert all(gone(user, close) for user in play.dependents(id))
