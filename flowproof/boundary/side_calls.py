"""Serves recorded side calls: each any number of times, and none that was not recorded.

Sans-I/O, as `cassette` is for turns; `side_recording` collects what it serves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowproof.boundary.change import Change, Difference, explained, first_change
from flowproof.boundary.divergence import difference
from flowproof.boundary.side_lookup import Lookup
from flowproof.boundary.similarity import Sample, sample, similarity
from flowproof.dialects.registry import by_name
from flowproof.dialects.side_endpoints import SIDE_ENDPOINTS, Policy, SideRoute
from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Operation, SideCall
from flowproof.model.visible import member_path, visible

_NEAREST_OF = 200
"""How many recorded calls are compared in search of the nearest."""
_SHOWN = 200
_MODEL = re.compile(r"/(?:models|tunedModels|deployments)/([^/:?]+)")
_COUNTED = {
    "anthropic.count_tokens": "anthropic.messages",
    "google.count_tokens": "google.generate",
    "openai.count_tokens": "openai.responses",
}
"""Whose requests these endpoints are sent, so that a change is called what it is in a turn."""


class SideCalls:
    """The side calls of one trace, being asked for by one run."""

    def __init__(self, calls: Sequence[SideCall]) -> None:
        self._calls = tuple(calls)
        self._at: Lookup[int] = Lookup()
        for index, call in enumerate(self._calls):
            if self._at.get(call.operation, call.request) is None:
                self._at.add(call.operation, call.request, index)
        # Mutable, touched by `find`, `miss` and `count`: what this run has asked for.
        self._served: dict[int, None] = {}
        self.requests = 0

    def count(self) -> int:
        """Note a request; its ordinal from 1."""
        self.requests += 1
        return self.requests

    def find(self, route: SideRoute, body: JsonObject | None) -> SideCall | None:
        """The recorded call that answers a request; None if there is none."""
        index = self._at.get(route.operation, body)
        if index is None:
            return None
        self.count()
        self._served[index] = None
        return self._calls[index]

    def miss(self, route: SideRoute, body: JsonObject | None) -> Divergence:
        """Count a request for which `find` has nothing, and say why."""
        number, operation = self.count(), route.operation
        name = operation.dialect
        subject = f"side call {number} ({name})"
        candidates = [
            (index, call)
            for index, call in enumerate(self._calls)
            if call.operation.dialect == name
        ]
        if not candidates:
            shown = visible(operation.path[:_SHOWN])
            message = f"{subject} asks for {shown}, and the recording holds no call of that kind"
            return Divergence("side call", message, number)
        # Where several are as near, one that this run has not asked for yet is the one meant.
        candidates.sort(key=lambda pair: pair[0] in self._served)
        sent = sample(body)
        nearest, recorded = min(
            candidates[:_NEAREST_OF], key=lambda pair: _distance(pair[1], operation, body, sent)
        )
        which = f"recorded side call {nearest + 1}"
        if len(candidates) == 1:
            subject = f"{subject} differs from {which}"
        else:
            subject = (
                f"{subject} is not among the {len(candidates)} recorded, and differs from {which}, "
                "the nearest,"
            )
        return explained(subject, _difference(recorded, operation, body), request=number)

    @property
    def served(self) -> tuple[SideCall, ...]:
        """The calls asked for so far, in the order in which they were recorded."""
        return tuple(self._calls[index] for index in sorted(self._served))

    @property
    def missing(self) -> tuple[str, ...]:
        """The pinned calls that nobody asked for, by number (from 1) and name."""
        return tuple(
            f"{index + 1} ({self._calls[index].operation.dialect})"
            for index in self._at
            if index not in self._served
            and SIDE_ENDPOINTS[self._calls[index].operation.dialect].policy is Policy.PINNED
        )


def _distance(
    call: SideCall, operation: Operation, body: JsonObject | None, sent: Sample
) -> tuple[int, float]:
    """How much a request differs from a recorded one: a path weighs more than a member, and of
    those that differ in as many members the one that says the most similar things is nearer."""
    members = 3 * (call.operation != operation) + len(_changed(call.request, body))
    return members, -similarity(sample(call.request), sent)


def _changed(recorded: JsonValue, sent: JsonValue) -> list[str]:
    """The members in which two bodies differ, in recorded order."""
    old = recorded if isinstance(recorded, dict) else {}
    new = sent if isinstance(sent, dict) else {}
    names = [*old, *(name for name in new if name not in old)]
    return [
        name for name in names if not (name in old and name in new and same(old[name], new[name]))
    ]


def _difference(call: SideCall, operation: Operation, body: JsonObject | None) -> Difference:
    members = _changed(call.request, body)
    places = [member_path("$", name) for name in members]
    if call.operation != operation:
        paths = call.operation.path, operation.path
        models = _only_model(*paths)
        kind = "path" if models is None else "model"
        return Difference(kind, Change("the request path", *(models or paths)), also=places)
    counted = _COUNTED.get(operation.dialect)
    if counted and members and isinstance(call.request, dict) and body is not None:
        return difference(by_name(counted), call.request, body)
    change = first_change("$", call.request, body)
    return Difference(members[0] if members else "body", change, also=places[1:])


def _only_model(recorded: str, sent: str) -> tuple[str, str] | None:
    """The models that two paths name, if they differ in nothing else."""
    old, new = _MODEL.search(recorded), _MODEL.search(sent)
    if old is None or new is None:
        return None
    rest = [
        path[: found.start(1)] + path[found.end(1) :]
        for path, found in ((recorded, old), (sent, new))
    ]
    return (old[1], new[1]) if rest[0] == rest[1] else None
