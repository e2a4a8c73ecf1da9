"""Lists, mappings and alternatives of shapes. Counterpart: `shapes` holds the single values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from flowproof.spec.shapes import Schema, Shape, whole
from flowproof.spec.source import Mark, Refused, Report, quoted
from flowproof.spec.yaml_nodes import MappingNode, Node, ScalarNode, SequenceNode, kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ListOf(Generic[T]):
    """A list whose items all have one shape. Items that cannot be used are noted and left out."""

    item: Shape[T]
    accepted: str
    minimum: int = 0

    def read(self, node: Node, report: Report) -> tuple[T, ...]:
        if not isinstance(node, SequenceNode):
            raise report.refuse(node.mark, f"found {kind(node)}", accepted=self.accepted)
        if len(node.items) < self.minimum:
            raise report.refuse(node.mark, "the list is empty", accepted=self.accepted)
        values: list[T] = []
        for item in node.items:
            try:
                values.append(self.item.read(item, report))
            except Refused:
                continue
        return tuple(values)

    def schema(self) -> Schema:
        schema: Schema = {"type": "array", "items": self.item.schema()}
        return schema | ({"minItems": self.minimum} if self.minimum else {})


@dataclass(frozen=True, slots=True, eq=False)
class MapOf(Generic[T]):
    """A mapping with keys of the author's choice. Entries that cannot be used are left out.

    `key` must match all of each key; `key_accepted` says the same in words. `placed` makes the
    value of an entry of what was read and where its key stands.
    """

    value: Shape[T]
    accepted: str
    key: str | None = None
    key_accepted: str = ""
    minimum: int = 0
    placed: Callable[[T, Mark], T] | None = None

    def read(self, node: Node, report: Report) -> dict[str, T]:
        if not isinstance(node, MappingNode):
            raise report.refuse(node.mark, f"found {kind(node)}", accepted=self.accepted)
        if len(node.entries) < self.minimum:
            raise report.refuse(node.mark, "the mapping is empty", accepted=self.accepted)
        values: dict[str, T] = {}
        for entry in node.entries:
            name = entry.key.text
            if self.key is not None and not re.fullmatch(self.key, name):
                report.note(
                    entry.key.mark,
                    f"{quoted(name)} cannot be a key here",
                    accepted=self.key_accepted,
                )
                continue
            try:
                value = self.value.read(entry.value, report)
            except Refused:
                continue
            values[name] = self.placed(value, entry.key.mark) if self.placed else value
        return values

    def schema(self) -> Schema:
        schema: Schema = {"type": "object", "additionalProperties": self.value.schema()}
        if self.key is not None:
            schema["propertyNames"] = {"pattern": whole(self.key)}
        return schema | ({"minProperties": self.minimum} if self.minimum else {})


@dataclass(frozen=True, slots=True, eq=False)
class ByKind(Generic[T]):
    """A value that may be written as a scalar, as a list or as a mapping."""

    accepted: str
    scalar: Shape[T] | None = None
    sequence: Shape[T] | None = None
    mapping: Shape[T] | None = None

    def read(self, node: Node, report: Report) -> T:
        match node:
            case ScalarNode():
                shape = self.scalar
            case SequenceNode():
                shape = self.sequence
            case MappingNode():
                shape = self.mapping
        if shape is None or (isinstance(node, ScalarNode) and node.empty):
            found = "the value is missing" if _missing(node) else f"found {kind(node)}"
            raise report.refuse(node.mark, found, accepted=self.accepted)
        return shape.read(node, report)

    def schema(self) -> Schema:
        shapes = (self.scalar, self.sequence, self.mapping)
        return {"anyOf": [shape.schema() for shape in shapes if shape is not None]}


def _missing(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.empty


@dataclass(frozen=True, slots=True, eq=False)
class Made(Generic[T]):
    """A shape whose value is made into another one."""

    shape: Shape[Any]
    make: Callable[[Any], T]

    def read(self, node: Node, report: Report) -> T:
        return self.make(self.shape.read(node, report))

    def schema(self) -> Schema:
        return self.shape.schema()
