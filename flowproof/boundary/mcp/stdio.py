"""The stdio transport: speaks with the stand-ins that an agent starts, and while recording with a
real server for each of them.

Counterparts: `stand_in` at the other end of each `stdio_connection`; a session, which decides.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
from collections.abc import AsyncIterator

import anyio
from anyio.abc import TaskGroup

from flowproof.boundary.connections import Connections, accepted
from flowproof.boundary.mcp.interface import Boundary
from flowproof.boundary.mcp.link import Link, listening, stranger
from flowproof.boundary.mcp.server import Output, Process, ServerEnd, StartProcess
from flowproof.boundary.mcp.stdio_connection import Connection
from flowproof.boundary.mcp.transport import Trouble, variables

_PAUSE_SECONDS = 0.05
_STDERR = 64 * 1024


class Stdio:
    """All connections of one agent to one stdio server. Fulfils `transport.Transport`.

    `start` makes the real server of a connection; None: there is none.
    """

    def __init__(
        self, name: str, boundary: Boundary, link: Link, start: StartProcess | None
    ) -> None:
        self._name = name
        self._boundary = boundary
        self._link = link
        self._start = start
        self._connections = Connections()
        # Mutable: what the connections leave.
        self._servers: list[tuple[Process, Output]] = []
        self._troubles: dict[Trouble, None] = {}
        self._strangers: set[int] = set()

    @property
    def handle(self) -> str:
        """The command of the stand-in, as a shell reads it."""
        return shlex.join(self._link.argv)

    @property
    def environment(self) -> dict[str, str]:
        """The command as a text, and as a JSON list."""
        return {
            **variables("FLOWPROOF_MCP_SERVER", self._name, self.handle),
            **variables("FLOWPROOF_MCP_ARGV", self._name, json.dumps(self._link.argv)),
        }

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Why real servers could not be started."""
        return tuple(self._troubles)

    @property
    def notes(self) -> tuple[str, ...]:
        """What servers printed before their first message, and who was turned away."""
        noisy = sum(output.noisy for _, output in self._servers)
        found = []
        if noisy:
            lines = [line for _, output in self._servers for line in output.noise]
            count = "a line" if noisy == 1 else f"{noisy} lines"
            found.append(
                f"MCP server `{self._name}` printed {count} to its standard output before its "
                f"first message, which clients skip and no replay repeats: {lines[0]}"
            )
        return (
            *found,
            *(
                f"MCP server `{self._name}`: a stand-in of another user (id {user}) was turned "
                "away; run the agent as the user who runs flowproof"
                for user in sorted(self._strangers)
            ),
        )

    @property
    def stderr(self) -> str:
        """What all real servers wrote there, the last of it."""
        texts = [process.stderr for process, _ in self._servers]
        return "\n".join(text for text in texts if text)[-_STDERR:]

    async def settle(self, within: float) -> None:
        """Wait for the end of all connections, with their servers."""
        with anyio.move_on_after(within):
            await accepted(self._link.listener)
            await self._connections.read(answered=True)

    async def serve(self, group: TaskGroup) -> None:
        """Take every connection that comes."""
        while True:
            await anyio.wait_readable(self._link.listener)
            try:
                channel, _ = self._link.listener.accept()
            except BlockingIOError:
                continue
            except OSError:
                await anyio.sleep(_PAUSE_SECONDS)  # no descriptor is left, for now
                continue
            stack = contextlib.ExitStack()
            stack.enter_context(channel)
            if (user := stranger(channel)) is not None:
                self._strangers.add(user)
                stack.close()
                continue
            stack.enter_context(self._connections.opened())
            channel.setblocking(False)
            group.start_soon(self._serve, channel, stack)

    async def _serve(self, channel: socket.socket, stack: contextlib.ExitStack) -> None:
        with stack:
            session = self._boundary.open()
            if self._start is None:
                await Connection(channel, session).run()
                return
            process, output = self._start(), Output()
            self._servers.append((process, output))
            await Connection(channel, session, process, output, self._failed).run()

    def _failed(self, end: ServerEnd) -> None:
        """Note that a server never ran."""
        told = f"MCP server `{self._name}` could not be started: {end.words}"
        self._troubles[Trouble(told, "author" if not end.lacking else "world")] = None


@contextlib.asynccontextmanager
async def open_stdio(
    name: str, boundary: Boundary, start: StartProcess | None
) -> AsyncIterator[Stdio]:
    """Take what an agent says to one server; `start` makes the real one for each connection, None
    while replaying. Leaving the context ends every connection and its server.

    :raises OSError: if the system has no socket left.
    """
    with listening() as link:
        async with anyio.create_task_group() as group:
            stdio = Stdio(name, boundary, link, start)
            group.start_soon(stdio.serve, group)
            yield stdio
            group.cancel_scope.cancel()
