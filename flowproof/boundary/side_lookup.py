"""Finds what belongs to a side request among many, whatever they are like.

`side_calls` and `side_recording` keep theirs in it. Counts of tokens repeat a conversation that
grows, so no request is ever written out or compared as a whole with more than a few others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from flowproof.model.equality import Equality
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.turn import Operation

T = TypeVar("T")

_DEPTH = 8
_WIDTH = 64
"""Members of an object that are looked at; no request of a model API has as many."""


class Lookup(Generic[T]):
    """Values by operation and body, in the order in which they were added. Two bodies are equal
    if they are the same JSON value; one that was added must not be changed."""

    def __init__(self) -> None:
        self._found: dict[Hashable, list[tuple[JsonValue, T]]] = {}
        self._values: list[T] = []
        self._equality = Equality()

    def get(self, operation: Operation, body: JsonValue) -> T | None:
        """The value of an equal request, None if there is none."""
        for known, value in self._found.get((operation, _shape(body, _DEPTH)), ()):
            if self._equality.same(known, body):
                return value
        return None

    def add(self, operation: Operation, body: JsonValue, value: T) -> None:
        """Add the value of a request for which there is none yet."""
        self._found.setdefault((operation, _shape(body, _DEPTH)), []).append((body, value))
        self._values.append(value)

    def __iter__(self) -> Iterator[T]:
        return iter(self._values)


def _shape(value: JsonValue, depth: int) -> Hashable:
    """What equal values have in common and different ones mostly not: of a list its length and
    its end, where a conversation differs from what it was before."""
    match value:
        case dict() if depth and len(value) <= _WIDTH:
            return frozenset((key, _shape(item, depth - 1)) for key, item in value.items())
        case list() if depth and value:
            return len(value), _shape(value[-1], depth - 1)
        case dict() | list():
            return len(value)
        case _:
            return value
