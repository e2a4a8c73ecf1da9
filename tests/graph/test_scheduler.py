"""What tasks see, when they run, how long they stay open, and how many run at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from flowproof.graph.scheduler import TaskContext
from flowproof.graph.task import Graph, GraphError, TaskNode
from tests.graph.tools import (
    CANCELLED,
    DONE,
    FAILED,
    Journal,
    boom,
    graph,
    node,
    returns,
    run,
    states,
)

# Values


def test_a_task_reads_the_values_of_what_it_needs() -> None:
    async def add(context: TaskContext) -> object:
        return context.value("a"), context.value("r"), context.node.id

    made = graph(node("a"), node("r"), node("b", "a", "r"))
    result = run(made, {"a": returns(2), "r": Journal().opens(), "b": add})
    assert result.ends["b"].value == (2, "value of r", "b")
    assert states(result) == {"a": DONE, "b": DONE, "r": DONE}


def test_values_of_a_kind_are_keyed_by_id() -> None:
    async def collect(context: TaskContext) -> object:
        return context.values("s")

    servers = [TaskNode(f"s:{item}", "s", item=item) for item in ("x", "y")]
    made = Graph.of([*servers, node("a"), node("b", "a", "s:x", "s:y")])

    async def serve(context: TaskContext) -> object:
        return context.node.item

    result = run(made, {"s": serve, "a": returns(1), "b": collect})
    assert result.ends["b"].value == {"s:x": "x", "s:y": "y"}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        pytest.param(
            lambda c: c.value("a"), "`a`, which it does not need; it needs: f", id="other"
        ),
        pytest.param(lambda c: c.value("f"), "`f` has no value, it is failed: Boom", id="failed"),
        pytest.param(lambda c: c.ended("x"), "the graph has no task `x`", id="unknown"),
    ],
)
def test_a_value_that_was_not_promised_is_a_clear_error(
    ask: Callable[[TaskContext], object], said: str
) -> None:
    async def asks(context: TaskContext) -> object:
        return ask(context)

    made = graph(node("a"), node("f"), node("b", "f", always=True))
    end = run(made, {"a": returns(1), "f": boom, "b": asks}).ends["b"]
    assert end.state is FAILED
    assert isinstance(end.error, KeyError)
    assert said in end.cause


def test_always_tasks_see_how_others_ended() -> None:
    async def report(context: TaskContext) -> object:
        seen = {id: context.ended(id) for id in ("f", "b", "r")}
        return {id: end and end.state for id, end in seen.items()}

    made = graph(node("r"), node("f"), node("b", "f"), node("z", "b", "r", always=True))
    result = run(made, {"r": Journal().opens(), "f": boom, "b": returns(1), "z": report})
    assert result.ends["z"].value == {"f": FAILED, "b": CANCELLED, "r": None}


# Order


def test_a_kind_without_a_function_is_refused_before_anything_runs() -> None:
    journal = Journal()
    with pytest.raises(GraphError, match="task `b` is of the kind `b`, which nothing does"):
        run(graph(node("a"), node("b")), {"a": journal.plain()})
    assert journal.events == []


def test_an_empty_graph_runs() -> None:
    assert run(graph(), {}).ends == {}


def test_tasks_run_side_by_side_and_after_their_needs() -> None:
    journal = Journal()
    met = {"a": anyio.Event, "b": anyio.Event}
    events: dict[str, anyio.Event] = {}

    async def meet(context: TaskContext) -> None:
        mine, other = context.node.id, "ab".replace(context.node.id, "")
        for id, make in met.items():
            events.setdefault(id, make())
        events[mine].set()
        await events[other].wait()

    made = graph(node("c", "a", "b"), node("a"), node("b"))
    result = run(made, {"a": journal.plain(meet), "b": journal.plain(meet), "c": journal.plain()})
    assert set(states(result).values()) == {DONE}
    assert journal.events[:2] == ["run a", "run b"]
    assert journal.events[-2:] == ["run c", "end c"]


def test_what_is_open_closes_in_reverse_one_after_another() -> None:
    journal = Journal()
    made = graph(node("x"), node("y", "x"), node("z", "x"), node("t", "y", "z"))
    run(made, {id: journal.opens() for id in "xyz"} | {"t": journal.plain()})
    assert journal.events == [
        *("open x", "open y", "open z", "run t", "end t"),
        *("close z", "closed z", "close y", "closed y", "close x", "closed x"),
    ]


def test_what_nobody_needs_any_more_closes_while_others_run() -> None:
    journal = Journal()
    made = graph(node("x"), node("t", "x"), node("u", "t"))

    async def until_closed(context: TaskContext) -> None:
        while "closed x" not in journal.events:
            await checkpoint()

    run(made, {"x": journal.opens(), "t": journal.plain(), "u": journal.plain(until_closed)})
    assert journal.events[-1] == "end u"


def test_a_context_manager_that_nobody_needs_opens_and_closes() -> None:
    journal = Journal()
    assert states(run(graph(node("x")), {"x": journal.opens()})) == {"x": DONE}
    assert journal.events == ["open x", "close x", "closed x"]


def test_a_context_manager_may_hold_a_task_group() -> None:
    """Only possible if it is entered and exited in one task, with its scopes nested."""
    served: list[str] = []

    @asynccontextmanager
    async def serve(context: TaskContext) -> AsyncIterator[anyio.Event]:
        called = anyio.Event()

        async def server() -> None:
            await called.wait()
            served.append(context.node.id)
            await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(server)
            yield called
            group.cancel_scope.cancel()

    async def call(context: TaskContext) -> None:
        for need in context.node.needs:
            called = context.value(need)
            assert isinstance(called, anyio.Event)
            called.set()
        await checkpoint()
        await checkpoint()

    made = graph(node("x"), node("y"), node("t", "x", "y"))
    result = run(made, {"x": serve, "y": serve, "t": call})
    assert set(states(result).values()) == {DONE}
    assert sorted(served) == ["x", "y"]


# Limits


def test_a_limiter_bounds_how_many_run_at_once() -> None:
    running: list[int] = [0]
    most: list[int] = [0]

    async def work(context: TaskContext) -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await checkpoint()
        running[0] -= 1

    made = graph(*(node(id) for id in "abcdef"))
    run(made, dict.fromkeys("abcdef", work), tokens=2)
    assert most == [2]
    most[0] = 0
    run(made, dict.fromkeys("abcdef", work))
    assert most == [6]


def test_what_merely_stays_open_takes_no_place() -> None:
    journal = Journal()
    made = graph(node("x"), node("y", "x"), node("t", "x", "y"))
    functions = {"x": journal.opens(), "y": journal.opens(), "t": journal.plain()}
    assert set(states(run(made, functions, tokens=1)).values()) == {DONE}
