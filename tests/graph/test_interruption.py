"""The caller is cancelled, or Ctrl-C: what runs is cancelled, what is open closes, in bounds."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint

from flowproof.graph.scheduler import TaskContext, TaskEnd, TaskFunction, run_graph
from flowproof.graph.task import Graph
from flowproof.model.clock import SystemClock
from tests.graph.tools import (
    CANCELLED,
    DONE,
    FAILED,
    NOT_RUN,
    Journal,
    boom,
    forever,
    graph,
    in_loop,
    node,
    states,
)

INTERRUPTED = "the run was interrupted"


def interrupted(
    graph: Graph,
    functions: Mapping[str, TaskFunction],
    *,
    after: int = 50,
    cleanup_timeout: float = 5.0,
    tokens: int | None = None,
) -> dict[str, TaskEnd]:
    """The ends of a run whose caller is cancelled `after` turns of the event loop."""
    ends: dict[str, TaskEnd] = {}

    async def main() -> None:
        limiter = None if tokens is None else anyio.CapacityLimiter(tokens)

        async def cancel(scope: anyio.CancelScope) -> None:
            for _ in range(after):
                await checkpoint()
            scope.cancel()

        with anyio.fail_after(10), anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(cancel, scope)
                if after == 0:
                    scope.cancel()
                await run_graph(
                    graph,
                    functions,
                    clock=SystemClock(),
                    limiter=limiter,
                    cleanup_timeout=cleanup_timeout,
                    ends=ends,
                )
        assert scope.cancelled_caught

    in_loop(main)
    assert set(ends) == set(graph.tasks)
    return ends


def test_cancellation_closes_in_reverse_runs_always_tasks_and_goes_on() -> None:
    journal = Journal()
    made = graph(
        *(node("x"), node("y", "x"), node("a", "y"), node("t", "a"), node("u", "t")),
        node("z", "u", "x", always=True),
    )
    functions = {id: journal.plain() for id in "auz"} | {id: journal.opens() for id in "xy"}
    ends = interrupted(made, functions | {"t": journal.plain(forever)})
    assert states(ends) == {
        **{"x": DONE, "y": DONE, "a": DONE},
        **{"t": CANCELLED, "u": NOT_RUN, "z": DONE},
    }
    assert ends["t"].cause == ends["u"].cause == INTERRUPTED
    assert ends["t"].started is not None
    assert ends["u"].started is None
    # `z` is always, needs `x`, and so runs before it closes.
    assert journal.events.index("end z") < journal.events.index("close x")
    assert journal.events.index("closed y") < journal.events.index("close x")


def test_what_opens_is_cancelled_and_what_is_open_waits_for_shielded_work() -> None:
    journal = Journal()

    async def ends_slowly(context: TaskContext) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.02)
            journal.events.append("agent gone")

    made = graph(node("x"), node("o"), node("t", "x"), node("b", "o"))
    functions = {"x": journal.opens(), "o": journal.opens(enter=forever), "t": ends_slowly}
    ends = interrupted(made, functions | {"b": journal.plain()})
    assert states(ends) == {"b": NOT_RUN, "o": CANCELLED, "t": CANCELLED, "x": DONE}
    assert journal.events == ["open x", "agent gone", "close x", "closed x"]


def test_a_task_that_waits_for_its_turn_never_ran() -> None:
    made = graph(node("a"), node("b"), node("z", "a", "b", always=True))
    journal = Journal()
    functions = {"a": forever, "b": forever, "z": journal.plain()}
    ends = interrupted(made, functions, tokens=1)
    assert states(ends) == {"a": CANCELLED, "b": NOT_RUN, "z": DONE}
    assert ends["b"].started is None


def test_a_caller_that_is_cancelled_already_runs_always_tasks_only() -> None:
    journal = Journal()
    made = graph(node("x"), node("t", "x"), node("z", "t", always=True))
    functions = {"x": journal.opens(), "t": journal.plain(), "z": journal.plain()}
    ends = interrupted(made, functions, after=0)
    assert states(ends) == {"x": NOT_RUN, "t": NOT_RUN, "z": DONE}
    assert journal.events == ["run z", "end z"]


def test_closes_that_hang_share_the_time_left() -> None:
    journal = Journal()
    made = graph(node("x"), node("y", "x"), node("w", "y"), node("t", "w"))
    functions = {
        "x": journal.opens(),
        "y": journal.opens(leave=forever),
        "w": journal.opens(leave=forever),
        "t": forever,
    }
    ends = interrupted(made, functions, cleanup_timeout=0.6)
    assert states(ends) == {"t": CANCELLED, "w": FAILED, "y": FAILED, "x": DONE}
    assert ends["w"].cause.startswith("closing took longer than 0.")
    assert journal.events[-4:] == ["close w", "close y", "close x", "closed x"]


def test_an_always_task_that_hangs_is_bounded_and_what_is_open_still_closes() -> None:
    journal = Journal()
    made = graph(node("x"), node("t", "x"), node("z", "t", "x", always=True))
    functions = {"x": journal.opens(), "t": forever, "z": forever}
    ends = interrupted(made, functions, cleanup_timeout=0.05)
    assert states(ends) == {"t": CANCELLED, "z": FAILED, "x": FAILED}
    assert ends["z"].cause == "did not end within the 0.05 s left for cleanup"
    assert journal.events == ["open x", "close x"]


def test_an_always_task_in_progress_and_a_close_in_progress_go_on() -> None:
    journal = Journal()

    async def a_while(*_: object) -> None:
        await anyio.sleep(0.2)

    made = graph(node("x"), node("z", always=True))
    functions = {"x": journal.opens(leave=a_while), "z": journal.plain(a_while)}
    assert states(interrupted(made, functions)) == {"x": DONE, "z": DONE}
    assert "closed x" in journal.events


def test_always_tasks_that_no_time_is_left_for_are_named() -> None:
    made = graph(node("z", always=True), node("w", "z", always=True))
    journal = Journal()
    ends = interrupted(made, {"z": forever, "w": journal.plain()}, cleanup_timeout=0.03)
    assert states(ends) == {"z": FAILED, "w": NOT_RUN}
    assert ends["w"].cause == "did not end within the 0.03 s left for cleanup"
    assert journal.events == []


def test_a_failure_in_the_midst_of_cancellation_is_told() -> None:
    async def trips(context: TaskContext) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise OSError("disk full")

    ends = interrupted(graph(node("t"), node("b", "t")), {"t": trips, "b": boom})
    assert states(ends) == {"b": NOT_RUN, "t": FAILED}


def test_a_task_that_timed_out_before_the_cancellation_has_timed_out() -> None:
    async def ends_slowly(context: TaskContext) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                timed_out.set()
                for _ in range(60):
                    await checkpoint()

    timed_out = anyio.Event()
    ends: dict[str, TaskEnd] = {}

    async def main() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                made, clock = graph(node("t", timeout=0.01)), SystemClock()
                group.start_soon(
                    partial(run_graph, made, {"t": ends_slowly}, clock=clock, ends=ends)
                )
                await timed_out.wait()
                group.cancel_scope.cancel()

    in_loop(main)
    assert states(ends) == {"t": FAILED}
    assert ends["t"].cause == "took longer than 0.01 s"


def test_a_run_that_is_over_in_time_is_not_interrupted() -> None:
    async def main() -> None:
        with anyio.move_on_after(5) as scope:
            result = await run_graph(
                graph(node("x")), {"x": Journal().opens()}, clock=SystemClock()
            )
            assert states(result) == {"x": DONE}
        assert not scope.cancelled_caught

    in_loop(main)


@pytest.mark.parametrize(
    ("how", "seen"),
    [
        pytest.param(None, KeyboardInterrupt, id="signal"),
        pytest.param(KeyboardInterrupt(), KeyboardInterrupt, id="raised"),
        pytest.param(SystemExit(3), SystemExit, id="exit"),
    ],
)
def test_ctrl_c_and_exit_close_everything_first(
    how: BaseException | None, seen: type[BaseException]
) -> None:
    journal = Journal()
    ends: dict[str, TaskEnd] = {}

    async def strike(context: TaskContext) -> None:
        await checkpoint()
        if how is not None:
            raise how
        signal.raise_signal(signal.SIGINT)
        await anyio.sleep_forever()

    made = graph(node("x"), node("t", "x"), node("n", "x"), node("z", "t", always=True))
    functions = {"x": journal.opens(), "t": strike, "n": journal.plain(forever)}

    async def main() -> None:
        with anyio.fail_after(10):
            await run_graph(
                made, functions | {"z": journal.plain()}, clock=SystemClock(), ends=ends
            )

    with pytest.raises(seen):
        in_loop(main)
    hit = CANCELLED if how is None else FAILED
    assert states(ends) == {"x": DONE, "t": hit, "n": CANCELLED, "z": DONE}
    assert [event for event in journal.events if "x" in event] == ["open x", "close x", "closed x"]
    assert "end z" in journal.events
