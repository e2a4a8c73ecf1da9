"""Objects that arrive in pieces, as streams of model APIs send them, put together again.

Each dialect says by key how its pieces join; whatever a later piece overwrites is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from flowproof.model.jsonvalue import JsonObject, JsonValue, same


class Rule(Enum):
    """How the values that successive pieces give one key become one value.

    Null and the empty string say nothing: they never replace a value.
    """

    LAST = "last"
    """The last value, whole."""
    MERGE = "merge"
    """Objects key by key, lists entry by entry; anything else as `LAST`."""
    JOIN = "join"
    """As `MERGE`, and strings and lists are pieces of one string or list."""
    ONCE = "once"
    """As `JOIN`, but a string that comes again unchanged is not a new piece."""


Rules: TypeAlias = Callable[[str], Rule]


class _Text:
    """A string in pieces; joined once, so that many small pieces stay cheap."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]

    def text(self) -> str:
        return "".join(self.pieces)


class MergedObject:
    """One JSON object out of pieces. `rules` also holds for the objects inside it."""

    __slots__ = ("_fields", "_overwritten", "_rules")

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._fields: dict[str, _Node] = {}
        self._overwritten = False

    def add(self, piece: JsonObject) -> None:
        """Take the next piece; it is not changed, but may become part of the value."""
        for key, value in piece.items():
            self._fields[key] = self._merged(self._rules(key), self._fields.get(key), value)

    def value(self) -> JsonObject:
        """What the pieces amount to, keys in the order in which they came."""
        return {key: _value(node) for key, node in self._fields.items()}

    @property
    def lossy(self) -> bool:
        """Whether a piece overwrote another value, here or further inside."""
        return self._overwritten or any(
            node.lossy for node in self._fields.values() if isinstance(node, MergedObject | _List)
        )

    def text(self, key: str) -> str:
        """The string under a key so far; empty where there is none."""
        node = self._fields.get(key)
        text = node.text() if isinstance(node, _Text) else node
        return text if isinstance(text, str) else ""

    def _merged(self, rule: Rule, held: _Node, value: JsonValue) -> _Node:
        if isinstance(held, _Text) and isinstance(value, str):
            if rule is Rule.JOIN or value != held.text():
                held.pieces.append(value)
            return held
        if isinstance(held, MergedObject) and isinstance(value, dict):
            held.add(value)
            return held
        if isinstance(held, _List) and isinstance(value, list):
            held.add(value)
            return held
        if value is None or value == "":
            return value if held is None else held
        fresh = self._fresh(rule, value)
        if held is not None and held != "":
            comparable = not isinstance(held, _Text | _List | MergedObject)
            self._overwritten |= not (comparable and same(_value(held), value))
        return fresh

    def _fresh(self, rule: Rule, value: JsonValue) -> _Node:
        match value:
            case str() if rule in (Rule.JOIN, Rule.ONCE):
                return _Text(value)
            case dict() if rule is not Rule.LAST:
                merged = MergedObject(self._rules)
                merged.add(value)
                return merged
            case list() if rule is not Rule.LAST:
                entries = _List(self._rules, joins=rule is not Rule.MERGE)
                entries.add(value)
                return entries
            case _:
                return value


class _List:
    """A list out of pieces: entries that number themselves merge, others are appended.

    Two numbered entries with the same number and different ids are two entries: some gateways
    give every parallel tool call the number 0.
    """

    __slots__ = ("_joins", "_latest", "_numbered", "_plain", "_rules", "_unclear")

    def __init__(self, rules: Rules, *, joins: bool) -> None:
        self._rules = rules
        self._joins = joins
        self._numbered: list[tuple[int, MergedObject]] = []
        self._latest: dict[int, MergedObject] = {}
        self._plain: list[JsonValue] = []
        self._unclear = False

    def add(self, piece: list[JsonValue]) -> None:
        plain: list[JsonValue] = []
        for entry in piece:
            number = entry.get("index") if isinstance(entry, dict) else None
            if isinstance(entry, dict) and isinstance(number, int) and type(number) is int:
                self._numbered_entry(number, entry).add(entry)
            else:
                plain.append(entry)
        # A second list may continue the first or repeat it, unless the rule says which.
        self._unclear |= bool(plain) and (
            bool(self._numbered) or (bool(self._plain) and not self._joins)
        )
        self._plain += plain

    def _numbered_entry(self, number: int, entry: JsonObject) -> MergedObject:
        held = self._latest.get(number)
        if held is not None:
            known, given = held.text("id"), entry.get("id")
            if not (known and isinstance(given, str) and given and given != known):
                return held
            self._unclear = True
        fresh = self._latest[number] = MergedObject(self._rules)
        self._numbered.append((number, fresh))
        return fresh

    def value(self) -> list[JsonValue]:
        numbered = sorted(self._numbered, key=lambda pair: pair[0])
        return [*(merged.value() for _, merged in numbered), *self._plain]

    @property
    def lossy(self) -> bool:
        return self._unclear or any(merged.lossy for _, merged in self._numbered)


_Node: TypeAlias = "JsonValue | _Text | _List | MergedObject"


def _value(node: _Node) -> JsonValue:
    match node:
        case _Text():
            return node.text()
        case _List() | MergedObject():
            return node.value()
        case _:
            return node
