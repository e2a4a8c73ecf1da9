"""What streams say in pieces: joined into one object, and compared whatever the pieces were.

For APIs whose every piece says which members go on; `merging` is for those that nest them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from flowproof.model.jsonvalue import JsonObject, JsonValue, same

Piece: TypeAlias = "str | list[JsonValue]"


class Members(NamedTuple):
    """The members of an object that come in pieces: strings under `texts`, lists under `lists`."""

    texts: frozenset[str]
    lists: frozenset[str]

    def piece(self, key: str, value: JsonValue) -> Piece | None:
        """The value of a member as a piece of it, None where it is none."""
        match value:
            case str() if key in self.texts:
                return value
            case list() if key in self.lists:
                return value
            case _:
                return None

    def apart(self, value: JsonObject) -> tuple[JsonObject, dict[str, Piece]]:
        """An object without the pieces that say something, and those."""
        pieces = {key: self.piece(key, member) for key, member in value.items()}
        said = {key: piece for key, piece in pieces.items() if piece}
        return {key: member for key, member in value.items() if key not in said}, said


class Joined:
    """One object out of pieces; of a member that does not come in pieces the last value counts,
    and null never replaces one."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[JsonValue]] = {}
        self._others: JsonObject = {}

    def add(self, value: JsonObject) -> None:
        """Take the next piece."""
        for key, member in value.items():
            match self._members.piece(key, member):
                case str() as text:
                    self._texts.setdefault(key, []).append(text)
                case list() as entries:
                    self._lists.setdefault(key, []).extend(entries)
                case _ if member is not None or key not in self._others:
                    self._others[key] = member
                case _:
                    pass

    def value(self) -> JsonObject:
        """What the pieces amount to.

        Where one is not of the kind that the others are, it is the value: what it says cannot
        be told, and must not look as if it had not been said.
        """
        joined: JsonObject = {key: "".join(texts) for key, texts in self._texts.items()}
        joined |= self._lists
        odd = {key: other for key, other in self._others.items() if other is not None}
        return self._others | joined | odd


class _Step(NamedTuple):
    around: JsonObject
    texts: dict[str, list[str]]
    lists: dict[str, list[JsonValue]]

    def goes_on(self, around: JsonObject, said: Mapping[str, Piece]) -> bool:
        """Whether what comes next is more of this step."""
        if not 0 < len(said) == len(self.texts) + len(self.lists):
            return False
        for key, piece in said.items():
            if key not in (self.texts if isinstance(piece, str) else self.lists):
                return False
        return same(around, self.around)

    def add(self, said: Mapping[str, Piece]) -> None:
        for key, piece in said.items():
            if isinstance(piece, str):
                self.texts.setdefault(key, []).append(piece)
            else:
                self.lists.setdefault(key, []).extend(piece)

    def said(self) -> JsonObject:
        """The pieces, joined."""
        joined: JsonObject = {key: "".join(pieces) for key, pieces in self.texts.items()}
        return joined | self.lists


class Told:
    """What a stream said, step by step. How a step was cut into pieces makes no difference."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []

    def add(self, around: JsonObject, said: Mapping[str, Piece]) -> None:
        """The next pieces, with what stands around them; they go on with the step before if that
        had pieces of the same members with the same around them."""
        if not (self._steps and self._steps[-1].goes_on(around, said)):
            self._steps.append(_Step(around, {}, {}))
        self._steps[-1].add(said)

    def same_as(self, other: Told, alike: Callable[[JsonObject, JsonObject], bool] = same) -> bool:
        """Whether two streams said the same; `alike` compares what stands around the pieces."""
        return len(self._steps) == len(other._steps) and all(
            same(step.said(), made.said()) and alike(step.around, made.around)
            for step, made in zip(self._steps, other._steps, strict=True)
        )
