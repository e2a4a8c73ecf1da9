"""What a suite compiles into, as a graph whose nodes say in words what `plan` knows of them.

`flowproof graph` draws it; `run` runs the graph that it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from flowproof.errors import FlowproofError
from flowproof.flow.job import relative
from flowproof.graph.task import Graph, GraphError, TaskNode
from flowproof.model.flow_spec import SuiteSpec
from flowproof.suite.plan import BEFORE_ALL, PlannedFlow, graph_of
from flowproof.suite.project import Project


def picture(planned: Sequence[PlannedFlow], project: Project) -> Graph:
    """The graph of a run; notes of its flows say what they have to themselves, and the names of
    the other tasks which commands they are. What `order` puts before a flow is not what it needs.

    :raises GraphError: if flows wait for each other, or the graph cannot be run.
    """
    graph = graph_of(planned)
    _require_sound(graph)
    flows = {one.id: one for one in planned}
    hooks = {id: _named(node, project) for id, node in graph.tasks.items() if id not in flows}
    return Graph.of(
        replace(
            node,
            id=hooks.get(id, id),
            needs=tuple(hooks.get(need, need) for need in node.needs),
            note=_note(flows[id], project) if id in flows else "",
            after=_merely_before(flows[id]) if id in flows else frozenset(),
        )
        for id, node in graph.tasks.items()
    )


def _merely_before(one: PlannedFlow) -> frozenset[str]:
    """The flows that have to end before one begins, whether they passed or not."""
    return frozenset(one.after).difference(one.needs)


def _require_sound(graph: Graph) -> None:
    """:raises GraphError: if the graph of a run is not as it has to be."""
    from flowproof.graph.validate import validate

    # The record of the run comes after everything; it is what cleans up where no suite does.
    last = TaskNode("record of the run", "record", tuple(graph.tasks), always=True)
    if problems := validate({**graph.tasks, last.id: last}):
        raise GraphError("\n".join(problems))


def _note(one: PlannedFlow, project: Project) -> str:
    """What a flow has to itself, and which hooks surround it."""
    facts = sorted(one.locks)
    suite = None if one.suite is None else _suite(project, one.spec.parent)
    if suite is not None:
        each = {"before_each": suite.before_each, "after_each": suite.after_each}
        facts += [f"with {' and '.join(declared)}"] if (declared := _declared(each)) else []
    return ", ".join(facts)


def _named(node: TaskNode, project: Project) -> str:
    folder = Path(node.item or "")
    suite = _suite(project, folder)
    if suite is None:
        return node.id
    first = {"env_from": suite.env_from, "before_all": suite.before_all}
    commands = _declared(first if node.kind == BEFORE_ALL else {"after_all": suite.after_all})
    what = " and ".join(commands) or ("begin" if node.kind == BEFORE_ALL else "end")
    shown = "" if folder == project.here else f" in {relative(folder, project.here)}"
    return f"{what} of {suite.name}{shown}"


def _suite(project: Project, folder: Path) -> SuiteSpec | None:
    try:
        return project.suite_of(folder)
    except FlowproofError:
        return None


def _declared(commands: Mapping[str, str | None]) -> list[str]:
    return [name for name, command in commands.items() if command is not None]
