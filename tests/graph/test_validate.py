"""The shape of a graph: each problem is found where it is, and a sound graph has none."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flowproof.graph.task import TaskNode
from flowproof.graph.validate import validate
from tests.graph.tools import graph, node


def test_a_sound_graph_has_no_problem() -> None:
    sound = graph(node("a"), node("b", "a"), node("c", "a"), node("z", "b", "c", always=True))
    assert validate(sound) == []


@pytest.mark.parametrize("nodes", [[], [node("a"), node("b", "a")]], ids=["empty", "no cleanup"])
def test_a_graph_without_always_tasks_has_no_cleanup_to_reach(nodes: list[TaskNode]) -> None:
    assert validate(graph(*nodes)) == []


def test_a_failure_that_escapes_the_cleanup() -> None:
    leaky = graph(node("a"), node("b", "a"), node("z", "a", always=True))
    assert validate(leaky) == [
        "no `always` task comes after `b`, so that its failure skips the cleanup"
    ]


def test_a_cleanup_of_the_cleanup_may_come_last() -> None:
    assert validate(graph(node("z", always=True), node("y", "z", always=True))) == []


def test_a_cycle_is_named_and_never_reached() -> None:
    tasks = {one.id: one for one in (node("a", "b"), node("b", "c"), node("c", "a"), node("d"))}
    problems = validate(tasks)
    assert len(problems) == 4
    path = problems[0].removeprefix("tasks need each other in a circle: ").split(" → ")
    assert path[0] == path[-1]
    assert all(then in tasks[id].needs for id, then in pairwise(path))
    assert "`a` is never reached from a task that needs nothing" in problems


def test_an_unknown_need() -> None:
    assert validate({"a": node("a", "b"), "c": node("c")}) == [
        "`a` needs `b`, which is no task",
        "`a` is never reached from a task that needs nothing",
    ]
