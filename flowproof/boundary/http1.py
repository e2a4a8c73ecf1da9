"""A small HTTP/1.1 server on a loopback socket: h11 decides, anyio moves the bytes.

It knows nothing of models; `model_proxy` gives it a handler. A web framework would cost ten
times the import time of h11, and every replay would pay for it.
"""

from __future__ import annotations

import socket
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

import anyio
import anyio.abc
import h11

from flowproof.errors import PortTaken

Headers: TypeAlias = Sequence[tuple[str, str]]

LOOPBACK = "127.0.0.1"
_CHUNK = 64 * 1024
_MAX_HEAD = 64 * 1024


def bind_loopback(port: int = 0) -> socket.socket:
    """A listening TCP socket on 127.0.0.1; port 0 takes any free one.

    :raises PortTaken: if the port cannot be had.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(512)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PortTaken(f"cannot listen on {LOOPBACK}:{port}: {error.strerror}") from error
    return listener


@dataclass(frozen=True, slots=True)
class Request:
    """One request, its body read whole and decompressed. Header names are lower case."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Reply(Protocol):
    """How a handler answers, either at once or piece by piece."""

    @property
    def gone(self) -> bool:
        """Whether the client has left, so that nothing sent reaches anybody."""

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
    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


async def serve(listener: socket.socket, handler: Handler, *, max_body: int) -> None:
    """Answer connections until cancelled; bodies over `max_body` bytes are refused with 413."""
    async with (
        await anyio.abc.SocketListener.from_socket(listener) as streams,
        anyio.create_task_group() as group,
    ):
        await streams.serve(
            lambda stream: _Connection(stream, handler, max_body).run(), task_group=group
        )


class _Connection:
    """One client connection; it handles its requests one after another."""

    def __init__(self, stream: anyio.abc.SocketStream, handler: Handler, max_body: int) -> None:
        self._stream = stream
        self._handler = handler
        self._max_body = max_body
        self._protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        # Mutable: set once writing fails or the answer was cut; nothing is written after that.
        self._gone = False

    @property
    def gone(self) -> bool:
        return self._gone

    async def run(self) -> None:
        async with self._stream:
            try:
                while await self._one_request():
                    pass
            except (h11.RemoteProtocolError, anyio.BrokenResourceError):
                await self._refuse(400, "this is not HTTP/1.1 as flowproof reads it")

    async def _one_request(self) -> bool:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return False
        try:
            request = await self._read(head)
        except _BadRequest as error:
            await self._refuse(error.status, str(error))
            return False
        await self._handler(request, self)
        if self._gone or self._protocol.our_state is not h11.DONE:
            return False
        if self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return True

    async def _read(self, head: h11.Request) -> Request:
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers
        )
        body = bytearray()
        while True:
            event = await self._next_event()
            if isinstance(event, h11.EndOfMessage):
                break
            if not isinstance(event, h11.Data):
                raise _BadRequest(400, "the request ended before its body did")
            body += event.data
            if len(body) > self._max_body:
                raise _BadRequest(413, f"request bodies are bounded to {self._max_body} bytes")
        try:
            target = urlsplit(head.target.decode("latin-1"))
        except ValueError as error:
            raise _BadRequest(400, "the request target is not a URL path") from error
        return Request(
            method=head.method.decode("latin-1"),
            path=target.path,
            query=target.query,
            headers=headers,
            body=_decompress(bytes(body), headers, self._max_body),
        )

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
            self._protocol.receive_data(data)

    async def _refuse(self, status: int, message: str) -> None:
        if self._protocol.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            await self.send(status, headers, message.encode())

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        sized = [*headers, ("content-length", str(len(body)))]
        await self._write(
            h11.Response(status_code=status, headers=sized),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )

    async def start(self, status: int, headers: Headers) -> None:
        await self._write(h11.Response(status_code=status, headers=list(headers)))

    async def chunk(self, data: bytes) -> None:
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


def _decompress(body: bytes, headers: Headers, limit: int) -> bytes:
    """Undo a request's Content-Encoding, never growing past `limit` bytes."""
    coding = next((value for name, value in headers if name == "content-encoding"), "identity")
    match coding.strip().lower():
        case "identity" | "":
            return body
        case "gzip" | "x-gzip" | "deflate":
            inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
        case _:
            raise _BadRequest(415, f"content-encoding {coding!r} is not supported here")
    try:
        plain = inflater.decompress(body, limit + 1)
    except zlib.error as error:
        raise _BadRequest(400, f"the body is not {coding}") from error
    if len(plain) > limit:
        raise _BadRequest(413, f"request bodies are bounded to {limit} bytes")
    if not inflater.eof:
        raise _BadRequest(400, f"the {coding} body ends too early")
    return plain
