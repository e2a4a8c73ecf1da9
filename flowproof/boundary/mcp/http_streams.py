"""What the agent gets over HTTP: streams of messages that it may take up again, and answers to
one POST.

`http_connection` decides what goes where, `http_handler` has the requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from flowproof.boundary.http1 import Headers, Reply
from flowproof.boundary.mcp.jsonrpc import CONNECTION_CLOSED, error, key
from flowproof.dialects.sse import frame
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.mcp import RequestId
from flowproof.model.rawtext import to_bytes

JSON = ("content-type", "application/json")
STREAM: Headers = (("content-type", "text/event-stream"), ("cache-control", "no-cache"))
_STATUS_OF_ERROR = {
    # as the version without sessions maps them
    -32700: 400,
    -32600: 400,
    -32602: 400,
    -32020: 400,
    -32021: 400,
    -32022: 400,
    -32601: 404,
}
_LOOK = 0.1
"""Seconds after which a silent stream looks whether anybody is there."""
_PING = 15.0
_AHEAD = 1.0
_TO_READ = 0.03
"""Seconds that a client gets to read of progress before the answer that it is progress of."""
_KEPT = 1000
_KEPT_BYTES = 32 << 20


class Outlet:
    """Messages for the agent over one stream. They are kept, the latest of them, so that a reader
    may take up the stream behind the last that it got."""

    def __init__(self, number: Callable[[], int] | None) -> None:
        """`number` gives events their ids; without it they have none."""
        self._number = number
        # Mutable: what was put, by number, and its size in bytes.
        self._frames: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self.newest = 0
        # Mutable: up to which number a reader was sent it; who reads; whether no more will come.
        self._told = 0
        self._reader: Reply | None = None
        self._ended = False
        self._changed = anyio.Event()

    @property
    def attached(self) -> bool:
        """Whether somebody reads it."""
        return self._reader is not None and not self._reader.left()

    def holds(self, number: int) -> bool:
        """Whether an event with this id is one of this stream and still there."""
        return any(one == number for one, _ in self._frames)

    def put(self, message: JsonObject) -> None:
        """Send a message."""
        if self._number is None:
            self.newest += 1
            data = frame(write(message), "message")
        else:
            self.newest = self._number()
            data = b"id: %d\n" % self.newest + frame(write(message), "message")
        self._frames.append((self.newest, data))
        self._size += len(data)
        while len(self._frames) > 1 and (len(self._frames) > _KEPT or self._size > _KEPT_BYTES):
            self._size -= len(self._frames.popleft()[1])
        self._wake()

    def end(self) -> None:
        """Send no more."""
        self._ended = True
        self._wake()

    def take(self, reply: Reply) -> None:
        """Make this the reader, in place of any other."""
        self._reader = reply
        self._wake()

    def release(self, reply: Reply | None = None) -> None:
        """Let the reader go, or this one if it is the reader."""
        if reply is None or self._reader is reply:
            self._reader = None
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def feed(self, reply: Reply, after: int | None = None) -> None:
        """Send a reader what is there and what comes, until the stream ends, it leaves, or it is
        no longer the reader; `after` is the last event that it got before, if it says so."""
        self.take(reply)
        if after is not None:
            self._told = after
        silent = 0.0
        try:
            while self._reader is reply and not reply.left():
                changed = self._changed
                if sent := await self._send(reply):
                    silent = 0.0
                elif self._ended:
                    break
                with anyio.move_on_after(_LOOK) as waited:
                    await changed.wait()
                silent += _LOOK if waited.cancelled_caught and not sent else 0.0
                if silent >= _PING:
                    await reply.chunk(b": still here\n\n")
                    silent = 0.0
        finally:
            self.release(reply)
        await reply.end()

    async def _send(self, reply: Reply) -> bool:
        """Send what a reader has not got yet; whether there was anything."""
        waiting = [one for one in self._frames if one[0] > self._told]
        for number, data in waiting:
            await reply.chunk(data)
            if reply.gone:
                break
            self._told = number
        if waiting:
            self._wake()
        return bool(waiting)

    async def ahead(self, since: int) -> None:
        """Let a reader, if there is one, get what was put after the event with number `since`
        ahead of what is sent elsewhere: it reads both streams as they come."""
        newest = self.newest
        if newest == since or not self.attached:
            return
        with anyio.move_on_after(_AHEAD):
            while self._told < newest and self.attached:
                await self._changed.wait()
        await anyio.sleep(_TO_READ)


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that is no JSON-RPC: an HTTP status and a text, or none where the connection to
    the server ended."""

    status: int | None
    text: str


class Exchange:
    """One POST with requests, until all of them are answered.

    It is answered with plain JSON unless a message has to come before the answer: then with a
    stream. `modern` is an exchange of the version without sessions, where errors have a status.
    """

    def __init__(
        self,
        requests: Sequence[RequestId],
        *,
        modern: bool,
        batch: bool = False,
        streams: bool = True,
        listens: bool = False,
        number: Callable[[], int] | None = None,
        since: int = 0,
    ) -> None:
        """`streams`: the agent takes a stream; `listens`: it wants one that stays open. `since` is
        the newest event of the stream beside, as the exchange begins."""
        self._order = list(dict.fromkeys(map(key, requests)))
        self._modern = modern
        self._batch = batch
        self._number = number
        self._since = since
        self.first = requests[0]
        self.streams = streams
        self.listens = listens
        # Mutable: answers by id; what failed instead; the stream if there is one.
        self._answers: dict[str, JsonObject] = {}
        self.failure: Failure | None = None
        self.outlet: Outlet | None = None
        # Mutable: what its answer says beside; whom to stop if the agent leaves.
        self.headers: list[tuple[str, str]] = []
        self.status: int | None = None
        self._scopes: list[anyio.CancelScope] = []
        self._changed = anyio.Event()

    def stoppable(self) -> anyio.CancelScope:
        """A scope for work that is stopped if nobody waits for the answers any more."""
        self._scopes.append(scope := anyio.CancelScope())
        return scope

    def abandon(self) -> None:
        """Stop work on it: that the agent left is how it cancels."""
        for scope in self._scopes:
            scope.cancel()

    def waits(self, request: RequestId) -> bool:
        """Whether a request of it has no answer."""
        return not self.done and key(request) not in self._answers

    @property
    def done(self) -> bool:
        """Whether nothing more is to be waited for."""
        return self.failure is not None or len(self._answers) == len(self._order)

    @property
    def succeeded(self) -> bool:
        """Whether a request of it got a result."""
        return any("result" in answer for answer in self._answers.values())

    def stream(self, message: JsonObject) -> None:
        """Send a message before the answer."""
        if self.outlet is None:
            self.outlet = Outlet(self._number)
        self.outlet.put(message)
        self._changed.set()

    def answer(self, request: RequestId, message: JsonObject) -> None:
        """Answer a request."""
        self._answers[key(request)] = message
        if self.outlet is not None:
            self.outlet.put(message)
        self._finish()

    def fail(self, status: int | None, text: str) -> None:
        """Answer with an HTTP status and text, or say that the connection ended."""
        if self.done:
            return
        self.failure = Failure(status, text)
        if self.outlet is not None:
            # Its status was sent long ago.
            self.outlet.put(error(self.first, CONNECTION_CLOSED, text))
        self._finish()

    def _finish(self) -> None:
        if self.done:
            if self.outlet is not None:
                self.outlet.end()
            self._changed.set()

    async def reply_to(self, reply: Reply, push: Outlet) -> bool:
        """Answer the POST, behind what was put into `push`; False if the agent left before."""
        while self.outlet is None and not self.done:
            with anyio.move_on_after(_LOOK):
                await self._changed.wait()
            if reply.left():
                return False
        if self.outlet is not None:
            await reply.start(200, [*STREAM, *self.headers])
            await self.outlet.feed(reply)
            return self.done
        await push.ahead(self._since)
        status, headers, body = self._plain()
        await reply.send(status, [*headers, *self.headers], body)
        return True

    def _plain(self) -> tuple[int, Headers, bytes]:
        if self.failure is not None:
            return self._failed(self.failure)
        answers = [self._answers[one] for one in self._order]
        if self._batch:
            return 200, [JSON], write(list[JsonValue](answers)).encode()
        return self.status or self._status(answers[0]), [JSON], write(answers[0]).encode()

    def _failed(self, failure: Failure) -> tuple[int, Headers, bytes]:
        if failure.status is None:
            body = error(self.first, CONNECTION_CLOSED, failure.text)
            return 502, [JSON], write(body).encode()
        text = failure.text.lstrip()
        kind = JSON if text.startswith(("{", "[")) else ("content-type", "text/plain")
        return failure.status, [kind], to_bytes(failure.text)

    def _status(self, answer: JsonObject) -> int:
        told = answer.get("error")
        if not self._modern or not isinstance(told, dict):
            return 200
        code = told.get("code")
        return _STATUS_OF_ERROR.get(code, 200) if isinstance(code, int) else 200
