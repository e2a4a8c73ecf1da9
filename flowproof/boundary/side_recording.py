"""Collects the calls beside a conversation and decides which of their answers are kept.

Sans-I/O, as `recording` is for turns; `recording_proxy` reports to it, `side_calls` serves them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flowproof.boundary.recording import sharing
from flowproof.boundary.side_lookup import Lookup
from flowproof.dialects.side_endpoints import Policy, SideRoute
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.turn import Response, SideCall

_RECENT = 8
"""How many requests back a new one looks for parts to share: a count of tokens repeats the whole
conversation."""


@dataclass(slots=True, eq=False)
class SideExchange:
    """One request on its way. It ends with a `response`, or with a `failure`: a reason why no
    complete answer exists. `upstream` is the URL that it went to, without its query, `provider`
    whose it is."""

    number: int
    route: SideRoute
    body: JsonObject | None
    response: Response | None = None
    failure: str | None = None
    upstream: str = ""
    provider: str = ""

    @property
    def final(self) -> bool:
        """Whether the answer is one that no client asks for again."""
        status = 0 if self.response is None else self.response.status
        return 200 <= status < 500 and status != 429

    @property
    def succeeded(self) -> bool:
        """Whether the upstream did what it was asked to do."""
        return self.response is not None and self.response.status < 300


@dataclass(frozen=True, slots=True)
class SideRecorded:
    """The side calls of a recording, each request once, in the order of their first arrival; how
    many failures were left out because an equal request was answered; and what keeps the rest
    from being recorded. `exchanges` are those that the calls were made of."""

    calls: tuple[SideCall, ...]
    retries_dropped: int
    problems: tuple[str, ...]
    exchanges: tuple[SideExchange, ...]


@dataclass(slots=True)
class SideRecording:
    """All side requests of one run by what they ask for. `requests` counts them."""

    exchanges: list[SideExchange] = field(default_factory=list)
    requests: int = 0
    _equal: Lookup[list[SideExchange]] = field(default_factory=Lookup)

    def open(self, route: SideRoute, body: JsonObject | None) -> SideExchange:
        """Note a request that is about to be forwarded."""
        for old in reversed(self.exchanges[-_RECENT:]):
            if body is not None and old.body is not None:
                body = sharing(body, old.body)
        exchange = SideExchange(len(self.exchanges) + 1, route, body)
        self.requests += 1
        self.exchanges.append(exchange)
        if (equal := self._equal.get(route.operation, body)) is None:
            equal = []
            self._equal.add(route.operation, body, equal)
        equal.append(exchange)
        return exchange

    def answered(self, route: SideRoute, body: JsonObject | None) -> Response | None:
        """The answer that a replay would give, if it is known already: a pinned request is asked
        once, so that both phases tell the agent the same."""
        if route.endpoint.policy is not Policy.PINNED:
            return None
        equal = self._equal.get(route.operation, body) or ()
        found = next((one.response for one in equal if one.final), None)
        self.requests += found is not None
        return found

    @property
    def in_flight(self) -> int:
        """How many requests have neither an answer nor a failure yet."""
        return sum(e.response is None and e.failure is None for e in self.exchanges)

    def finish(self) -> SideRecorded:
        """One call for all equal requests, with the answer that a replay gives to them.

        A pinned one has its first answer that is not transient, a free one its latest success.
        Without any, the last transient answer is kept, or it is a problem where one is missing.
        """
        made: list[SideExchange] = []
        problems: list[str] = []
        dropped = 0
        for equal in self._equal:
            if (kept := _kept(equal)) is not None:
                dropped += sum(not one.final for one in equal)
                made.append(kept)
            elif failed := next((one for one in equal if one.response is None), None):
                reason = failed.failure or "it was still unanswered when the agent ended"
                name = failed.route.endpoint.name
                where = f" ({failed.upstream})" if failed.upstream else ""
                problems.append(
                    f"side call {failed.number} ({name}) has no answer: {reason}{where}"
                )
            else:
                made.append(equal[-1])
        return SideRecorded(tuple(map(_call, made)), dropped, tuple(problems), tuple(made))


def _kept(equal: list[SideExchange]) -> SideExchange | None:
    final = [one for one in equal if one.final]
    if not final or final[0].route.endpoint.policy is Policy.PINNED:
        return final[0] if final else None
    return next((one for one in reversed(final) if one.succeeded), final[-1])


def _call(exchange: SideExchange) -> SideCall:
    assert exchange.response is not None
    route = exchange.route
    return SideCall(route.operation, route.endpoint.method, exchange.body, exchange.response)
