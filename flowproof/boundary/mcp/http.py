"""The streamable HTTP transport: a listener on the loopback, and while recording a way to the real
server.

Counterparts: `http_handler`, which answers; a session, which decides.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio

from flowproof.boundary.connections import Connections, accepted
from flowproof.boundary.endpoint import Limits
from flowproof.boundary.http1 import serve
from flowproof.boundary.loopback import LOOPBACK, bind_loopback
from flowproof.boundary.mcp.http_handler import HttpHandler
from flowproof.boundary.mcp.http_sessions import Sessions
from flowproof.boundary.mcp.interface import Boundary
from flowproof.boundary.mcp.jsonrpc import MAX_MESSAGE
from flowproof.boundary.mcp.transport import Trouble, variables

_DRAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Http:
    """All connections of one agent to one server over HTTP. Fulfils `transport.Transport`."""

    name: str
    port: int
    listener: socket.socket
    handler: HttpHandler
    sessions: Sessions
    connections: Connections = field(default_factory=Connections)
    failures: list[Exception] = field(default_factory=list)

    @property
    def handle(self) -> str:
        """The URL of the listener."""
        return f"http://{LOOPBACK}:{self.port}/mcp"

    @property
    def environment(self) -> dict[str, str]:
        """The URL."""
        return variables("FLOWPROOF_MCP_URL", self.name, self.handle)

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Why the real server could not be asked."""
        return tuple(self.handler.troubles)

    @property
    def notes(self) -> tuple[str, ...]:
        """None: nothing is odd and yet harmless."""
        return ()

    @property
    def stderr(self) -> str:
        """Empty: the real server is no process of ours."""
        return ""

    async def settle(self, within: float) -> None:
        """Wait for requests that are still in the queue, and for answers still on their way.

        :raises ExceptionGroup: if one made our own code fail.
        """
        with anyio.move_on_after(within):
            # An agent that lives on may hold its connections open for as long as it likes.
            with anyio.move_on_after(_DRAIN_SECONDS):
                await accepted(self.listener)
                await self.connections.read(answered=False)
            await self.handler.settled()
        self.sessions.end()
        if self.failures:
            raise ExceptionGroup("MCP requests could not be handled", self.failures)

    async def serve(self) -> None:
        """Answer until cancelled."""
        await serve(
            self.listener,
            self.handler.handle,
            max_body=MAX_MESSAGE,
            failures=self.failures,
            unreadable=self.handler.unreadable,
            connections=self.connections,
        )


@contextlib.asynccontextmanager
async def open_http(
    name: str,
    boundary: Boundary,
    upstream: str | None,
    port: int = 0,
    limits: Limits | None = None,
) -> AsyncIterator[Http]:
    """Listen for an agent's requests to one server while the context is open.

    `upstream` is the URL of the real server while recording; with None nothing but the loopback
    is spoken to. `port` 0 takes any that is free.

    :raises PortTaken: if a fixed port is in use.
    """
    sessions = Sessions(boundary)
    failures: list[Exception] = []
    async with contextlib.AsyncExitStack() as stack:
        listener = stack.enter_context(contextlib.closing(bind_loopback(port)))
        forwarding = None
        if upstream is None:
            group = await stack.enter_async_context(anyio.create_task_group())
        else:
            from flowproof.boundary.mcp.http_forwarding import Forwarding
            from flowproof.boundary.mcp.http_upstream import open_http_upstream

            opened = open_http_upstream(upstream, limits or Limits())
            client = await stack.enter_async_context(opened)
            group = await stack.enter_async_context(anyio.create_task_group())
            forwarding = Forwarding(name, client, sessions, group, failures)
        handler = HttpHandler(name, sessions, forwarding)
        taken: int = listener.getsockname()[1]
        transport = Http(name, taken, listener, handler, sessions, failures=failures)
        group.start_soon(transport.serve)
        try:
            yield transport
        finally:
            sessions.end()
            group.cancel_scope.cancel()
