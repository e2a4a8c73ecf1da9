"""Timeouts, measured times, and who hears of them."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import pytest

from flowproof.graph.scheduler import TaskContext, TaskEnd, run_graph
from flowproof.graph.task import TaskNode
from tests.graph.tools import (
    CANCELLED,
    DONE,
    FAILED,
    Journal,
    boom,
    forever,
    graph,
    in_loop,
    node,
    returns,
    run,
    states,
)


@pytest.mark.parametrize("context", [False, True], ids=["plain", "opening"])
def test_a_timeout_fails_the_task_and_says_how_long(context: bool) -> None:
    journal = Journal()
    slow = journal.opens(enter=forever) if context else journal.plain(forever)
    made = graph(node("s", timeout=0.02), node("b", "s"), node("n"))
    result = run(made, {"s": slow, "b": returns(1), "n": returns(1)})
    assert states(result) == {"n": DONE, "s": FAILED, "b": CANCELLED}
    assert isinstance(result.ends["s"].error, TimeoutError)
    assert result.ends["s"].cause == "took longer than 0.02 s"
    assert result.ends["b"].cause == "`s` failed: took longer than 0.02 s"


def test_a_timeout_that_is_kept_is_no_failure_and_does_not_count_while_open() -> None:
    async def work(context: TaskContext) -> None:
        await anyio.sleep(0.35)

    made = graph(node("x", timeout=0.3), node("t", "x", timeout=5))
    result = run(made, {"x": Journal().opens(), "t": work})
    assert states(result) == {"t": DONE, "x": DONE}


def test_a_close_that_hangs_is_bounded() -> None:
    journal = Journal()
    made = graph(node("x"), node("y", "x"))
    functions = {"x": journal.opens(), "y": journal.opens(leave=forever)}
    result = run(made, functions, cleanup_timeout=0.2)
    assert states(result) == {"y": FAILED, "x": DONE}
    assert result.ends["y"].cause == "closing took longer than 0.2 s"


class Ticks:
    """A clock that moves one second whenever it is read."""

    def __init__(self) -> None:
        self._at = 100.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        self._at += 1
        return self._at


class Heard:
    """An observer that keeps what it hears, and may fail at it."""

    def __init__(self, fails_at: str = "") -> None:
        self.heard: list[tuple[str, float | None, float | None]] = []
        self._fails_at = fails_at

    def _hear(self, what: str, at: float | None, duration: float | None) -> None:
        self.heard.append((what, at, duration))
        if what == self._fails_at:
            raise OSError("nobody listens")

    def started(self, node: TaskNode, at: float) -> None:
        self._hear(f"started {node.id}", at, None)

    def ended(self, node: TaskNode, end: TaskEnd) -> None:
        self._hear(f"ended {node.id}", end.started, end.duration)


def test_times_count_from_the_start_of_the_run_and_the_observer_hears_them() -> None:
    heard = Heard()

    async def main() -> None:
        made = graph(node("x"), node("t", "x"), node("f", "t"), node("b", "f"))
        functions = {"x": Journal().opens(), "t": returns(1), "f": boom, "b": returns(1)}
        await run_graph(made, functions, clock=Ticks(), observer=heard)

    in_loop(main)
    assert heard.heard[:3] == [
        ("started x", 1.0, None),
        ("started t", 2.0, None),
        ("ended t", 2.0, 1.0),
    ]
    assert ("ended b", None, None) in heard.heard
    ends = [(at, duration) for what, at, duration in heard.heard if what == "ended x"]
    assert len(ends) == 1 and ends[0][0] == 1.0 and (ends[0][1] or 0) >= 3.0


@pytest.mark.parametrize("fails_at", ["started t", "ended t", "ended x"])
def test_an_observer_that_fails_ends_the_run_in_good_order(fails_at: str) -> None:
    journal = Journal()
    made = graph(node("x"), node("t", "x"), node("z", "t", always=True))
    functions = {"x": journal.opens(), "t": journal.plain(), "z": journal.plain()}
    with pytest.raises(OSError, match="nobody listens"):
        run(made, functions, observer=Heard(fails_at))
    assert journal.events.count("closed x") == 1
    assert "end z" in journal.events
