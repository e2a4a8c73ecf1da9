"""What the model of a test says, whichever API it is asked through; the files beside this speak it.

They are written from the providers' documentation and share nothing with flowproof's dialects.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.support.upstream import Script

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Say:
    """Text for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, where an API shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A wish to have a tool called."""

    name: str
    arguments: Mapping[str, Json]

    def written(self) -> str:
        """The arguments as a text, for the APIs that send one."""
        return json.dumps(self.arguments)


Part: TypeAlias = Say | Think | Call


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. `number` counts from 1 and makes its ids unique in a conversation."""

    number: int
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """All that is said, in one piece."""
        return "".join(part.text for part in self.parts if isinstance(part, Say))

    @property
    def thoughts(self) -> str:
        """All that is thought, in one piece."""
        return "".join(part.text for part in self.parts if isinstance(part, Think))

    @property
    def calls(self) -> list[tuple[str, Call]]:
        """The calls, each with an id."""
        made = [part for part in self.parts if isinstance(part, Call)]
        return [(f"{self.number}{index}", call) for index, call in enumerate(made)]


class RefusedError(Exception):
    """A request that a real endpoint refuses. `code` is what it gives programs to tell why."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


class Model:
    """The script being spoken, one turn per request, by however many APIs.

    `issued` has what a client may only send back as it got it, such as the ids of answers.
    """

    def __init__(self, turns: Sequence[Sequence[Part]]) -> None:
        self._turns = [Turn(number, tuple(parts)) for number, parts in enumerate(turns, 1)]
        self._lock = threading.Lock()
        self.issued: set[str] = set()

    def next(self) -> Turn:
        """The next turn.

        :raises RefusedError: if the script has ended.
        """
        with self._lock:
            if not self._turns:
                raise RefusedError(400, "the script has ended: nobody expects this request")
            return self._turns.pop(0)


@dataclass(frozen=True, slots=True)
class Request:
    """What an endpoint is asked. `path` is without the query; header names are lower case."""

    path: str
    query: str
    headers: Mapping[str, str]
    body: Mapping[str, Json] = field(default_factory=dict)


Refusal: TypeAlias = Callable[[RefusedError], Json]


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint of an API. `needs` are the members and headers without which it refuses;
    `refusal` writes the body that says so."""

    method: str
    path: re.Pattern[str]
    answer: Callable[[Request, Model], Script]
    refusal: Refusal
    needs: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    keyed: bool = True


def halves(text: str) -> list[str]:
    """A text in the pieces in which it is streamed."""
    middle = (len(text) + 1) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
