"""Serves recorded turns: each once, the earliest unconsumed equal one first.

Sans-I/O: `replaying_proxy` asks it, `divergence` explains what it does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowproof.boundary.divergence import Candidate, diagnose
from flowproof.dialects.interface import Dialect
from flowproof.model.equality import Equality
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Operation, Turn


@dataclass(frozen=True, slots=True)
class Taken:
    """A recorded turn that answers a request; `last` if no equal one is left after it."""

    turn: Turn
    last: bool


class Cassette:
    """The turns of one trace, being used up by one run.

    `view` maps a request to the part of it that the recording pins; the identity for a trace
    that pins everything.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        dialects: Mapping[str, Dialect],
        *,
        view: Callable[[Operation, JsonValue], JsonValue] = lambda _operation, body: body,
    ) -> None:
        self._turns = tuple(turns)
        self._dialects = dialects
        self._view = view
        self._pinned = tuple(view(turn.operation, turn.request) for turn in self._turns)
        self._equality = Equality()
        # Mutable, touched by `find`, `miss` and `refuse`: what this run has used and asked for.
        self._consumed: dict[int, None] = {}
        self._requests = 0
        self._divergence: Divergence | None = None

    @property
    def requests(self) -> int:
        """How many model requests arrived."""
        return self._requests

    @property
    def divergence(self) -> Divergence | None:
        """The first difference, None while there is none."""
        return self._divergence

    @property
    def consumed(self) -> tuple[Turn, ...]:
        """The turns served so far, in the order in which they were recorded."""
        return tuple(self._turns[index] for index in sorted(self._consumed))

    @property
    def unconsumed(self) -> tuple[int, ...]:
        """The numbers (from 1) of the turns that nobody asked for."""
        return tuple(i + 1 for i in range(len(self._turns)) if i not in self._consumed)

    def find(self, operation: Operation, pinned: JsonObject) -> Taken | None:
        """Use up the turn that answers a request; None if there is none, or after a divergence.

        What follows a divergence says nothing about the agent.
        """
        if self._divergence is not None:
            return None
        equal = self._equal(operation, self._view(operation, pinned))
        index = next(equal, None)
        if index is None:
            return None
        self._requests += 1
        self._consumed[index] = None
        return Taken(self._turns[index], last=next(equal, None) is None)

    def miss(self, operation: Operation, pinned: JsonObject) -> Divergence:
        """Count a request for which `find` has nothing, and say why; the first one fails the
        run, and later ones are told of it."""
        self._requests += 1
        if self._divergence is not None:
            return self._divergence
        candidates = [
            Candidate(index + 1, turn.operation, self._pinned[index], index in self._consumed)
            for index, turn in enumerate(self._turns)
        ]
        viewed = self._view(operation, pinned)
        return self.refuse(diagnose(operation, viewed, self._requests, candidates, self._dialects))

    def take(self, operation: Operation, pinned: JsonObject) -> Taken | Divergence:
        """The turn that answers a request, or why there is none."""
        return self.find(operation, pinned) or self.miss(operation, pinned)

    def _equal(self, operation: Operation, viewed: JsonValue) -> Iterator[int]:
        for index, turn in enumerate(self._turns):
            if index in self._consumed or turn.operation != operation:
                continue
            if self._equality.same(self._pinned[index], viewed):
                yield index

    def refuse(self, divergence: Divergence) -> Divergence:
        """Fail the run with this divergence, unless an earlier one already did."""
        self._divergence = self._divergence or divergence
        return self._divergence

    def reject(self, kind: str, message: str) -> Divergence:
        """Count a request that cannot be matched at all, and fail the run because of it."""
        self._requests += 1
        return self.refuse(Divergence(kind, message, self._requests))
