"""A small HTTP/1.1 server on a loopback socket: h11 decides, anyio moves the bytes.

It knows nothing of models; `model_proxy` gives it a handler. A web framework would cost ten
times the import time of h11, and every replay would pay for it.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

import anyio
import anyio.abc
import h11
from anyio.abc import TaskStatus

from flowproof.boundary.connections import Connections, hung_up
from flowproof.boundary.content_coding import Fault, decoded, too_large
from flowproof.model.visible import visible

Headers: TypeAlias = Sequence[tuple[str, str]]

_CHUNK = 64 * 1024
_MAX_HEAD = 64 * 1024
_LINGER = 2.0
"""Seconds that a client gets to stop sending and read its answer before it is disconnected."""
_RECEIVED = "flowproof's proxy received"
_SHOWN = 200
_TLS = b"\x16\x03"
"""How every TLS connection begins: a handshake record, version 3.x."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, its body read whole and decompressed. Header names are lower case; bytes in
    header values that are not UTF-8 are lone surrogates. With a `fault` there is no body."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fault: Fault | None = None


class Reply(Protocol):
    """How a handler answers, either at once or piece by piece."""

    @property
    def gone(self) -> bool:
        """Whether the client has left, so that nothing sent reaches anybody."""

    def left(self) -> bool:
        """Whether the client has hung up by now. One that only stopped sending looks the same,
        but no HTTP client does that."""

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        """Answer with a whole body."""

    async def start(self, status: int, headers: Headers) -> None:
        """Begin an answer whose length is not known."""

    async def chunk(self, data: bytes) -> None:
        """Send a piece of it."""

    async def end(self) -> None:
        """Finish it properly."""

    async def cut(self) -> None:
        """Drop the connection in the middle of it."""


Handler: TypeAlias = Callable[[Request, Reply], Awaitable[None]]


class _BadRequest(Exception):
    """A request that no handler can be given; the message says what it is."""


@dataclass(frozen=True, slots=True)
class _Server:
    """What all connections of a server share."""

    handler: Handler
    max_body: int
    failures: list[Exception]
    unreadable: Callable[[str], None]
    connections: Connections


async def serve(
    listener: socket.socket,
    handler: Handler,
    *,
    max_body: int,
    failures: list[Exception],
    unreadable: Callable[[str], None] = lambda message: None,
    connections: Connections | None = None,
) -> None:
    """Answer connections until cancelled; bodies over `max_body` bytes have a fault of 413.

    An exception of a handler is answered with 500 and does not disturb other connections. It is
    added to `failures`, for the caller to see to it that such a flow never looks well. What
    arrives and is no request that a handler could be given is refused, and `unreadable` is told
    of it in printable words.
    """
    server = _Server(handler, max_body, failures, unreadable, connections or Connections())
    async with (
        await anyio.abc.SocketListener.from_socket(listener) as streams,
        anyio.create_task_group() as group,
    ):
        while True:
            await anyio.wait_readable(listener)
            # Counted before it leaves the queue, so that it is to be seen at every moment.
            with server.connections.opened():
                await group.start(_Connection(await streams.accept(), server).run)


class _Connection:
    """One client connection; it handles its requests one after another."""

    def __init__(self, stream: anyio.abc.SocketStream, server: _Server) -> None:
        self._stream = stream
        self._server = server
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        # Mutable: the first bytes that came, and whether no more will.
        self._begins = b""
        self._ended = False
        # Mutable: set once writing fails or the answer was cut; nothing is written after that.
        self._gone = False
        # Mutable, per request: its method, and whether its answer can have no body.
        self._bodyless = False
        self._method = b""

    @property
    def gone(self) -> bool:
        return self._gone

    def left(self) -> bool:
        if self._gone:
            return True
        # Writing to a client that has hung up succeeds once; only reading tells.
        self._gone = hung_up(self._stream.extra(anyio.abc.SocketAttribute.raw_socket).fileno())
        return self._gone

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        with self._server.connections.opened():
            task_status.started()
            async with self._stream:
                try:
                    while await self._one_request():
                        pass
                except h11.RemoteProtocolError as error:
                    await self._refuse(error.error_status_hint, self._found(error))
                except _BadRequest as error:
                    await self._refuse(400, str(error))
                await self._linger()

    def _found(self, error: h11.RemoteProtocolError) -> str:
        """What arrived in place of a request."""
        if self._begins == _TLS:
            return "a TLS handshake (is the base URL https?)"
        if self._ended:
            return "a request that broke off in its head"
        return f"what is not HTTP/1.1: {_reason(error)}"

    async def _one_request(self) -> bool:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return False
        self._method = head.method
        request = await self._read(head)
        with self._server.connections.handled():
            await self._handle(request)
        if self._gone or self._protocol.our_state is not h11.DONE:
            return False
        if self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return True

    async def _handle(self, request: Request) -> None:
        try:
            await self._server.handler(request, self)
            if self._protocol.our_state in {h11.SEND_RESPONSE, h11.SEND_BODY} and not self._gone:
                raise RuntimeError("the handler returned before it had answered")
        except Exception as error:
            self._server.failures.append(error)
            await self._give_up()

    async def _read(self, head: h11.Request) -> Request:
        headers = tuple(
            (name.decode("ascii"), value.decode("utf-8", "surrogateescape"))
            for name, value in head.headers
        )
        path, query = _split(head.target.decode("ascii"))
        try:
            body = await self._body(headers)
        except h11.RemoteProtocolError as error:
            broken = "that broke off in its body"
            how = broken if self._ended else f"whose body is not HTTP/1.1: {_reason(error)}"
            what = f"a request to {visible(path[:_SHOWN])} {how}"
            body = Fault(400, f"{_RECEIVED} {what}", "request")
        return Request(
            method=head.method.decode("ascii"),
            path=path,
            query=query,
            headers=headers,
            body=b"" if isinstance(body, Fault) else body,
            fault=body if isinstance(body, Fault) else None,
        )

    async def _body(self, headers: Headers) -> bytes | Fault:
        limit = self._server.max_body
        if any(name == "content-length" and int(value) > limit for name, value in headers):
            return too_large(limit)
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            if len(body) > limit:
                return too_large(limit)
        return decoded(bytes(body), headers, limit)

    async def _next_event(self) -> h11.Event | None:
        while True:
            event = self._protocol.next_event()
            if isinstance(event, h11.Event):
                return None if isinstance(event, h11.ConnectionClosed) else event
            if event is h11.PAUSED:
                return None
            if self._protocol.they_are_waiting_for_100_continue:
                await self._write(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                data = await self._stream.receive(_CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                data = b""
            self._begins = (self._begins + data[:2])[:2]
            self._ended = not data
            self._protocol.receive_data(data)

    async def _refuse(self, status: int, what: str) -> None:
        """Answer what no handler gets to see."""
        message = f"{_RECEIVED} {what}"
        self._server.unreadable(message)
        if self._protocol.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            await self.send(status, headers, message.encode())

    async def _give_up(self) -> None:
        """End an answer that the handler did not: with 500 if it has not begun, else by cutting."""
        if self._protocol.our_state is h11.SEND_RESPONSE:
            headers = [
                ("content-type", "text/plain; charset=utf-8"),
                ("x-should-retry", "false"),
                ("connection", "close"),
            ]
            await self.send(500, headers, b"flowproof failed on this request; its report says how")
        elif not self._gone:
            await self.cut()

    async def _linger(self) -> None:
        """Close our side and drop what still comes. Closing both at once would reset the
        connection, and the client could lose an answer that it has not read yet."""
        if self._gone or self._protocol.their_state is h11.CLOSED:
            return
        with anyio.move_on_after(_LINGER):
            try:
                await self._stream.send_eof()
                while True:
                    await self._stream.receive(_CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError, OSError):
                pass

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        sized = [*headers, ("content-length", str(len(body)))]
        head = self._head(status, sized)
        data = [] if self._bodyless else [h11.Data(data=body)]
        await self._write(head, *data, h11.EndOfMessage())

    async def start(self, status: int, headers: Headers) -> None:
        await self._write(self._head(status, headers))

    def _head(self, status: int, headers: Headers) -> h11.Response:
        self._bodyless = status in {204, 304} or self._method == b"HEAD"
        encoded = [
            (name.encode("ascii"), value.encode("utf-8", "surrogateescape"))
            for name, value in headers
            if not (status == 204 and name == "content-length")
        ]
        return h11.Response(status_code=status, headers=encoded)

    async def chunk(self, data: bytes) -> None:
        if not self._bodyless:
            await self._write(h11.Data(data=data))

    async def end(self) -> None:
        await self._write(h11.EndOfMessage())

    async def cut(self) -> None:
        self._gone = True
        await self._stream.aclose()

    async def _write(self, *events: h11.Event) -> None:
        if self._gone:
            return
        data = b"".join(self._protocol.send(event) or b"" for event in events)
        try:
            await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._gone = True


def _reason(error: h11.RemoteProtocolError) -> str:
    """What is wrong, without the bytes that are: a header among them may hold a key."""
    return visible(str(error).split(": b", 1)[0][:_SHOWN])


def _split(target: str) -> tuple[str, str]:
    """Path and query of a request target; an absolute one loses its scheme and host."""
    if not target.startswith("/"):
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise _BadRequest("a request whose target is not a URL path") from error
        return parts.path, parts.query
    path, _, query = target.partition("#")[0].partition("?")
    return path, query
