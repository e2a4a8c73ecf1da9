"""Collects what crossed the model boundary and decides what of it makes a recording.

Sans-I/O: `recording_proxy` reports to it; `cassette` serves what came of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from flowproof.model.turn import Operation, Response, Turn

_RECENT = 8
"""How many requests back a new one looks for parts to share: as many as agents that take turns
in one run."""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request on its way. It ends with a `response`, or with a `failure`: a reason why no
    complete answer exists. With neither it is still in flight. `broken` marks a response in
    which the upstream reported an error though its status is one of success, `left` that its
    client had gone before it was told. `unread` says what of it flowproof does not understand,
    though a client may. `upstream` is the URL that it went to, without its query, `provider`
    whose it is."""

    number: int
    operation: Operation
    request: JsonObject
    mocked: tuple[str, ...]
    streamed: bool
    response: Response | None = None
    failure: str | None = None
    broken: bool = False
    left: bool = False
    unread: str | None = None
    upstream: str = ""
    provider: str = ""

    @property
    def transient(self) -> bool:
        """Whether a client may try again: 429, a server error, or no complete answer."""
        if self.response is None or self.broken or self.left:
            return True
        return self.response.status == 429 or self.response.status >= 500

    @property
    def succeeded(self) -> bool:
        """Whether the upstream did what it was asked to do, and the client was told."""
        if self.response is None or self.broken or self.left:
            return False
        return self.response.status < 300


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording holds: its turns in the order of their requests, how many transient
    failures were left out because a retry succeeded, and what keeps it from being one."""

    turns: tuple[Turn, ...]
    retries_dropped: int
    problems: tuple[str, ...]


@dataclass(slots=True)
class Recording:
    """All exchanges of one run, in order of arrival."""

    exchanges: list[Exchange] = field(default_factory=list)

    def open(
        self, operation: Operation, request: JsonObject, mocked: tuple[str, ...], streamed: bool
    ) -> Exchange:
        """Note a request that is about to be forwarded."""
        for old in reversed(self.exchanges[-_RECENT:]):
            request = sharing(request, old.request)
        exchange = Exchange(
            number=len(self.exchanges) + 1,
            operation=operation,
            request=request,
            mocked=mocked,
            streamed=streamed,
        )
        self.exchanges.append(exchange)
        return exchange

    @property
    def in_flight(self) -> int:
        """How many requests have neither an answer nor a failure yet."""
        return sum(e.response is None and e.failure is None for e in self.exchanges)

    def finish(self, *, keep_retries: bool) -> Recorded:
        """Turn the exchanges into turns. A transient failure is dropped if an equal request
        later succeeded; one that nobody retried is a turn, or a problem where no complete
        answer exists. `keep_retries` keeps every complete answer."""
        turns: list[Turn] = []
        problems: list[str] = []
        dropped = 0
        for exchange in self.exchanges:
            where = f" ({exchange.upstream})" if exchange.upstream else ""
            if exchange.unread is not None:
                problems.append(
                    f"model request {exchange.number} cannot be recorded: {exchange.unread}{where}"
                )
            elif exchange.transient and self._dropped(exchange, keep_retries=keep_retries):
                dropped += 1
            elif exchange.response is None:
                reason = exchange.failure or "it was still unanswered when the agent ended"
                problems.append(f"model request {exchange.number} has no answer: {reason}{where}")
            else:
                turns.append(_turn(exchange, exchange.response))
        return Recorded(tuple(turns), dropped, tuple(problems))

    def _dropped(self, failed: Exchange, *, keep_retries: bool) -> bool:
        """Whether a transient failure is left out."""
        return self.made_good(failed) and (failed.response is None or not keep_retries)

    def made_good(self, failed: Exchange) -> bool:
        """Whether an equal request succeeded later."""
        return any(
            later.succeeded
            and later.operation == failed.operation
            and same(later.request, failed.request)
            for later in self.exchanges[failed.number :]
        )


def _turn(exchange: Exchange, response: Response) -> Turn:
    return Turn(
        operation=exchange.operation,
        request=exchange.request,
        response=response,
        streamed=exchange.streamed,
        mocked=exchange.mocked,
    )


def sharing(new: JsonObject, old: JsonObject) -> JsonObject:
    """`new`, reusing the parts of `old` that are the same.

    Each request repeats the conversation so far; without sharing, memory would grow with the
    square of its length.
    """
    return {key: _shared(value, old.get(key)) for key, value in new.items()}


def _shared(new: JsonValue, old: JsonValue) -> JsonValue:
    if isinstance(new, list) and isinstance(old, list):
        kept = _common_prefix(new, old)
        return [*old[:kept], *new[kept:]]
    return old if same(new, old) else new


def _common_prefix(new: Sequence[JsonValue], old: Sequence[JsonValue]) -> int:
    for index, (left, right) in enumerate(zip(new, old, strict=False)):
        if not same(left, right):
            return index
    return min(len(new), len(old))
