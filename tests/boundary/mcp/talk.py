"""What an agent and a server say to each other, for tests of both phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from flowproof.boundary.mcp.interface import Boundary, Command, Hang, Session, ToAgent, ToServer
from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.boundary.mcp.recording import RecordingBoundary
from flowproof.boundary.mcp.replaying import ReplayingBoundary
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.mcp import Lane
from flowproof.trace.decode import decode
from flowproof.trace.document import RecordedServer
from flowproof.trace.encode import encode
from tests.trace.samples import trace_of

Tools: TypeAlias = Mapping[str, MockedMcpTool]
VERSION = "2026-07-28"
META: JsonObject = {"io.modelcontextprotocol/protocolVersion": VERSION}


def bytes_of(message: JsonValue) -> bytes:
    return write(message).encode()


def request(request_id: JsonValue, method: str, params: JsonValue = None) -> JsonObject:
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def call(request_id: JsonValue, tool: str, meta: JsonValue = None, **arguments: Any) -> JsonObject:
    params: JsonObject = {"name": tool, "arguments": arguments}
    return request(request_id, "tools/call", params if meta is None else {**params, "_meta": meta})


def notification(method: str, params: JsonValue = None) -> JsonObject:
    message: JsonObject = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def result(request_id: JsonValue, value: JsonValue) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: JsonValue, code: int, message: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def text(said: str) -> JsonObject:
    return {"content": [{"type": "text", "text": said}]}


INITIALIZE = request(
    0,
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a"}},
)
INITIALIZED = result(0, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})


class Talk:
    """One connection, fed with JSON values."""

    def __init__(self, boundary: Boundary) -> None:
        self.session: Session = boundary.open()

    def agent(self, message: JsonValue) -> list[Command]:
        """What the agent says, and what follows."""
        return list(self.session.from_agent(bytes_of(message)))

    def server(self, message: JsonValue) -> list[Command]:
        """What the real server says, and what follows."""
        return list(self.session.from_server(bytes_of(message)))

    def ask(self, message: JsonObject, *answers: JsonObject) -> list[Command]:
        """A call and what the server says next."""
        commands = self.agent(message)
        for one in answers:
            commands += self.server(one)
        return commands


def told(commands: Iterable[Command]) -> list[JsonObject]:
    """What an agent was told."""
    return [one.message for one in commands if isinstance(one, ToAgent)]


def passed_on(commands: Iterable[Command]) -> list[JsonObject]:
    """What a server was told."""
    return [one.message for one in commands if isinstance(one, ToServer)]


def hangs(commands: Iterable[Command]) -> list[Hang]:
    return [one for one in commands if isinstance(one, Hang)]


def recording(**mocks: MockedMcpTool) -> RecordingBoundary:
    return RecordingBoundary("files", mocks)


def through_a_trace(lane: Lane) -> Lane:
    """The lane as the file of a trace gives it back."""
    servers = {lane.server: RecordedServer(lane)}
    data = encode(replace(trace_of(), mcp=servers))
    return decode(data, "x.trace.json").mcp[lane.server].lane


def replaying(recorded: RecordingBoundary, **mocks: MockedMcpTool) -> ReplayingBoundary:
    """The same flow again, out of its trace."""
    assert recorded.problems == ()
    return ReplayingBoundary(through_a_trace(recorded.lane()), mocks)


def one_after_another(*tools: str) -> RecordingBoundary:
    """A recording of a handshake and calls of these tools, each answered before the next."""
    boundary = recording()
    talk = Talk(boundary)
    talk.ask(INITIALIZE, INITIALIZED)
    for number, tool in enumerate(tools, 1):
        talk.ask(call(number, tool, path="a"), result(number, text(tool)))
    return boundary
