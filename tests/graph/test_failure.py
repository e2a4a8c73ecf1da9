"""What the failure of one task means to the others, and how it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from flowproof.errors import UpstreamError
from flowproof.graph.scheduler import TaskContext, TaskFunction
from tests.graph.tools import (
    CANCELLED,
    DONE,
    FAILED,
    Boom,
    Journal,
    boom,
    forever,
    graph,
    node,
    returns,
    run,
    states,
)


def test_a_failure_cancels_what_depends_on_it_and_nothing_else() -> None:
    journal = Journal()
    made = graph(
        node("f"),
        node("b", "f"),
        node("c", "b"),
        node("n"),
        node("m", "n"),
        node("z", "c", always=True),
    )
    result = run(made, {id: journal.plain() for id in "bcnmz"} | {"f": boom})
    assert states(result) == {
        **{"f": FAILED, "b": CANCELLED, "c": CANCELLED},
        **{"n": DONE, "m": DONE, "z": DONE},
    }
    assert result.ends["f"].cause == "Boom: it broke"
    assert result.ends["c"].cause == "`f` failed: Boom: it broke"
    assert result.ends["c"].started is None
    assert list(result.failed()) == ["f"]
    assert "run b" not in journal.events


def test_an_error_for_users_is_a_cause_as_it_is_and_its_first_line_for_others() -> None:
    async def unreachable(context: TaskContext) -> None:
        raise UpstreamError("nobody answers at example.test\ntry again")

    result = run(graph(node("f"), node("b", "f")), {"f": unreachable, "b": returns(1)})
    assert result.ends["f"].cause == "nobody answers at example.test\ntry again"
    assert result.ends["b"].cause == "`f` failed: nobody answers at example.test"


@pytest.mark.parametrize(
    ("errors", "cause", "kind"),
    [
        pytest.param([Boom("one")], "Boom: one", Boom, id="a group of one is unwrapped"),
        pytest.param([Boom("one"), OSError()], "Boom: one; OSError", ExceptionGroup, id="two"),
    ],
)
def test_groups_of_errors(errors: list[Exception], cause: str, kind: type[Exception]) -> None:
    async def fail(context: TaskContext) -> None:
        raise ExceptionGroup("outer", [ExceptionGroup("inner", errors)])

    end = run(graph(node("f")), {"f": fail}).ends["f"]
    assert (end.cause, type(end.error)) == (cause, kind)


def test_a_failure_to_open_never_closes_and_cancels_dependents() -> None:
    journal = Journal()
    made = graph(node("x"), node("y", "x"), node("t", "y"))
    functions = {"x": journal.opens(), "y": journal.opens(enter=boom), "t": journal.plain()}
    result = run(made, functions)
    assert states(result) == {"y": FAILED, "t": CANCELLED, "x": DONE}
    assert journal.events == ["open x", "close x", "closed x"]


def test_a_failure_to_close_is_that_task_s_and_the_others_close_too() -> None:
    journal = Journal()
    made = graph(node("x"), node("y", "x"), node("t", "y"))
    functions = {"x": journal.opens(), "y": journal.opens(leave=boom), "t": journal.plain()}
    result = run(made, functions)
    assert states(result) == {"t": DONE, "y": FAILED, "x": DONE}
    assert result.ends["y"].cause == "while closing: Boom: it broke"
    assert journal.events[-3:] == ["close y", "close x", "closed x"]


@asynccontextmanager
async def breaks(context: TaskContext) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(boom)
        yield


def test_what_breaks_while_open_stops_what_is_using_it() -> None:
    journal = Journal()
    made = graph(
        *(node("w"), node("x", "w"), node("y", "x"), node("t", "y", "x")),
        *(node("u", "t"), node("z", "t", always=True)),
    )
    functions = {"w": journal.opens(), "x": breaks, "y": journal.opens(), "t": forever}
    result = run(made, functions | {"u": journal.plain(), "z": journal.plain()})
    assert states(result) == {
        **{"w": DONE, "x": FAILED, "y": CANCELLED, "t": CANCELLED},
        **{"u": CANCELLED, "z": DONE},
    }
    assert {result.ends[id].cause for id in "ytu"} == {"`x` failed: Boom: it broke"}
    assert isinstance(result.ends["x"].error, Boom)
    assert [event for event in journal.events if "close" in event] == [
        *("close y", "closed y", "close w", "closed w")
    ]
    assert result.ends["t"].started is not None


def test_a_close_that_hangs_after_its_own_need_broke_is_a_failure_of_its_own() -> None:
    made = graph(node("x"), node("y", "x"), node("t", "y", "x"))
    functions = {"x": breaks, "y": Journal().opens(leave=forever), "t": forever}
    result = run(made, functions, cleanup_timeout=0.05)
    assert states(result) == {"x": FAILED, "t": CANCELLED, "y": FAILED}
    assert result.ends["y"].cause == "closing took longer than 0.05 s"


def test_an_always_task_waits_for_all_its_needs_also_if_one_broke_while_open() -> None:
    journal = Journal()

    async def slow(context: TaskContext) -> None:
        for _ in range(30):
            await checkpoint()

    made = graph(node("x"), node("t"), node("z", "x", "t", always=True))
    result = run(made, {"x": breaks, "t": journal.plain(slow), "z": journal.plain()})
    assert states(result) == {"x": FAILED, "t": DONE, "z": DONE}
    assert journal.events == ["run t", "end t", "run z", "end z"]


def test_a_context_manager_that_closes_by_itself_has_failed() -> None:
    @asynccontextmanager
    async def gives_up(context: TaskContext) -> AsyncIterator[None]:
        with anyio.move_on_after(0.01):
            yield

    result = run(graph(node("x"), node("t", "x")), {"x": gives_up, "t": forever})
    assert states(result) == {"x": FAILED, "t": CANCELLED}
    assert "closed by itself while it was still needed" in result.ends["x"].cause


def raises_at_once(context: TaskContext) -> AbstractAsyncContextManager[object]:
    raise Boom("at once")


async def cancels_itself(context: TaskContext) -> None:
    raise anyio.get_cancelled_exc_class()


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        pytest.param(raises_at_once, "Boom: at once", id="raises when called"),
        pytest.param(lambda context: None, "TypeError: ", id="neither"),
        pytest.param(cancels_itself, "RuntimeError: the task cancelled itself", id="cancelled"),
    ],
)
def test_a_bad_function_is_a_failed_task(function: TaskFunction, cause: str) -> None:
    result = run(graph(node("f"), node("n")), {"f": function, "n": returns(1)})
    assert states(result) == {"f": FAILED, "n": DONE}
    assert result.ends["f"].cause.startswith(cause)
