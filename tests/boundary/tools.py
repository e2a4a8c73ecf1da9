"""Opens the boundary as a flow does, in a thread of its own, so that tests can be blocking."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from flowproof.boundary.cassette import Cassette
from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.http1 import Handler, serve
from flowproof.boundary.loopback import bind_loopback
from flowproof.boundary.mocks import MockedTool, MockResults
from flowproof.boundary.model_proxy import Intake
from flowproof.boundary.recording import Recorded, Recording
from flowproof.boundary.recording_proxy import RecordingProxy
from flowproof.boundary.replaying_proxy import ReplayingProxy
from flowproof.boundary.side_calls import SideCalls
from flowproof.boundary.side_recording import SideRecorded
from flowproof.boundary.upstream import open_upstream
from flowproof.dialects.registry import DIALECTS
from flowproof.model.jsonvalue import JsonObject, parse
from flowproof.model.turn import Operation, Response, SideCall, Turn

CHAT = Operation("openai.chat", "/chat/completions")
BY_NAME = DIALECTS
SECRET = "sk-upstream-4711-secret"
MEGABYTE = 1024 * 1024


@contextlib.asynccontextmanager
async def open_server(
    handler: Handler, max_body: int, unreadable: Callable[[str], None] = lambda message: None
) -> AsyncIterator[int]:
    listener = bind_loopback()
    port: int = listener.getsockname()[1]
    failures: list[Exception] = []
    async with anyio.create_task_group() as group:
        group.start_soon(
            lambda: serve(
                listener, handler, max_body=max_body, failures=failures, unreadable=unreadable
            )
        )
        yield port
        group.cancel_scope.cancel()
    if failures:
        raise ExceptionGroup("handlers", failures)


@contextlib.contextmanager
def serving(
    handler: Handler,
    max_body: int = MEGABYTE,
    unreadable: Callable[[str], None] = lambda message: None,
) -> Iterator[int]:
    """The port at which a handler is served."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_server(handler, max_body, unreadable)) as port,
    ):
        yield port


@dataclass(frozen=True, slots=True)
class RecordingBoundary:
    port: int
    recording: Recording
    proxy: RecordingProxy
    intake: Intake
    portal: BlockingPortal

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def finish(self, *, keep_retries: bool = False) -> Recorded:
        """What was recorded, once nothing is on its way."""
        self.portal.call(self._settled)
        return self.recording.finish(keep_retries=keep_retries)

    def finish_beside(self) -> SideRecorded:
        """The side calls that were recorded, once nothing is on its way."""
        self.portal.call(self._settled)
        return self.proxy.side_calls.finish()

    async def _settled(self) -> None:
        with anyio.fail_after(10):
            await self.proxy.settled()


@contextlib.contextmanager
def recording(
    upstream: str,
    *,
    mocks: Mapping[str, MockedTool] | None = None,
    limits: Limits | None = None,
    provider: str = "openai",
) -> Iterator[RecordingBoundary]:
    """A boundary that records against a provider's upstream given by its base URL."""
    limits = limits or Limits()
    endpoint = Endpoint(upstream, {"Authorization": f"Bearer {SECRET}"})
    intake, taken = Intake(MockResults(mocks or {})), Recording()
    with start_blocking_portal() as portal:
        opened = open_upstream({provider: endpoint}, limits)
        with portal.wrap_async_context_manager(opened) as client:
            proxy = RecordingProxy(intake, taken, client)
            server = open_server(proxy.handle, limits.max_body, proxy.unreadable)
            with portal.wrap_async_context_manager(server) as port:
                yield RecordingBoundary(port, taken, proxy, intake, portal)


@dataclass(frozen=True, slots=True)
class ReplayingBoundary:
    port: int
    cassette: Cassette
    intake: Intake
    side_calls: SideCalls

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextlib.contextmanager
def replaying(
    turns: Sequence[Turn],
    *,
    mocks: Mapping[str, MockedTool] | None = None,
    beside: Sequence[SideCall] = (),
) -> Iterator[ReplayingBoundary]:
    """A boundary that answers from recorded turns, and from calls beside them."""
    cassette, intake = Cassette(turns, BY_NAME), Intake(MockResults(mocks or {}))
    side_calls = SideCalls(beside)
    proxy = ReplayingProxy(intake, cassette, side_calls)
    with serving(proxy.handle, unreadable=proxy.unreadable) as port:
        yield ReplayingBoundary(port, cassette, intake, side_calls)


def chat_request(content: Any = "Hi", **others: Any) -> dict[str, Any]:
    """A small chat completion request."""
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": content}], **others}


def pinned(value: Any) -> JsonObject:
    """A request as flowproof reads it."""
    found = parse(json.dumps(value))
    assert isinstance(found, dict)
    return found


def turn(request: Any, answer: Any = None, status: int = 200) -> Turn:
    """A recorded turn of a plain answer."""
    body = parse(json.dumps({"id": "a"} if answer is None else answer))
    return Turn(CHAT, pinned(request), Response(status, body))


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def send(
    port: int,
    body: Any,
    *,
    path: str = "/v1/chat/completions",
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Answered:
    """One request on a connection of its own; a body that is not bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, path, data, dict(headers or {}))
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        return Answered(response.status, named, response.read())


@contextlib.contextmanager
def raw(port: int) -> Iterator[socket.socket]:
    """A bare connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    return b"".join(iter(lambda: connection.recv(65536), b""))
