"""Opens the HTTP transport as a flow does, in a thread of its own, and speaks HTTP to it."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client

from flowproof.boundary.endpoint import Limits
from flowproof.boundary.mcp.http import Http, open_http
from flowproof.boundary.mcp.interface import Boundary
from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.boundary.mcp.recording import RecordingBoundary
from flowproof.boundary.mcp.replaying import ReplayingBoundary
from flowproof.model.mcp import Lane

Json: TypeAlias = Any
ENDING = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN = "2026-07-28"
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Opened:
    """An open transport with its boundary."""

    boundary: Boundary
    transport: Http
    portal: BlockingPortal

    @property
    def port(self) -> int:
        return self.transport.port

    def lane(self) -> Lane:
        """What crossed it, once all is settled."""
        self.portal.call(self.transport.settle, 5.0)
        return self.boundary.lane()


@contextlib.contextmanager
def opened(boundary: Boundary, upstream: str | None) -> Iterator[Opened]:
    limits = Limits(connect_timeout=5.0)
    with start_blocking_portal() as portal:
        context = open_http("files", boundary, upstream, limits=limits)
        with portal.wrap_async_context_manager(context) as transport:
            yield Opened(boundary, transport, portal)


@contextlib.contextmanager
def recording(upstream: str, mocks: Mapping[str, MockedMcpTool] | None = None) -> Iterator[Opened]:
    with opened(RecordingBoundary("files", mocks or {}), upstream) as one:
        yield one


@contextlib.contextmanager
def replaying(lane: Lane, mocks: Mapping[str, MockedMcpTool] | None = None) -> Iterator[Opened]:
    with opened(ReplayingBoundary(lane, mocks or {}), None) as one:
        yield one


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        return json.loads(self.body)

    def events(self) -> list[Json]:
        """The messages of a stream."""
        lines = self.body.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def send(
    port: int,
    body: Json = None,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
) -> Answer:
    """One request, its answer read whole."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    with contextlib.closing(connection):
        connection.request(method, path, data, {**ENDING, **(headers or {})})
        response = connection.getresponse()
        heads = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, heads, response.read())


class EventStream:
    """An open stream of messages."""

    def __init__(
        self, port: int, headers: Mapping[str, str], method: str = "GET", body: Json = None
    ) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
        data = None if body is None else json.dumps(body)
        self._connection.request(method, "/mcp", data, {**ENDING, **headers})
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.last_id = ""

    def next(self) -> Json:
        """The next message; None at the end of the stream."""
        while line := self._response.readline():
            if line.startswith(b"id: "):
                self.last_id = line[4:].decode().strip()
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        return None

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def call(number: int, method: str, params: Json = None) -> Json:
    """A request of a client that has a session."""
    asked = {"jsonrpc": "2.0", "id": number, "method": method}
    return asked if params is None else {**asked, "params": params}


def modern(number: int, method: str, params: Mapping[str, Json] | None = None) -> Json:
    """A request of the version without sessions."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    given = dict(params or {})
    return call(number, method, {**given, "_meta": {**meta, **given.get("_meta", {})}})


def modern_headers(method: str, name: str | None = None) -> dict[str, str]:
    named = {} if name is None else {"mcp-name": name}
    return {"mcp-protocol-version": MODERN, "mcp-method": method, **named}


def initialize(port: int, number: int = 1, version: str = "2025-11-25") -> dict[str, str]:
    """Begin a session; the headers of what follows in it."""
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    answer = send(port, call(number, "initialize", params))
    assert answer.status == 200, answer
    headers = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": version}
    told = send(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
    assert told.status == 202
    return headers


def run_client(
    port: int, mode: str, script: Callable[[Client], Awaitable[Json]], **options: Any
) -> Json:
    """What a script gets of the real client."""

    async def run() -> Json:
        with anyio.fail_after(_SECONDS):
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode, **options) as client:
                return await script(client)

    return anyio.run(run)
