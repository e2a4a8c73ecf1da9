"""Tasks and the immutable graph they make; valid from the moment it exists.

`load` makes graphs out of files, `scheduler` runs them, `draw` shows them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from flowproof.errors import FlowproofError


class GraphError(FlowproofError, ValueError):
    """Tasks that do not make a graph, or a graph that cannot be run; says which and why."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """One task. `kind` names the function that does it, `needs` the tasks that come before.

    A task whose need ends badly is cancelled. For an `always` task the same edges merely order:
    it runs once all its needs have ended, however they ended. `timeout` is in seconds. `item` is
    the value that an expanded `for_each` gave to this node, `note` what else a drawing says of it.
    Of its needs a drawing says `after` where they are in `after`: these need not end well.
    """

    id: str
    kind: str
    needs: tuple[str, ...] = ()
    always: bool = False
    timeout: float | None = None
    item: str | None = None
    note: str = ""
    after: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Graph:
    """Tasks by id, in the order of declaration, that need only each other and never in a circle.

    :raises GraphError: on an id that is not its key, a need that is unknown, repeated or the
        task itself, a timeout that is no positive number, and a cycle, which is named.
    """

    tasks: Mapping[str, TaskNode]
    _order: tuple[TaskNode, ...] = field(init=False, repr=False, compare=False)
    _dependents: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tasks = dict(self.tasks)
        for key, node in tasks.items():
            _check(key, node, tasks)
        dependents: dict[str, list[str]] = {id: [] for id in tasks}
        for node in tasks.values():
            for need in node.needs:
                dependents[need].append(node.id)
        order = _topological(tasks, dependents)
        frozen = {id: tuple(ids) for id, ids in dependents.items()}
        object.__setattr__(self, "tasks", MappingProxyType(tasks))
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_dependents", MappingProxyType(frozen))

    @classmethod
    def of(cls, nodes: Iterable[TaskNode]) -> Graph:
        """The graph of these nodes, in this order.

        :raises GraphError: also on two nodes with one id.
        """
        tasks: dict[str, TaskNode] = {}
        for node in nodes:
            if node.id in tasks:
                raise GraphError(f"two tasks have the id `{node.id}`; ids are unique in a graph")
            tasks[node.id] = node
        return cls(tasks)

    def order(self) -> tuple[TaskNode, ...]:
        """Every task after all that it needs; among those that may come next, as declared."""
        return self._order

    def dependents(self, id: str) -> tuple[str, ...]:
        """The ids of the tasks that need this one directly, as declared."""
        return self._dependents[id]


def _check(key: str, node: TaskNode, tasks: Mapping[str, TaskNode]) -> None:
    if key != node.id:
        raise GraphError(f"task `{node.id}` is filed under `{key}`")
    seen = set()
    for need in node.needs:
        if need == node.id:
            raise GraphError(f"task `{node.id}` needs itself")
        if need not in tasks:
            raise GraphError(
                f"task `{node.id}` needs `{need}`, which is no task of this graph;"
                f" its tasks: {', '.join(tasks)}"
            )
        if need in seen:
            raise GraphError(f"task `{node.id}` needs `{need}` twice")
        seen.add(need)
    if node.timeout is not None and not (math.isfinite(node.timeout) and node.timeout > 0):
        raise GraphError(
            f"task `{node.id}` has the timeout {node.timeout}; it is a positive number of seconds"
        )


def _topological(
    tasks: Mapping[str, TaskNode], dependents: Mapping[str, list[str]]
) -> tuple[TaskNode, ...]:
    place = {id: at for at, id in enumerate(tasks)}
    left = {id: len(node.needs) for id, node in tasks.items()}
    nodes = tuple(tasks.values())
    free = [place[id] for id, count in left.items() if count == 0]
    order = []
    while free:
        node = nodes[heapq.heappop(free)]
        order.append(node)
        del left[node.id]
        for id in dependents[node.id]:
            left[id] -= 1
            if left[id] == 0:
                heapq.heappush(free, place[id])
    if left:
        cycle = " → ".join(_cycle(tasks, left))
        raise GraphError(f"tasks need each other in a circle: {cycle} (each needs the next)")
    return tuple(order)


def _cycle(tasks: Mapping[str, TaskNode], left: Mapping[str, int]) -> list[str]:
    """A closed path among tasks that are `left`: each of them needs another one of them."""
    path: list[str] = []
    at: dict[str, int] = {}
    id = next(iter(left))
    while id not in at:
        at[id] = len(path)
        path.append(id)
        id = next(need for need in tasks[id].needs if need in left)
    return [*path[at[id] :], id]
