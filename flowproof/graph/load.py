"""Reads graphs/*.yaml into templates, and expands a template into the graph of one flow.

On the path of every run, so nothing heavier than the YAML parser is imported here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import yaml

from flowproof.graph.task import Graph, GraphError, TaskNode

MAX_CHARACTERS = 65_536
"""Longest graph file accepted; ours are a fiftieth of it."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_TASK_KEYS = ("id", "kind", "needs", "for_each", "when", "always", "timeout")
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class TaskTemplate:
    """A task as the file declares it.

    `for_each` names a list that makes one node per item, `when` a flag without which the task
    is left out.
    """

    id: str
    kind: str
    needs: tuple[str, ...] = ()
    always: bool = False
    timeout: float | None = None
    for_each: str | None = None
    when: str | None = None


@dataclass(frozen=True, slots=True)
class GraphTemplate:
    """A whole graph file: its name, its tasks as declared, and how the file is shown to people."""

    name: str
    tasks: tuple[TaskTemplate, ...]
    shown: str


def load_template(text: str, shown: str) -> GraphTemplate:
    """The template that a graph file holds; `shown` is what errors call the file.

    :raises GraphError: with file, line and what is wrong there.
    """
    file = _File(shown)
    if len(text) > MAX_CHARACTERS:
        raise GraphError(f"{shown}: longer than {MAX_CHARACTERS} characters; not a graph file")
    try:
        # The node tree keeps lines and repeated keys, and an alias in it costs nothing.
        root = yaml.compose(text, _LOADER)
    except (yaml.YAMLError, UnicodeError) as error:
        raise GraphError(f"{shown}: not YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise GraphError(f"{shown}: not a graph file: nested too deeply") from None
    top = file.mapping(root, "the file", ("graph", "tasks"))
    for key in ("graph", "tasks"):
        if key not in top:
            raise GraphError(f"{shown}: `{key}:` is missing")
    entries = file.sequence(top["tasks"], "`tasks`")
    template = GraphTemplate(
        file.name(top["graph"], "`graph`"), tuple(file.task(entry) for entry in entries), shown
    )
    try:
        Graph.of(TaskNode(task.id, task.kind, task.needs) for task in template.tasks)
    except GraphError as error:
        raise GraphError(f"{shown}: {error}") from error
    return template


def expand(
    template: GraphTemplate, lists: Mapping[str, Sequence[str]], flags: Collection[str]
) -> Graph:
    """The graph of one flow.

    A task with `for_each` becomes one node `<id>:<item>` per item, and a need on it means all of
    them. A task whose `when` is not among the `flags`, or whose list is empty, is left out; who
    needs it needs what it needs instead, so that the order is kept, but for what comes before
    another of its needs anyway.

    :raises GraphError: if a list is not given or repeats an item.
    """
    known = {task.id: task for task in template.tasks}
    order = Graph.of(TaskNode(task.id, task.kind, task.needs) for task in template.tasks).order()
    # What a need on a template means: the ids of its nodes, or what stands in for them.
    meaning: dict[str, tuple[str, ...]] = {}
    nodes: dict[str, list[TaskNode]] = {}
    before: dict[str, frozenset[str]] = {}
    for id in (node.id for node in order):
        task = known[id]
        needs = _needs(task, nodes, meaning, before)
        made = nodes[id] = [
            TaskNode(
                id if item is None else f"{id}:{item}",
                task.kind,
                needs,
                task.always,
                task.timeout,
                item,
            )
            for item in _items(task, template, lists, flags)
        ]
        meaning[id] = tuple(node.id for node in made) if made else needs
        above = frozenset(needs).union(*(before[need] for need in needs))
        before |= {node.id: above for node in made}
    return Graph.of(node for task in template.tasks for node in nodes[task.id])


def _needs(
    task: TaskTemplate,
    nodes: Mapping[str, list[TaskNode]],
    meaning: Mapping[str, tuple[str, ...]],
    before: Mapping[str, frozenset[str]],
) -> tuple[str, ...]:
    """The ids of the nodes that a task needs; `before` holds all that come before a node."""
    declared = {id for need in task.needs if nodes[need] for id in meaning[need]}
    implied = frozenset().union(*(before[id] for id in declared))
    found = dict.fromkeys(id for need in task.needs for id in meaning[need])
    return tuple(id for id in found if id in declared or id not in implied)


def _items(
    task: TaskTemplate,
    template: GraphTemplate,
    lists: Mapping[str, Sequence[str]],
    flags: Collection[str],
) -> Sequence[str | None]:
    if task.when is not None and task.when not in flags:
        return ()
    if task.for_each is None:
        return (None,)
    if task.for_each not in lists:
        raise GraphError(
            f"{template.shown}: task `{task.id}` goes through the list `{task.for_each}`;"
            f" lists given: {', '.join(lists) or 'none'}"
        )
    items = lists[task.for_each]
    for at, item in enumerate(items):
        if item in items[:at]:
            raise GraphError(f"{template.shown}: `{task.for_each}` holds `{item}` twice")
    return items


class _File:
    """Reads the nodes of one file; every error names the file and the line."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def task(self, node: yaml.Node) -> TaskTemplate:
        pairs = self.mapping(node, "a task", _TASK_KEYS)
        if "id" not in pairs:
            raise self._error(node, "a task has no `id`")
        id = self.name(pairs["id"], "`id`")

        def of(key: str, read: Callable[[yaml.Node, str], str]) -> str | None:
            return read(pairs[key], f"`{key}` of `{id}`") if key in pairs else None

        needs = self.sequence(pairs["needs"], f"`needs` of `{id}`") if "needs" in pairs else []
        return TaskTemplate(
            id,
            of("kind", self.name) or id,
            tuple(self.name(need, f"a need of `{id}`") for need in needs),
            "always" in pairs and self._truth(pairs["always"], f"`always` of `{id}`"),
            self._seconds(pairs["timeout"], f"`timeout` of `{id}`") if "timeout" in pairs else None,
            of("for_each", self.name),
            of("when", self.name),
        )

    def mapping(
        self, node: yaml.Node | None, what: str, accepted: Sequence[str]
    ) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"{what} is not a mapping of {_listed(accepted)}")
        pairs: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "(no text)"
            if name not in accepted:
                raise self._error(
                    key, f"{what} has the unknown key `{name}`; accepted: {_listed(accepted)}"
                )
            if name in pairs:
                raise self._error(key, f"{what} has `{name}` twice")
            pairs[name] = value
        return pairs

    def sequence(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(node, f"{what} is not a list")
        return list(node.value)

    def name(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not _NAME.match(node.value):
            raise self._error(
                node,
                f"{what} is not a name: a letter or `_`, then letters, digits, `_`, `-` and `.`",
            )
        return str(node.value)

    def _truth(self, node: yaml.Node, what: str) -> bool:
        if isinstance(node, yaml.ScalarNode) and node.value in ("true", "false"):
            return bool(node.value == "true")
        raise self._error(node, f"{what} is neither `true` nor `false`")

    def _seconds(self, node: yaml.Node, what: str) -> float:
        try:
            seconds = float(node.value) if isinstance(node, yaml.ScalarNode) else math.nan
        except ValueError:
            seconds = math.nan
        if not (math.isfinite(seconds) and seconds > 0):
            raise self._error(node, f"{what} is not a positive number of seconds")
        return seconds

    def _error(self, node: yaml.Node | None, message: str) -> GraphError:
        line = f":{node.start_mark.line + 1}" if node is not None and node.start_mark else ""
        return GraphError(f"{self._shown}{line}: {message}")


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)
