"""Answers the requests of an agent to one MCP server over streamable HTTP, in both phases.

`http` listens, `http_forwarding` is the way to the real server of a recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from flowproof.boundary.http1 import Headers, Reply, Request
from flowproof.boundary.mcp.http_connection import Connection, Done
from flowproof.boundary.mcp.http_door import is_endpoint, turned_away
from flowproof.boundary.mcp.http_posted import (
    SESSION,
    VERSION,
    Posted,
    header,
    is_modern,
    posted,
)
from flowproof.boundary.mcp.http_sessions import Sessions, Unroutable
from flowproof.boundary.mcp.http_streams import JSON, STREAM, Exchange, Outlet
from flowproof.boundary.mcp.jsonrpc import INVALID_REQUEST, MAX_MESSAGE, error
from flowproof.boundary.mcp.transport import Trouble
from flowproof.model.jsonvalue import JsonObject, write
from flowproof.model.rawtext import to_bytes
from flowproof.model.visible import visible

if TYPE_CHECKING:
    from flowproof.boundary.mcp.http_forwarding import Forwarding, Relayed

_SHOWN = 200
_LONGEST_EVENT_ID = 18
_TOO_LARGE = bytes(MAX_MESSAGE + 1)


class HttpHandler:
    """Handles the requests of one flow to one server; without `forwarding` it replays."""

    def __init__(self, server: str, sessions: Sessions, forwarding: Forwarding | None) -> None:
        self._server = server
        self._sessions = sessions
        self._forwarding = forwarding
        # Mutable: exchanges that are still to be answered; what no session could be given.
        self._open: list[Exchange] = []
        self._unreadable: dict[str, None] = {}
        self._changed = anyio.Event()

    @property
    def troubles(self) -> list[Trouble]:
        """Why a recording cannot be kept, and what of the agent no session could be given."""
        own = [Trouble(text, "author") for text in self._unreadable]
        return own if self._forwarding is None else [*self._forwarding.troubles, *own]

    async def settled(self) -> None:
        """Wait until every answer has come that anybody may still wait for."""
        while any(not (exchange.done or exchange.listens) for exchange in self._open):
            self._changed = anyio.Event()
            with anyio.move_on_after(0.05):
                await self._changed.wait()

    def unreadable(self, message: str) -> None:
        """Note what arrived in place of a request."""
        self._unreadable[f"MCP server `{self._server}`: {message}"] = None

    async def handle(self, request: Request, reply: Reply) -> None:
        """Answer one request."""
        if not is_endpoint(request.path):
            shown = visible(request.path[:_SHOWN])
            await _say(reply, 404, f"flowproof's MCP listener serves /mcp, not {shown}")
        elif reason := turned_away(request):
            await _refuse(reply, 403, reason)
        elif request.fault is not None and request.fault.status != 413:
            self.unreadable(request.fault.message)
            await _refuse(reply, request.fault.status, request.fault.message)
        elif request.method == "POST":
            await self._post(request, reply)
        elif request.method not in {"GET", "DELETE"} or is_modern(header(request, VERSION)):
            await _refuse(reply, 405, "no such method here", [("allow", "POST")])
        else:
            found = self._sessions.of_id(header(request, SESSION))
            if isinstance(found, Unroutable):
                await _refuse(reply, found.status, found.message)
            elif request.method == "GET":
                await self._get(found, request, reply)
            else:
                await self._delete(found, request, reply)

    async def _post(self, request: Request, reply: Reply) -> None:
        carried = posted(request)
        found = self._sessions.of_post(header(request, SESSION), carried)
        if isinstance(found, Unroutable):
            await _refuse(reply, found.status, found.message)
            return
        exchange = found.expect(carried)
        # What was too large was not kept; a session has words for it.
        done = found.receive(request.body if request.fault is None else _TOO_LARGE)
        if done.refusal is not None:
            if exchange is not None:
                found.leave(exchange)
            status = 400 if request.fault is None else request.fault.status
            await reply.send(status, [JSON], write(done.refusal).encode())
        elif exchange is None:
            await self._relay(found, done, request, reply)
        else:
            await self._exchange(found, exchange, carried, done, request, reply)

    async def _relay(
        self, connection: Connection, done: Done, request: Request, reply: Reply
    ) -> None:
        """Answer a POST that asks for nothing."""
        status, text = 202, ""
        if self._forwarding is not None and done.to_server:
            taken = await self._forwarding.tell(connection, done.to_server, request.headers)
            status, text = taken.status, taken.text
        await _pass_on(reply, status, text)

    async def _exchange(
        self,
        connection: Connection,
        exchange: Exchange,
        carried: Posted,
        done: Done,
        request: Request,
        reply: Reply,
    ) -> None:
        self._open.append(exchange)
        try:
            if self._forwarding is not None:
                await self._forward(self._forwarding, connection, exchange, done, request)
            elif carried.method == "initialize" and exchange.succeeded:
                named = self._sessions.establish(connection, None)
                exchange.headers = [(SESSION, named)]
            if await exchange.reply_to(reply, connection.push):
                return
            if not connection.pushes:
                exchange.abandon()
                connection.leave(exchange)
        finally:
            if exchange.done or not connection.pushes:
                self._open.remove(exchange)
            self._changed.set()

    async def _forward(
        self,
        forwarding: Forwarding,
        connection: Connection,
        exchange: Exchange,
        done: Done,
        request: Request,
    ) -> None:
        for message in done.to_server:
            if "method" in message and "id" in message:
                forwarding.ask(connection, exchange, message, request.headers)
            else:
                await forwarding.tell(connection, [message], request.headers)

    async def _get(self, connection: Connection, request: Request, reply: Reply) -> None:
        after = _event_id(header(request, "last-event-id"))
        outlet = connection.push if after is None else connection.stream_of(after)
        if outlet.attached:
            await _refuse(reply, 409, "this session has a stream already")
            return
        outlet.take(reply)
        if (refused := await self._no_push(connection, outlet, request)) is not None:
            outlet.release(reply)
            await _pass_on(reply, refused.status, refused.text)
            return
        await reply.start(200, [*STREAM, (SESSION, connection.id or "")])
        await outlet.feed(reply, after)

    async def _no_push(
        self, connection: Connection, outlet: Outlet, request: Request
    ) -> Relayed | None:
        """Open the stream of the real server, if it is that which the agent wants; None if it is
        there."""
        if self._forwarding is None or outlet is not connection.push or connection.pumping:
            return None
        taken = await self._forwarding.push(connection, request.headers)
        return None if taken.status == 200 else taken

    async def _delete(self, connection: Connection, request: Request, reply: Reply) -> None:
        status, text = 200, ""
        if self._forwarding is not None:
            taken = await self._forwarding.delete(connection, request.headers)
            status, text = taken.status, taken.text
        if 200 <= status < 300:
            connection.end()
        await _pass_on(reply, status, text)


def _event_id(value: str | None) -> int | None:
    """The number of an event of ours; another's is taken for the beginning."""
    if value is None:
        return None
    known = value.isascii() and value.isdigit() and len(value) <= _LONGEST_EVENT_ID
    return int(value) if known else 0


async def _pass_on(reply: Reply, status: int, text: str) -> None:
    kind = JSON if text.lstrip().startswith("{") else ("content-type", "text/plain")
    await reply.send(status, [kind] if text else [], to_bytes(text))


async def _say(reply: Reply, status: int, text: str) -> None:
    await reply.send(status, [("content-type", "text/plain")], text.encode())


async def _refuse(reply: Reply, status: int, reason: str, headers: Headers = ()) -> None:
    body: JsonObject = error(None, INVALID_REQUEST, f"flowproof: {reason}")
    await reply.send(status, [JSON, *headers], write(body).encode())
