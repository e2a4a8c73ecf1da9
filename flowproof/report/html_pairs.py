"""Which result belongs to which tool call: `html_conversation` shows the two together.

A result comes with a later request, after as many other messages as the agent likes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flowproof.model.trajectory import Message, TurnView

_LOOK_BACK = 8
"""How many turns before a result its call may be; agents answer in the next."""


class Place(NamedTuple):
    """A message of a turn by its number among those added and then the answers, from 0; or one of
    its calls."""

    turn: int
    message: int
    call: int = -1


@dataclass(frozen=True, slots=True)
class Result:
    """A tool result with the place of its `call`, and the one where it was `told`. It is `mocked`
    if the flow's author wrote it."""

    call: Place
    told: Place
    message: Message
    mocked: bool


class _Calls:
    """The calls of one turn that have no result yet."""

    def __init__(self) -> None:
        self._by_id: dict[str, deque[Place]] = {}
        self._by_name: dict[str, deque[Place]] = {}

    def add(self, turn: TurnView, at: int, message: Message) -> None:
        for number, call in enumerate(message.tool_calls):
            if call.served:
                continue
            known = self._by_name if call.id is None else self._by_id
            key = call.name if call.id is None else call.id
            known.setdefault(key, deque()).append(Place(turn.number, at, number))

    def take(self, message: Message) -> Place | None:
        """The call that a result is of: by its id, or without one the earliest of that tool."""
        if message.call_id is not None and (found := self._by_id.get(message.call_id)):
            return found.popleft()
        if message.tool is not None and (found := self._by_name.get(message.tool)):
            return found.popleft()
        return None


def paired(turns: Iterable[TurnView]) -> Mapping[Place, Result]:
    """The results by the places of their calls, and again by those where they were told.

    Of several results of one call the first counts: the others stand alone.
    """
    found: dict[Place, Result] = {}
    calls: dict[int, _Calls] = {}
    known: dict[int, TurnView] = {}
    for turn in turns:
        own = calls[turn.number] = _Calls()
        known[turn.number] = turn
        repeated = sent_back(turn, None if turn.base is None else known.get(turn.base))
        for at, message in enumerate(turn.added):
            if message.role == "assistant" and at not in repeated:
                own.add(turn, at, message)
            elif message.role == "tool":
                told = Place(turn.number, at)
                earlier = _chain(turn, known)
                taken = (calls[number].take(message) for number in earlier)
                if (call := next((place for place in taken if place), None)) is not None:
                    mocked = message.tool in turn.mocked
                    found[call] = found[told] = Result(call, told, message, mocked)
        for at, answer in enumerate(turn.answers, len(turn.added)):
            own.add(turn, at, answer)
    return found


def sent_back(turn: TurnView, base: TurnView | None) -> Container[int]:
    """Which added messages are only the answer of `base`, by their numbers from 0: agents send it
    back to the model, and showing it twice would only tire."""
    if base is None:
        return ()
    answered = {_said(answer) for answer in base.answers}
    return {
        at
        for at, message in enumerate(turn.added)
        if message.role == "assistant" and _said(message) in answered
    }


def _said(message: Message) -> tuple[str, tuple[tuple[str | None, str, str], ...]]:
    # An API may show what it ran beside its answer, where agents do not send it back.
    calls = tuple((call.id, call.name, call.text) for call in message.asks)
    return message.text or "", calls


def _chain(turn: TurnView, known: Mapping[int, TurnView]) -> Sequence[int]:
    """The numbers of a turn and of those that it continues, the nearest first."""
    chain = [turn.number]
    while turn.continues and turn.base is not None and len(chain) < _LOOK_BACK:
        if (base := known.get(turn.base)) is None:
            break
        turn = base
        chain.append(turn.number)
    return chain
