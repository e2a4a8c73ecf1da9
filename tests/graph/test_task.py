"""A graph is sound from the moment it exists."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.graph.task import Graph, GraphError, TaskNode
from tests.graph.tools import graph, node


def test_order_is_topological_and_as_declared_among_equals() -> None:
    made = graph(node("d", "b"), node("b", "c"), node("a"), node("c"))
    assert [task.id for task in made.order()] == ["a", "c", "b", "d"]
    assert made.dependents("b") == ("d",)
    assert made.dependents("a") == ()


def test_an_empty_graph_is_sound() -> None:
    assert graph().order() == ()


def test_a_graph_does_not_change_with_what_it_was_made_of() -> None:
    tasks = {"a": node("a")}
    made = Graph(tasks)
    tasks["b"] = node("b")
    assert list(made.tasks) == ["a"]
    with pytest.raises(TypeError):
        made.tasks["b"] = node("b")  # type: ignore[index]


def test_equal_tasks_make_equal_graphs() -> None:
    assert graph(node("a"), node("b", "a")) == graph(node("a"), node("b", "a"))
    assert graph(node("a"), node("b", "a")) != graph(node("a"), node("b"))


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        pytest.param([node("a", "b")], "task `a` needs `b`, which is no task", id="unknown need"),
        pytest.param([node("a", "a")], "task `a` needs itself", id="self"),
        pytest.param([node("a"), node("b", "a", "a")], "needs `a` twice", id="repeated need"),
        pytest.param([node("a"), node("a")], "two tasks have the id `a`", id="duplicate id"),
        pytest.param([node("a", "b"), node("b", "a")], "a → b → a", id="cycle of two"),
        pytest.param(
            [node("x"), node("d", "c", "x"), node("a", "b"), node("b", "x", "c"), node("c", "a")],
            ": c → a → b → c (each needs the next)",
            id="cycle behind a tail",
        ),
        pytest.param([node("a", timeout=0)], "task `a` has the timeout 0", id="no time"),
        pytest.param([node("a", timeout=float("nan"))], "timeout nan", id="nan"),
        pytest.param([node("a", timeout=float("inf"))], "timeout inf", id="inf"),
    ],
)
def test_what_is_no_graph_is_refused(nodes: list[TaskNode], said: str) -> None:
    with pytest.raises(GraphError) as refused:
        Graph.of(nodes)
    assert said in str(refused.value)
    assert isinstance(refused.value, ValueError)


def test_a_task_under_a_wrong_key_is_refused() -> None:
    with pytest.raises(GraphError, match="task `a` is filed under `b`"):
        Graph({"b": node("a")})


@given(st.integers(2, 8), st.data())
def test_any_closed_path_is_refused_and_named(size: int, data: st.DataObject) -> None:
    ids = [f"t{at}" for at in range(size)]
    start = data.draw(st.integers(0, size - 2))
    stop = data.draw(st.integers(start + 1, size - 1))
    needs: dict[str, set[str]] = {
        id: set(data.draw(st.sets(st.sampled_from(ids[:at])))) if at else set()
        for at, id in enumerate(ids)
    }
    for at in range(start, stop):
        needs[ids[at + 1]].add(ids[at])
    sound = Graph.of(node(id, *sorted(needs[id])) for id in ids)
    assert len(sound.order()) == size

    needs[ids[start]].add(ids[stop])
    with pytest.raises(GraphError) as refused:
        Graph.of(node(id, *sorted(needs[id])) for id in ids)
    path = str(refused.value).split(": ")[1].split(" (")[0].split(" → ")
    assert path[0] == path[-1]
    assert all(need in needs[id] for id, need in pairwise(path))
