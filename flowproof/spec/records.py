"""Mappings with known keys: their fields, and the rules between the keys.

A `Field` is also the typed handle by which `Values` gives what was read. Counterpart: `shapes`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from flowproof.model.jsonvalue import JsonValue
from flowproof.spec.shapes import Schema, Shape
from flowproof.spec.source import Mark, Refused, Report, choices, listed, nearest, quoted
from flowproof.spec.yaml_nodes import Entry, MappingNode, Node, ScalarNode, kind

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Field(Generic[T_co]):
    """One key of a record. `later` names the feature where this version cannot run it yet; the
    key with its default asks for nothing."""

    key: str
    shape: Shape[T_co]
    doc: str
    required: bool = False
    default: JsonValue = None
    later: str = ""

    def is_default(self, value: object) -> bool:
        """Whether a value says no more than leaving the key out."""
        return self.default is not None and value == self.default

    def schema(self) -> Schema:
        """The shape's schema with what an editor shows."""
        shown: Schema = {"description": self.doc}
        if self.default is not None:
            shown["default"] = self.default
        return shown | self.shape.schema()


class Values:
    """What was read from a record; values that were refused are absent."""

    def __init__(
        self, mark: Mark, entries: Mapping[str, Entry], values: Mapping[str, object]
    ) -> None:
        self.mark = mark
        self._entries = entries
        self._values = values

    def has(self, field: Field[Any]) -> bool:
        """Whether the author wrote this key."""
        return field.key in self._entries

    def mark_of(self, field: Field[Any]) -> Mark:
        """Where the key stands; the start of the record where it was not written."""
        entry = self._entries.get(field.key)
        return entry.key.mark if entry else self.mark

    def node_of(self, field: Field[Any]) -> Node | None:
        """What the author wrote as the value; None where the key was not written."""
        entry = self._entries.get(field.key)
        return entry.value if entry else None

    @overload
    def get(self, field: Field[T]) -> T | None: ...
    @overload
    def get(self, field: Field[T], default: T) -> T: ...
    def get(self, field: Field[T], default: T | None = None) -> T | None:
        """The value of a field, or the default where it is absent."""
        return cast("T | None", self._values.get(field.key, default))

    def need(self, field: Field[T]) -> T:
        """The value of a required field.

        :raises Refused: where it is absent; that was noted when the record was read.
        """
        if field.key not in self._values:
            raise Refused(field.key)
        return cast("T", self._values[field.key])


class Rule(Protocol):
    """What must hold between the keys of a record."""

    def check(self, keys: Mapping[str, Mark], record: RecordPlace, report: Report) -> None:
        """Note what does not hold. `keys` are the known keys that were written."""

    def schema(self) -> Schema:
        """The same rule as a JSON Schema."""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The record that a rule speaks about. `meant` are keys that misspelt ones stand for."""

    title: str
    mark: Mark
    meant: Collection[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """Exactly one of these keys, or with `at_least` one or more of them."""

    keys: tuple[str, ...]
    at_least: bool = False

    def check(self, keys: Mapping[str, Mark], record: RecordPlace, report: Report) -> None:
        found = [key for key in keys if key in self.keys]
        count = "at least one" if self.at_least else "exactly one"
        wanted = f"{record.title} needs {count} of {choices(self.keys)}"
        if not found and not set(self.keys) & set(record.meant):
            report.note(record.mark, wanted)
        elif len(found) > 1 and not self.at_least:
            report.note(keys[found[1]], f"{wanted}, found {choices(found)}")

    def schema(self) -> Schema:
        options: list[JsonValue] = [{"required": [key]} for key in self.keys]
        return {"anyOf" if self.at_least else "oneOf": options}


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """Where `key` is written, `other` has to be written too; `because` goes into the message."""

    key: str
    other: str
    because: str = ""

    def check(self, keys: Mapping[str, Mark], record: RecordPlace, report: Report) -> None:
        if self.key in keys and self.other not in keys and self.other not in record.meant:
            reason = f": {self.because}" if self.because else ""
            report.note(keys[self.key], f"{quoted(self.key)} needs {quoted(self.other)}{reason}")

    def schema(self) -> Schema:
        return {"dependentRequired": {self.key: [self.other]}}


@dataclass(frozen=True, slots=True, eq=False)
class NeedsAny:
    """Where `key` is written, one of `others` has to be written too."""

    key: str
    others: tuple[str, ...]

    def check(self, keys: Mapping[str, Mark], record: RecordPlace, report: Report) -> None:
        if self.key in keys and not set(self.others) & {*keys, *record.meant}:
            report.note(keys[self.key], f"{quoted(self.key)} needs one of {choices(self.others)}")

    def schema(self) -> Schema:
        options: list[JsonValue] = [{"required": [other]} for other in self.others]
        return {"dependentSchemas": {self.key: {"anyOf": options}}}


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """These two keys exclude each other; `because` goes into the message."""

    left: str
    right: str
    because: str = ""

    def check(self, keys: Mapping[str, Mark], record: RecordPlace, report: Report) -> None:
        if self.left in keys and self.right in keys:
            reason = f": {self.because}" if self.because else ""
            report.note(
                max(keys[self.left], keys[self.right]),
                f"{quoted(self.left)} and {quoted(self.right)} exclude each other{reason}",
            )

    def schema(self) -> Schema:
        return {"not": {"required": [self.left, self.right]}}


@dataclass(frozen=True, slots=True, eq=False)
class Record(Generic[T]):
    """A mapping with known keys, made into a value of our own by `build`.

    `title` is how messages name it. `build` may note more problems, and may raise `Refused`.
    """

    title: str
    doc: str
    fields: tuple[Field[Any], ...]
    build: Callable[[Values, Report], T]
    rules: tuple[Rule, ...] = ()

    def read(self, node: Node, report: Report) -> T:
        keys = listed((field.key, bool(field.later)) for field in self.fields)
        if not isinstance(node, MappingNode):
            empty = isinstance(node, ScalarNode) and node.empty
            found = "the value is missing" if empty else f"found {kind(node)}"
            raise report.refuse(node.mark, found, accepted=f"a mapping with the keys {keys}")
        known = {field.key: field for field in self.fields}
        entries: dict[str, Entry] = {}
        values: dict[str, object] = {}
        meant: set[str] = set()
        for entry in node.entries:
            name = entry.key.text
            if name not in known:
                suggestion = nearest(name, known)
                meant.add(suggestion)
                report.note(
                    entry.key.mark,
                    f"{self.title} has no key {quoted(name)}",
                    accepted=keys,
                    suggestion=suggestion,
                )
                continue
            entries[name] = entry
            try:
                values[name] = known[name].shape.read(entry.value, report)
            except Refused:
                continue
            if known[name].later and not known[name].is_default(values[name]):
                report.later(known[name].later, entry.key.mark)
        marks = {name: entry.key.mark for name, entry in entries.items()}
        self._check(marks, RecordPlace(self.title, node.mark, meant), report)
        return self.build(Values(node.mark, entries, values), report)

    def _check(self, marks: Mapping[str, Mark], place: RecordPlace, report: Report) -> None:
        for field in self.fields:
            if field.required and field.key not in marks and field.key not in place.meant:
                report.note(place.mark, f"{self.title} lacks the key {quoted(field.key)}")
        for rule in self.rules:
            rule.check(marks, place, report)

    def schema(self) -> Schema:
        schema: Schema = {"type": "object", "description": self.doc}
        schema["properties"] = {field.key: field.schema() for field in self.fields}
        if required := [field.key for field in self.fields if field.required]:
            schema["required"] = list(required)
        schema["additionalProperties"] = False
        if self.rules:
            schema["allOf"] = [rule.schema() for rule in self.rules]
        return schema
