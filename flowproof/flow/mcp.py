"""Opens the boundary to one MCP server of a flow, and tells what crossed it.

Counterparts: `boundary.mcp`, which speaks with the agent; `judge`, which decides what it means.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from flowproof.boundary.mcp.interface import Boundary
from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.boundary.mcp.transport import Transport
from flowproof.drivers.arguments import split_command
from flowproof.model.flow_spec import McpServer, Mock
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import Broken, Lane, Result, RpcError
from flowproof.model.outcome import Divergence
from flowproof.model.phase import Phase
from flowproof.spec.variables import Lookup, resolve, resolve_json

if TYPE_CHECKING:
    from flowproof.boundary.endpoint import Limits
    from flowproof.flow.agent_environment import Handles
    from flowproof.flow.resolve_env import Prepared

_SETTLE_SECONDS = 15.0
"""How long the ends of connections are waited for: servers have time to exit, or are ended."""

Kind = Literal["stdio", "http"]


@dataclass(frozen=True, slots=True)
class PreparedServer:
    """An MCP server with its variables resolved. The words of its command (stdio), or its `url`,
    are empty while replaying, when nothing is started or reached. `mocks` are by tool."""

    name: str
    transport: Kind
    port: int
    mocks: Mapping[str, MockedMcpTool]
    argv: tuple[str, ...] = ()
    url: str = ""


def prepared_server(server: McpServer, phase: Phase, lookup: Lookup) -> PreparedServer:
    """A server as its spec declares it, for one run.

    :raises UnsetVariable: if a variable has no value.
    """
    command, url = (server.command, server.url) if phase == "record" else (None, None)
    # Variables are put into words after splitting, so that a value with blanks stays one word.
    words = split_command(command, shell=False) if command else ()
    return PreparedServer(
        name=server.name,
        transport="stdio" if server.url is None else "http",
        port=server.port or 0,
        mocks={mock.tool: _mocked(mock, lookup) for mock in server.tools},
        argv=tuple(resolve(word, lookup) for word in words),
        url=resolve(url, lookup) if url else "",
    )


def _mocked(mock: Mock, lookup: Lookup) -> MockedMcpTool:
    return MockedMcpTool(
        tuple(resolve_json(result, lookup) for result in mock.results),
        mock.repeat_last,
        _resolved(mock.error, lookup),
        _resolved(mock.schema, lookup),
    )


def _resolved(value: Mapping[str, JsonValue] | None, lookup: Lookup) -> JsonObject | None:
    if value is None:
        return None
    return {key: resolve_json(one, lookup) for key, one in value.items()}


@dataclass(frozen=True, slots=True)
class McpOutcome:
    """What crossed the boundary to one server, once the agent has ended.

    `lane` is what was recorded, or the calls that a replay made. `variable` is the one that tells
    the agent where the boundary is. `unconsumed` names recorded calls that a replay never made.
    `problems` say why the world kept this from being judged, `faults` what its author is to mend.
    `stderr` is of the real servers that a recording started, `notes` decide nothing.
    """

    server: str
    transport: Kind
    variable: str
    lane: Lane
    contacted: bool
    divergence: Divergence | None = None
    unconsumed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    stderr: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpBoundary:
    """An open boundary to one server."""

    server: PreparedServer
    boundary: Boundary = field(repr=False)
    transport: Transport = field(repr=False)
    recording: bool = False

    @property
    def variable(self) -> str:
        """The variable that tells the agent of it."""
        return next(iter(self.transport.environment))

    def told(self, handles: Handles) -> Handles:
        """What the agent is told, this boundary included."""
        name, handle = self.server.name, self.transport.handle
        variables = {**handles.variables, **self.transport.environment}
        if self.server.transport == "http":
            urls = {**handles.mcp_urls, name: handle}
            return replace(handles, mcp_urls=urls, variables=variables)
        commands = {**handles.mcp_commands, name: handle}
        return replace(handles, mcp_commands=commands, variables=variables)

    async def collect(self) -> McpOutcome:
        """What crossed it, once the agent has ended."""
        await self.transport.settle(_SETTLE_SECONDS)
        return self.so_far()

    def so_far(self) -> McpOutcome:
        """What crossed it by now."""
        troubles = self.transport.troubles
        lane = self.boundary.lane()
        return McpOutcome(
            server=self.server.name,
            transport=self.server.transport,
            variable=self.variable,
            lane=lane,
            contacted=self.boundary.contacted,
            divergence=self.boundary.divergence,
            unconsumed=self.boundary.unconsumed(),
            problems=(
                *(trouble.text for trouble in troubles if trouble.whose == "world"),
                *self.boundary.problems,
                *(_never_there(lane) if self.recording and not troubles else ()),
            ),
            faults=tuple(trouble.text for trouble in troubles if trouble.whose == "author"),
            stderr=self.transport.stderr,
            notes=self.transport.notes,
        )


@contextlib.asynccontextmanager
async def open_mcp(
    server: PreparedServer, prepared: Prepared, lane: Lane | None, limits: Limits
) -> AsyncIterator[McpBoundary]:
    """Stand in for one server, answering from a lane, or, if that is None, from the real one.

    :raises WorldError: if the system does not let it listen.
    :raises PortTaken: if a fixed port is in use.
    """
    async with contextlib.AsyncExitStack() as stack:
        boundary = _boundary(server, lane)
        if server.transport == "http":
            from flowproof.boundary.mcp.http import open_http

            upstream = server.url if lane is None else None
            http = open_http(server.name, boundary, upstream, server.port, limits)
            transport: Transport = await stack.enter_async_context(http)
        else:
            from flowproof.boundary.mcp.stdio import open_stdio

            start = None
            if lane is None:
                from flowproof.flow.mcp_server import real_server

                start = stack.enter_context(real_server(server.argv, prepared))
            transport = await stack.enter_async_context(open_stdio(server.name, boundary, start))
        yield McpBoundary(server, boundary, transport, recording=lane is None)


def _never_there(lane: Lane) -> Iterator[str]:
    """Why a recording is none of a server: it gave no JSON-RPC answer to any call."""
    broken = [call.outcome for call in lane.calls if isinstance(call.outcome, Broken)]
    if broken and not any(isinstance(call.outcome, Result | RpcError) for call in lane.calls):
        status = broken[-1].status
        how = "none came" if status is None else f"the last answer was HTTP status {status}"
        yield (
            f"MCP server `{lane.server}` answered no call with JSON-RPC, {how}: is its `url` that "
            "of an MCP endpoint?"
        )


def _boundary(server: PreparedServer, lane: Lane | None) -> Boundary:
    if lane is None:
        from flowproof.boundary.mcp.recording import RecordingBoundary

        return RecordingBoundary(server.name, server.mocks)
    from flowproof.boundary.mcp.replaying import ReplayingBoundary

    return ReplayingBoundary(lane, server.mocks)
