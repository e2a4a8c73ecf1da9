"""YAML text to nodes that keep their place and their writing; `shapes` gives them meaning.

Nothing is guessed here: `yes`, `1.10` and `12:30` stay the text that the author wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from flowproof.spec.source import Mark, Refused, Report, quoted

MAX_DEPTH = 64
"""Deepest nesting of lists and mappings accepted in a file."""

MAX_ALIASED = 10_000
"""How many values the aliases of one file may repeat in all."""

MAX_NODES = 200_000
"""How many values a file may hold, keys included and aliases apart."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where the installation has it, else the slower one in Python."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNUSABLE = re.compile("[\0\ud800-\udfff]")

_HINTS = (
    ("cannot start any token", "quote a value that begins with one of ` @ % or a tab"),
    ("mapping values are not allowed", "quote a value that holds a colon followed by a blank"),
    ("did not find expected", "check the indentation, and quote a value that begins with a quote"),
    ("expected <block end>", "check the indentation, and quote a value that begins with a quote"),
    ("could not find expected ':'", "write `key: value`, or `- ` before each item of a list"),
    ("unknown escape character", "use single quotes for a value that holds backslashes"),
)


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """One text. `style` is empty for a plain scalar, else its first mark: ' " | or >."""

    mark: Mark
    end: Mark
    text: str
    style: str

    @property
    def plain(self) -> bool:
        """Whether it stands without quotes and is no block."""
        return not self.style

    @property
    def empty(self) -> bool:
        """Whether the author gave no value: nothing, `null` or `~`."""
        return self.plain and self.text in {"", "~", "null"}


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    mark: Mark
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: ScalarNode
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping; its keys are unique."""

    mark: Mark
    entries: tuple[Entry, ...]


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def kind(node: Node) -> str:
    """What a message calls this node: `nothing`, the text itself, `a list` or `a mapping`."""
    match node:
        case ScalarNode():
            return "nothing" if node.plain and not node.text else quoted(node.text)
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"


def flow_text(node: Node) -> str:
    """The node in one line, as the author would recognise it."""
    match node:
        case ScalarNode(text=text, style=style):
            line = " ".join(text.split())
            if not style:
                return line
            mark = "'" if '"' in line else '"'
            return f"{mark}{line}{mark}"
        case SequenceNode(items=items):
            return f"[{', '.join(map(flow_text, items))}]"
        case MappingNode(entries=entries):
            return f"{{{', '.join(f'{e.key.text}: {flow_text(e.value)}' for e in entries)}}}"


def read_nodes(text: str, report: Report, *, loader: Any = LOADER) -> Node:
    """The one document in `text`. Duplicate keys and the like are noted and reading goes on.

    :raises Refused: after noting why, where there is no document to read at all.
    """
    if bad := _FORBIDDEN.search(text):
        raise report.refuse(
            _place(text, bad.start()), f"control character U+{ord(bad.group()):04X} in the file"
        )
    try:
        node = _Composer(yaml.parse(text, Loader=loader), report).document()
    except yaml.MarkedYAMLError as error:
        raise _syntax_problem(error, report) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise report.refuse(Mark(1, 1), f"not valid YAML: {error}") from error
    if isinstance(node, ScalarNode) and node.plain and not node.text:
        raise report.refuse(Mark(1, 1), "the file is empty")
    return node


def _place(text: str, offset: int) -> Mark:
    before = text[:offset]
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    breaks = before.count("\n") + before.count("\r") - before.count("\r\n")
    return Mark(breaks + 1, offset - start + 1)


def _syntax_problem(error: yaml.MarkedYAMLError, report: Report) -> Refused:
    mark = error.problem_mark or error.context_mark
    place = Mark(mark.line + 1, mark.column + 1) if mark else Mark(1, 1)
    problem = error.problem or error.context or "it cannot be read"
    before = report.line(place.line)[: place.column]
    if "\t" in before and not before.strip():
        return report.refuse(
            place, "a tab is used for indentation", accepted="blanks, usually two for each level"
        )
    hint = next((hint for part, hint in _HINTS if part in problem), "")
    context = f" {error.context}" if error.context and error.context != problem else ""
    return report.refuse(place, f"not valid YAML: {problem}{context}", accepted=hint)


@dataclass(frozen=True, slots=True)
class _Built:
    """A node with the number of values in it and its height, aliases counted in full."""

    node: Node
    size: int
    height: int


class _Composer:
    """Builds nodes out of the parser's events, bounding depth and what aliases repeat."""

    def __init__(self, events: Iterator[Any], report: Report) -> None:
        self._events = events
        self._report = report
        self._anchors: dict[str, _Built | None] = {}
        self._aliased = 0
        self._nodes = 0

    def document(self) -> Node:
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            raise self._report.refuse(Mark(1, 1), "the file is empty")
        built = self._build(self._next(), 1)
        self._next()
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._report.refuse(
                _mark(after), "a second document begins here", accepted="one document in a file"
            )
        return built.node

    def _next(self) -> Any:
        event = next(self._events)
        return self._next() if isinstance(event, yaml.StreamStartEvent) else event

    def _build(self, event: Any, depth: int) -> _Built:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        mark = _mark(event)
        if depth > MAX_DEPTH:
            raise self._report.refuse(mark, f"nested deeper than {MAX_DEPTH} levels")
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._report.refuse(mark, f"the file holds more than {MAX_NODES} values")
        if event.tag is not None:
            self._report.note(
                mark,
                f"the tag {quoted(event.tag)} is not accepted",
                accepted="plain YAML without tags; put quotes around a value to make it text",
            )
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            built = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            built = self._sequence(event, depth)
        else:
            built = self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = built
        return built

    def _alias(self, event: Any, depth: int) -> _Built:
        name = quoted(f"*{event.anchor}")
        if event.anchor not in self._anchors:
            raise self._report.refuse(
                _mark(event),
                f"{name} names no anchor above it",
                accepted="an anchor defined earlier; quote a value that begins with `*`",
            )
        built = self._anchors[event.anchor]
        if built is None:
            raise self._report.refuse(_mark(event), f"{name} stands inside its own anchor")
        self._aliased += built.size
        if self._aliased > MAX_ALIASED:
            raise self._report.refuse(
                _mark(event), f"the aliases of this file repeat more than {MAX_ALIASED} values"
            )
        if depth + built.height - 1 > MAX_DEPTH:
            raise self._report.refuse(_mark(event), f"nested deeper than {MAX_DEPTH} levels")
        return built

    def _scalar(self, event: Any) -> _Built:
        end = Mark(event.end_mark.line + 1, event.end_mark.column + 1)
        node = ScalarNode(_mark(event), end, event.value, event.style or "")
        if bad := _UNUSABLE.search(node.text):
            self._report.note(node.mark, f"character U+{ord(bad.group()):04X} cannot be used")
        return _Built(node, 1, 1)

    def _sequence(self, event: Any, depth: int) -> _Built:
        items: list[_Built] = []
        while not isinstance(child := self._next(), yaml.SequenceEndEvent):
            items.append(self._build(child, depth + 1))
        node = SequenceNode(_mark(event), tuple(item.node for item in items))
        return _together(node, items)

    def _mapping(self, event: Any, depth: int) -> _Built:
        entries: list[Entry] = []
        parts: list[_Built] = []
        seen: dict[str, Mark] = {}
        while not isinstance(child := self._next(), yaml.MappingEndEvent):
            key = self._build(child, depth + 1)
            value = self._build(self._next(), depth + 1)
            parts += [key, value]
            if isinstance(key.node, ScalarNode) and self._key_holds(key.node, seen):
                entries.append(Entry(key.node, value.node))
            elif not isinstance(key.node, ScalarNode):
                self._report.note(key.node.mark, f"{kind(key.node)} cannot be a key")
        return _together(MappingNode(_mark(event), tuple(entries)), parts)

    def _key_holds(self, key: ScalarNode, seen: dict[str, Mark]) -> bool:
        if key.plain and key.text == "<<":
            self._report.note(
                key.mark,
                "merge keys (`<<`) are not accepted",
                accepted="the keys written out, or an alias (`*name`) as a whole value",
            )
        elif key.plain and not key.text:
            self._report.note(key.mark, "a key is missing before the colon")
        elif key.text in seen:
            first = seen[key.text].line
            self._report.note(
                key.mark, f"the key {quoted(key.text)} was given already, in line {first}"
            )
        else:
            seen[key.text] = key.mark
            return True
        return False


def _together(node: Node, parts: list[_Built]) -> _Built:
    height = 1 + max((part.height for part in parts), default=0)
    return _Built(node, 1 + sum(part.size for part in parts), height)


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)
