"""Compares requests with recorded ones as exactly as `jsonvalue.same` does, and much faster.

A recording is asked for each request of an agent; every request repeats the whole conversation.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.model.jsonvalue import JsonValue, NumberText, same


class Equality:
    """Python's `==` runs in C and errs only where `1`, `1.0` and `true` meet.

    So it decides alone for all parts that hold neither number nor boolean, and which recorded
    parts those are is found out once: they are recognised by identity, and must not change.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[JsonValue, bool]] = {}

    def same(self, recorded: JsonValue, other: JsonValue) -> bool:
        """Whether both are the same JSON value."""
        if recorded != other:
            return False
        return all(
            self._unmistakable(old) or same(old, new) for old, new in _parts(recorded, other)
        )

    def _unmistakable(self, value: JsonValue) -> bool:
        if not isinstance(value, dict | list):
            return _textual(value)
        known = self._known.get(id(value))
        if known is None:
            # Holding the value keeps its identity from being given to another one.
            known = self._known[id(value)] = (value, _textual(value))
        return known[1]


def _parts(left: JsonValue, right: JsonValue) -> Iterator[tuple[JsonValue, JsonValue]]:
    """The members of two equal objects, and the elements of lists among them, pair by pair."""
    if not (isinstance(left, dict) and isinstance(right, dict)):
        yield left, right
        return
    for key, old in left.items():
        new = right[key]
        if isinstance(old, list) and isinstance(new, list):
            yield from zip(old, new, strict=True)
        else:
            yield old, new


def _textual(value: JsonValue) -> bool:
    """Whether a value holds only texts and nulls, of which Python confuses none."""
    match value:
        case dict():
            return all(map(_textual, value.values()))
        case list():
            return all(map(_textual, value))
        case _:
            return value is None or isinstance(value, str | NumberText)
