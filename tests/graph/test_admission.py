"""An admission decides which of the tasks that could run begin; the others are no tasks yet."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from flowproof.graph.scheduler import TaskContext, TaskEnd, run_graph
from flowproof.graph.task import Graph, TaskNode
from flowproof.model.clock import SystemClock
from flowproof.model.task_state import TaskState


class OneByOne:
    """Lets in one task at a time, the last one offered first."""

    def __init__(self) -> None:
        self.waiting: list[TaskNode] = []
        self.inside: list[str] = []
        self.log: list[str] = []

    def offer(self, node: TaskNode) -> None:
        self.waiting.append(node)

    def take(self) -> TaskNode | None:
        if self.inside or not self.waiting:
            return None
        node = self.waiting.pop()
        self.inside.append(node.id)
        self.log.append(node.id)
        return node

    def left(self, node: TaskNode) -> None:
        self.inside.remove(node.id)


async def nothing(context: TaskContext) -> None:
    await anyio.lowlevel.checkpoint()


async def fail(context: TaskContext) -> None:
    raise ValueError("no")


def ended(
    graph: Graph, admission: OneByOne, kind: str = "", seconds: float | None = None
) -> dict[str, TaskEnd]:
    """Run a graph; tasks of the kind `x` do what `kind` says."""
    ends: dict[str, TaskEnd] = {}

    async def hang(context: TaskContext) -> None:
        await anyio.sleep_forever()

    functions = {"x": {"fail": fail, "hang": hang}.get(kind, nothing), "y": nothing}

    async def main() -> None:
        with anyio.move_on_after(seconds or 20):
            await run_graph(graph, functions, clock=SystemClock(), admission=admission, ends=ends)

    anyio.run(main)
    return ends


ABC = Graph.of(TaskNode(id, "x") for id in "abc")


@pytest.mark.parametrize("kind", ["", "fail"], ids=["all end well", "all fail"])
def test_what_is_let_in_runs_and_gives_its_place_back(kind: str) -> None:
    admission = OneByOne()
    ends = ended(ABC, admission, kind)
    assert admission.log == ["c", "b", "a"]
    assert {end.state for end in ends.values()} == {TaskState.FAILED if kind else TaskState.DONE}
    assert admission.inside == []


def test_needs_come_first() -> None:
    admission = OneByOne()
    nodes = [TaskNode("a", "x"), TaskNode("b", "x"), TaskNode("c", "x", ("a",))]
    ended(Graph.of(nodes), admission)
    assert admission.log == ["b", "a", "c"]


def test_after_an_interruption_what_waits_never_begins_and_always_tasks_do() -> None:
    admission = OneByOne()
    nodes = [*ABC.tasks.values(), TaskNode("end", "y", ("a", "b", "c"), always=True)]
    ends = ended(Graph.of(nodes), admission, "hang", seconds=0.1)
    assert {id: end.state for id, end in ends.items()} == {
        "a": TaskState.NOT_RUN,
        "b": TaskState.NOT_RUN,
        "c": TaskState.CANCELLED,
        "end": TaskState.DONE,
    }
    assert admission.inside == []
