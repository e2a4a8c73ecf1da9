"""Objects that arrive in pieces, as streams of model APIs send them, put together again.

Each dialect says by key how its pieces join; whatever a later piece overwrites is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from flowproof.dialects.open_json import OpenJson
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


Another: TypeAlias = "Callable[[MergedObject, JsonObject, bool], bool]"
"""`(entry so far, piece with its number, both of one list) → whether the piece begins another`."""


def _never(_held: MergedObject, _piece: JsonObject, _together: bool) -> bool:
    return False


class _Text:
    """A string in pieces; joined only where it must be, so that many small pieces stay cheap."""

    __slots__ = ("_length", "_open", "_pieces", "_watched")

    def __init__(self, first: str) -> None:
        self._pieces = [first]
        self._length = len(first)
        # Mutable: what is known of the JSON in the first so many pieces.
        self._open = OpenJson()
        self._watched = 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def equals(self, text: str) -> bool:
        return len(text) == self._length and self.text() == text

    def text(self) -> str:
        return "".join(self._pieces)

    def ended(self) -> bool:
        for piece in self._pieces[self._watched :]:
            self._open.feed(piece)
        self._watched = len(self._pieces)
        return self._open.ended


class MergedObject:
    """One JSON object out of pieces. `rules` and `another` also hold for the objects inside it."""

    __slots__ = ("_another", "_fields", "_overwritten", "_rules")

    def __init__(self, rules: Rules, another: Another = _never) -> None:
        self._rules = rules
        self._another = another
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

    def inner(self, key: str) -> MergedObject | None:
        """The object under a key so far; None where there is none."""
        node = self._fields.get(key)
        return node if isinstance(node, MergedObject) else None

    def holds(self, key: str) -> bool:
        """Whether anything that says something came under a key."""
        node = self._fields.get(key)
        return node is not None and node != ""

    def equals(self, key: str, text: str) -> bool:
        """Whether the value under a key is this text so far."""
        node = self._fields.get(key)
        return node.equals(text) if isinstance(node, _Text) else node == text

    def ended(self, key: str) -> bool:
        """Whether the value under a key is whole by itself: a text, once the JSON in it is."""
        node = self._fields.get(key)
        return node.ended() if isinstance(node, _Text) else self.holds(key)

    def _merged(self, rule: Rule, held: _Node, value: JsonValue) -> _Node:
        if isinstance(held, _Text) and isinstance(value, str):
            if rule is Rule.JOIN or not held.equals(value):
                held.add(value)
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
                merged = MergedObject(self._rules, self._another)
                merged.add(value)
                return merged
            case list() if rule is not Rule.LAST:
                entries = _List(self._rules, self._another, joins=rule is not Rule.MERGE)
                entries.add(value)
                return entries
            case _:
                return value


class _List:
    """A list out of pieces: entries that number themselves merge, others are appended.

    Two numbered entries with the same number and different ids are two entries: some gateways
    give every parallel tool call the number 0. What else tells two apart, `another` says.
    """

    __slots__ = ("_another", "_joins", "_latest", "_numbered", "_plain", "_rules", "_unclear")

    def __init__(self, rules: Rules, another: Another, *, joins: bool) -> None:
        self._rules = rules
        self._another = another
        self._joins = joins
        self._numbered: list[tuple[int, MergedObject]] = []
        self._latest: dict[int, MergedObject] = {}
        self._plain: list[JsonValue] = []
        self._unclear = False

    def add(self, piece: list[JsonValue]) -> None:
        plain: list[JsonValue] = []
        numbers: set[int] = set()
        for entry in piece:
            number = entry.get("index") if isinstance(entry, dict) else None
            if isinstance(entry, dict) and isinstance(number, int) and type(number) is int:
                self._numbered_entry(number, entry, number in numbers).add(entry)
                numbers.add(number)
            else:
                plain.append(entry)
        # A second list may continue the first or repeat it, unless the rule says which.
        self._unclear |= bool(plain) and (
            bool(self._numbered) or (bool(self._plain) and not self._joins)
        )
        self._plain += plain

    def _numbered_entry(self, number: int, entry: JsonObject, together: bool) -> MergedObject:
        held = self._latest.get(number)
        if held is not None:
            given = entry.get("id")
            if isinstance(given, str) and given and held.holds("id"):
                apart = not held.equals("id", given)
            else:
                apart = self._another(held, entry, together)
            if not apart:
                return held
            self._unclear = True
        fresh = self._latest[number] = MergedObject(self._rules, self._another)
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
