"""One stand-in whose messages a session answers, while recording with a real server behind it.

Counterparts: `stand_in` at the other end; `stdio`, which takes the connections of an agent.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from typing import assert_never

import anyio

from flowproof.boundary.mcp.interface import Command, Hang, Session, ToAgent, ToServer
from flowproof.boundary.mcp.lines import Lines
from flowproof.boundary.mcp.outbox import Outbox
from flowproof.boundary.mcp.server import Output, Process, ServerEnd
from flowproof.model.jsonvalue import JsonObject, write
from flowproof.model.visible import visible

_CHUNK = 65536
_FLUSH_SECONDS = 5.0
"""How long either side may take to read its last messages before it is given up."""
_LAST_WORDS = 200


class Connection:
    """One stand-in, whose messages a session answers; while recording with a real server behind
    it. `failed` is told if that could not be started."""

    def __init__(
        self,
        channel: socket.socket,
        session: Session,
        process: Process | None = None,
        output: Output | None = None,
        failed: Callable[[ServerEnd], None] = lambda end: None,
    ) -> None:
        self._channel = channel
        self._session = session
        self._process = process
        self._output = output or Output()
        self._failed = failed
        self._agent = Outbox(self._send)
        self._server = Outbox(process.send) if process else None
        # Mutable: how far it has come. `_broken` says how the server ended before the agent left.
        self._over = anyio.CancelScope()
        self._leaving = False
        self._broken = ""
        self._written, self._gone = anyio.Event(), anyio.Event()

    async def run(self) -> None:
        """Serve it to its end. Cancelling the call leaves no server behind."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._agent.run)
                if self._process and self._server:
                    tasks.start_soon(self._run_server, self._process)
                    tasks.start_soon(self._write_server, self._server)
                    await self._listen()
                    await self._leave(self._process, self._server)
                else:
                    await self._listen()
                tasks.cancel_scope.deadline = anyio.current_time() + _FLUSH_SECONDS
                self._agent.end()
        finally:
            self._session.closed()

    async def _listen(self) -> None:
        """Hand the session what the agent says, until one of them has ended the connection."""
        lines = Lines()
        with self._over:
            while data := await self._receive():
                await self._heard(lines.feed(data))
            await self._heard(lines.rest())

    async def _heard(self, messages: Iterable[bytes]) -> None:
        for message in messages:
            if self._over.cancel_called:
                return
            self._carry_out(self._session.from_agent(message))
            await self._agent.room()
            if self._server:
                await self._server.room()

    def _carry_out(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case ToAgent(message):
                    self._agent.put(_line(message))
                case ToServer(message):
                    self._to_server(message)
                case Hang():
                    self._over.cancel()
                case _:
                    assert_never(command)

    def _to_server(self, message: JsonObject) -> None:
        if self._server is None:
            raise RuntimeError("a session that replays has no server to send to")
        if not self._broken:
            self._server.put(_line(message))
        elif "method" in message and "id" in message:
            self._carry_out(self._session.server_broke(message["id"], None, self._broken))

    async def _run_server(self, process: Process) -> None:
        end = await process.run(self._said)
        for message in self._output.rest():
            self._carry_out(self._session.from_server(message))
        if not end.started:
            self._failed(end)
        if not self._leaving:
            self._broken = _broken(end, process.stderr)
            self._carry_out(self._session.server_broke(None, None, self._broken))
        self._gone.set()

    async def _said(self, data: bytes) -> None:
        for message in self._output.feed(data):
            self._carry_out(self._session.from_server(message))
            await self._agent.room()

    async def _write_server(self, server: Outbox) -> None:
        await server.run()
        self._written.set()

    async def _leave(self, process: Process, server: Outbox) -> None:
        """End the server's input after all that the agent said, and see the server's end. One that
        does not read is not waited for."""
        self._leaving = True
        server.end()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._written.wait()
        process.finish()
        await self._gone.wait()

    async def _receive(self) -> bytes:
        """What the agent says next; nothing once it has ended."""
        while True:
            await anyio.wait_readable(self._channel)
            try:
                return self._channel.recv(_CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                return b""

    async def _send(self, data: bytes) -> None:
        """Write to the agent; what it no longer reads is lost."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._channel)
            except OSError:
                return


def _line(message: JsonObject) -> bytes:
    return write(message).encode() + b"\n"


def _broken(end: ServerEnd, stderr: str) -> str:
    """How a server ended, with the last that it said of it."""
    said = next((line for line in reversed(stderr.splitlines()) if line.strip()), "")
    if not end.started:
        return f"it could not be started: {end.words}"
    words = f"; it said: {visible(said.strip()[:_LAST_WORDS])}" if said else ""
    return f"its process {end.words}{words}"
