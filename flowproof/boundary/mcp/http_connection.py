"""One connection of the agent over HTTP: carries out what its session says.

A connection is a session of the protocol, or, in the version without sessions, one client.
`http_sessions` finds the one that a request belongs to.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from flowproof.boundary.mcp.http_posted import Posted
from flowproof.boundary.mcp.http_streams import Exchange, Outlet
from flowproof.boundary.mcp.interface import Command, Hang, Session, ToAgent, ToServer
from flowproof.boundary.mcp.jsonrpc import key
from flowproof.boundary.mcp.lanes import LISTEN
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.mcp import RequestId

_STREAMS_KEPT = 100
_PROBE = "server/discover"


@dataclass(frozen=True, slots=True)
class Done:
    """What is left to do after commands were carried out: messages for the real server, and a
    refusal of what the agent sent, which has no id to answer it by."""

    to_server: list[JsonObject] = field(default_factory=list)
    refusal: JsonObject | None = None


class Connection:
    """One connection; `pushes` says whether it is a session, which has a stream of its own for
    what the server sends unasked."""

    def __init__(self, session: Session, *, pushes: bool) -> None:
        self._session = session
        self._numbers = itertools.count(1)
        self.pushes = pushes
        # Mutable: what the agent calls this session, and what the real server does.
        self.id: str | None = None
        self.upstream_id: str | None = None
        self.push = Outlet(self._number)
        # Mutable: where the real server's stream is to be taken up again, and if it is open.
        self.pumping = False
        self.pump_after: str | None = None
        self.ended = False
        # Mutable: exchanges by the ids that they wait for, the latest last; streams to be kept.
        self._waiting: dict[str, list[Exchange]] = {}
        self._streamed: list[Outlet] = []
        # Mutable: ids that were used, and the last of them; whether nothing succeeded so far
        # but probing was tried.
        self._used: set[str] = set()
        self.last: RequestId = None
        self._probing = True

    def _number(self) -> int:
        return next(self._numbers)

    @property
    def idle(self) -> bool:
        """Whether no request is open."""
        return not self._waiting

    def used(self, request: RequestId) -> bool:
        """Whether a request had this id."""
        return key(request) in self._used

    @property
    def only_probed(self) -> bool:
        """Whether the agent only asked which versions are spoken, and was told of none."""
        return self._probing and self.idle and bool(self._used) and not self.ended

    def expect(self, posted: Posted) -> Exchange | None:
        """Wait for the answers to a POST; None if it asks nothing."""
        if not posted.requests:
            return None
        self._probing &= posted.method == _PROBE
        exchange = Exchange(
            posted.requests,
            modern=posted.modern,
            batch=posted.batch,
            streams=posted.streams,
            listens=posted.method == LISTEN,
            number=self._number if self.pushes else None,
            since=self.push.newest,
        )
        for request in posted.requests:
            self._waiting.setdefault(key(request), []).append(exchange)
            self._used.add(key(request))
        self.last = posted.requests[-1]
        return exchange

    def receive(self, data: bytes) -> Done:
        """The agent sent this."""
        return self._carry_out(self._session.from_agent(data))

    def tell(self, data: bytes, exchange: Exchange | None) -> Done:
        """The real server sent this, in the answer to an exchange or beside all."""
        return self._carry_out(self._session.from_server(data), exchange)

    def broke(self, request: RequestId, status: int | None, text: str) -> None:
        """The real server gave no JSON-RPC answer to a request."""
        self._carry_out(self._session.server_broke(request, status, text))

    def leave(self, exchange: Exchange) -> None:
        """The agent no longer waits for an exchange."""
        for request, waiting in list(self._waiting.items()):
            if exchange in waiting:
                waiting.remove(exchange)
                if not waiting:
                    del self._waiting[request]

    def end(self) -> None:
        """The agent, or flowproof, closes the connection."""
        if self.ended:
            return
        self.ended = True
        self._session.closed()
        for exchange in self._exchanges():
            exchange.fail(404, "the session has ended")
        self._waiting.clear()
        self.push.end()

    def stream_of(self, number: int) -> Outlet:
        """The stream in which an event had this id; that of the connection if none is known."""
        return next((one for one in self._streams() if one.holds(number)), self.push)

    def _streams(self) -> Iterable[Outlet]:
        yield self.push
        yield from (one.outlet for one in self._exchanges() if one.outlet is not None)
        yield from self._streamed

    def _exchanges(self) -> list[Exchange]:
        """Those that are open, the latest last."""
        return [exchange for waiting in self._waiting.values() for exchange in waiting]

    def _waits(self, request: RequestId) -> Exchange | None:
        """The latest exchange that waits for an answer to a request."""
        return self._waiting.get(key(request), [None])[-1]

    def _carry_out(self, commands: Iterable[Command], came_in: Exchange | None = None) -> Done:
        done: list[JsonObject] = []
        refusal: JsonObject | None = None
        for command in commands:
            match command:
                case ToServer(message):
                    done.append(message)
                case Hang(answers, status, text):
                    self._hang(answers, status, text)
                case ToAgent(message, answers) if answers is not None:
                    self._answer(answers, message)
                case ToAgent(message) if "method" not in message:
                    refusal = message
                case ToAgent(message, _, within):
                    self._send(message, came_in or self._waits(within))
                case _:
                    assert_never(command)
        return Done(done, refusal)

    def _hang(self, answers: RequestId, status: int | None, text: str) -> None:
        if answers is None:
            broken = self._exchanges()
        else:
            broken = [one for one in [self._waits(answers)] if one is not None]
        for exchange in broken:
            exchange.fail(status, text)
            self._keep(exchange)

    def _answer(self, request: RequestId, message: JsonObject) -> None:
        exchange = self._waits(request)
        if exchange is None:
            return
        self._waiting[key(request)].pop()
        if not self._waiting[key(request)]:
            del self._waiting[key(request)]
        exchange.answer(request, message)
        self._probing &= "result" not in message
        if exchange.done:
            self._keep(exchange)

    def _keep(self, exchange: Exchange) -> None:
        """Forget an exchange that is done, but for its stream."""
        self.leave(exchange)
        if exchange.outlet is not None and self.pushes:
            self._streamed.append(exchange.outlet)
            del self._streamed[:-_STREAMS_KEPT]

    def _send(self, message: JsonObject, exchange: Exchange | None) -> None:
        """Send a message that is no answer, over the stream that can carry it."""
        if exchange is None or not exchange.streams or exchange.done:
            exchange = self._any_open()
        if not self.pushes:
            # There is no stream but those of requests; what belongs to none reaches nobody.
            if exchange is not None:
                exchange.stream(message)
        elif "id" in message and exchange is not None and not self.push.attached:
            # The answer may wait for that of the agent.
            exchange.stream(message)
        else:
            self.push.put(message)

    def _any_open(self) -> Exchange | None:
        """An exchange over which a message can go: one that streams already, or the latest."""
        able = [one for one in self._exchanges() if one.streams]
        return next((one for one in able if one.outlet is not None), able[-1] if able else None)
