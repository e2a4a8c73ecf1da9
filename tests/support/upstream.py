"""A model endpoint for tests: real HTTP/1.1 over a loopback socket, every byte under control.

Each request is answered by a script of actions; `chat` writes those of a model that behaves.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias, assert_never

Json: TypeAlias = Any
Headers: TypeAlias = Sequence[tuple[str, str]]

_TICK = 0.02


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived. Header names are lower case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for key, value in self.headers if key == name), None)

    def json(self) -> Json:
        """The body as Python reads JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Send:
    """Write these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Await:
    """Do nothing until the test says so."""

    event: threading.Event


@dataclass(frozen=True, slots=True)
class Signal:
    """Tell the test that the script came this far."""

    event: threading.Event


@dataclass(frozen=True, slots=True)
class Close:
    """End the connection in order (FIN)."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection (RST)."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Say nothing more, and keep the connection open."""


Action: TypeAlias = Send | Pause | Await | Signal | Close | Reset | Silence
Script: TypeAlias = Sequence[Action]
Responder: TypeAlias = Callable[[Received], Script]


def head(status: int, headers: Headers) -> Send:
    """A status line and headers."""
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers)]
    return Send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def plain(
    body: bytes,
    status: int = 200,
    headers: Headers = (),
    content_type: str = "application/json",
) -> list[Action]:
    """A whole body of known length."""
    sized = [("content-type", content_type), ("content-length", str(len(body))), *headers]
    return [head(status, sized), Send(body)]


def answer(value: Json, status: int = 200, headers: Headers = ()) -> list[Action]:
    """A JSON body."""
    return plain(json.dumps(value).encode(), status, headers)


def gzipped(value: Json) -> list[Action]:
    """A JSON body, compressed."""
    return plain(gzip.compress(json.dumps(value).encode()), headers=[("content-encoding", "gzip")])


def redirect(location: str, status: int = 302) -> list[Action]:
    """The advice to look elsewhere."""
    return plain(b"", status, [("location", location)])


def chunk(data: bytes) -> Send:
    """One chunk of a body of unknown length."""
    return Send(b"%x\r\n%s\r\n" % (len(data), data))


LAST_CHUNK = Send(b"0\r\n\r\n")
EVENT_STREAM = head(200, [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])


def stream(frames: Iterable[bytes]) -> list[Action]:
    """A whole event stream, a chunk per frame."""
    return [EVENT_STREAM, *map(chunk, frames), LAST_CHUNK]


def cut_stream(frames: Iterable[bytes], ending: Action) -> list[Action]:
    """An event stream without its terminator, ended as said."""
    return [EVENT_STREAM, *map(chunk, frames), ending]


def completion(content: str | None = "Hello", **message: Json) -> Json:
    """A chat completion body with one choice."""
    calls = "tool_calls" in message
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 1764500000,
        "model": "gpt-4o-2024-08-06",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": "tool_calls" if calls else "stop",
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    }


def call(name: str, arguments: Json, id: str = "call_1") -> Json:
    """A tool call, for the `tool_calls` of a completion."""
    return {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def frames(body: Json, *, usage: bool = True) -> list[bytes]:
    """The frames in which an endpoint streams a completion: role, pieces, finish, usage, DONE."""
    shared = {key: body[key] for key in ("id", "created", "model")}
    shared["object"] = "chat.completion.chunk"
    choice = body["choices"][0]
    message = choice["message"]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    text = message.get("content") or ""
    deltas += [{"content": text[at : at + 4]} for at in range(0, len(text), 4)]
    for index, made in enumerate(message.get("tool_calls", ())):
        function = {"name": made["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**made, "index": index, "function": function}]})
        pieces = {"arguments": made["function"]["arguments"]}
        deltas.append({"tool_calls": [{"index": index, "function": pieces}]})
    chunks = [
        {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    finish = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks.append({**shared, "choices": [finish]})
    if usage:
        chunks = [{**one, "usage": None} for one in chunks]
        chunks.append({**shared, "choices": [], "usage": body["usage"]})
    return [*(frame(one) for one in chunks), b"data: [DONE]\n\n"]


def frame(value: Json) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat(*bodies: Json) -> Responder:
    """Answers one completion body after another, streamed where a request asks for it.

    Every request beyond them is answered with 500.
    """
    left = list(bodies)
    lock = threading.Lock()

    def respond(request: Received) -> Script:
        with lock:
            body = left.pop(0) if left else None
        if body is None:
            return answer({"error": {"message": "the script has ended"}}, 500)
        asked = request.json()
        if not asked.get("stream"):
            return answer(body)
        usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        return stream(frames(body, usage=usage))

    return respond


def scripted(*scripts: Script) -> Responder:
    """Answers one script after another, in order of arrival; 500 to every request beyond."""
    left = list(scripts)
    lock = threading.Lock()

    def respond(_request: Received) -> Script:
        with lock:
            if left:
                return left.pop(0)
        return answer({"error": {"message": "the script has ended"}}, 500)

    return respond


class FakeUpstream:
    """Serves while its context is open. `url` is the base URL with /v1, `received` what came."""

    def __init__(self, respond: Responder) -> None:
        self._respond = respond
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self.received: list[Received] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        with self._lock:
            for connection in (self._listener, *self._open):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            threads = list(self._threads)
        for thread in threads:
            thread.join(timeout=10)
        self._listener.close()

    def _spawn(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            self._spawn(partial(self._serve, connection))

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader, contextlib.suppress(OSError):
            while (request := _read(reader)) is not None:
                with self._lock:
                    self.received.append(request)
                if not all(self._perform(connection, act) for act in self._respond(request)):
                    break
        with self._lock:
            self._open.discard(connection)

    def _perform(self, connection: socket.socket, action: Action) -> bool:
        """Do one thing; whether the script goes on."""
        match action:
            case Send(data):
                connection.sendall(data)
            case Pause(seconds):
                self._closing.wait(seconds)
            case Await(event):
                while not event.wait(_TICK) and not self._closing.is_set():
                    pass
            case Signal(event):
                event.set()
            case Close():
                return False
            case Reset():
                now = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
                return False
            case Silence():
                self._closing.wait()
                return False
            case _:
                assert_never(action)
        return not self._closing.is_set()


def _read(reader: Any) -> Received | None:
    line = reader.readline().decode("latin-1").split()
    if len(line) != 3:
        return None
    headers: list[tuple[str, str]] = []
    while (header := reader.readline().decode("utf-8", "replace").strip()) != "":
        name, _, value = header.partition(":")
        headers.append((name.lower(), value.strip()))
    fields = dict(headers)
    if "chunked" in fields.get("transfer-encoding", ""):
        body = b"".join(_chunks(reader))
    else:
        body = reader.read(int(fields.get("content-length", "0")))
    return Received(line[0], line[1], tuple(headers), body)


def _chunks(reader: Any) -> Iterable[bytes]:
    while size := int(reader.readline().partition(b";")[0], 16):
        yield reader.read(size)
        reader.readline()
    reader.readline()


def refusing_url() -> str:
    """A base URL at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
