"""A JSON value with its path in the file, read piece by piece with exact complaints.

`decode` and `legacy` are made of it; a validation library would cost every replay 100 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.model.jsonvalue import JsonValue


class Defect(ValueError):
    """What is wrong in the file, in words for the person who has to mend it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands, such as `$.turns[3].response`."""

    value: JsonValue
    path: str

    def defect(self, reason: str) -> Defect:
        """A complaint about this value."""
        return Defect(f"{self.path}: {reason}")

    def members(self, required: str, optional: str = "") -> dict[str, Node]:
        """The members of an object; the names come as words separated by blanks.

        :raises Defect: if it is not an object, lacks a required key or has one not listed.
        """
        found = self.entries()
        known = required.split()
        if missing := [key for key in known if key not in found]:
            raise self.defect(f"the key `{missing[0]}` is missing")
        known += optional.split()
        if unknown := [key for key in found if key not in known]:
            raise self.defect(f"unknown key `{unknown[0][:80]}`; known are {', '.join(known)}")
        return found

    def entries(self) -> dict[str, Node]:
        """The members of an object, whatever their keys."""
        if not isinstance(self.value, dict):
            raise self._unlike("an object")
        return {key: Node(value, f"{self.path}.{key[:80]}") for key, value in self.value.items()}

    def items(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self._unlike("a list")
        return [Node(value, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self._unlike("a string")
        return self.value

    def count(self) -> int:
        """A whole number of at least 0."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise self._unlike("a whole number of at least 0")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self._unlike("true or false")
        return self.value

    def _unlike(self, expected: str) -> Defect:
        return self.defect(f"expected {expected}, found {_kind(self.value)}")


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "a string"
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() if abs(value) < 10**12:
            return f"the number {value}"
        case _:
            return "another number"
