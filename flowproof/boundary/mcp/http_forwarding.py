"""Record over streamable HTTP: what the agent sends goes to the real server, and its answers back.

`http_upstream` does the going; nothing of this is imported at replay.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup, TaskStatus

from flowproof.boundary.http1 import Headers
from flowproof.boundary.mcp.http_connection import Connection
from flowproof.boundary.mcp.http_sessions import Sessions
from flowproof.boundary.mcp.http_streams import Exchange
from flowproof.boundary.mcp.http_upstream import (
    SESSION,
    HttpAnswer,
    HttpUpstream,
    sent_on,
)
from flowproof.boundary.mcp.jsonrpc import Response, Unreadable, classify, key, read
from flowproof.boundary.mcp.transport import Trouble
from flowproof.boundary.upstream import NoAnswer
from flowproof.model.jsonvalue import JsonObject, write
from flowproof.model.mcp import RequestId, RpcError
from flowproof.model.visible import compact

_TRIES = 3
"""How often a stream is taken up again that brings nothing."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """How the real server took what asks for no answer: its HTTP status, with a text where that
    is a refusal."""

    status: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Forwarding:
    """The way to the real server of one recording."""

    server: str
    upstream: HttpUpstream
    sessions: Sessions
    group: TaskGroup
    failures: list[Exception]
    _troubles: dict[Trouble, None] = field(default_factory=dict)

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Why the recording cannot be kept."""
        return tuple(self._troubles)

    def ask(
        self, connection: Connection, exchange: Exchange, message: JsonObject, headers: Headers
    ) -> None:
        """Send a message of an exchange, and what it answers to the agent as it comes."""
        self.group.start_soon(self._ask, connection, exchange, message, sent_on(headers))

    async def tell(
        self, connection: Connection, messages: Sequence[JsonObject], headers: Headers
    ) -> Relayed:
        """Send messages that ask for no answer, one after another."""
        for message in messages:
            body = write(message).encode()
            try:
                async with self._post(connection, headers, body) as answer:
                    if not 200 <= answer.status < 300:
                        self._look_at(answer.status, text := await answer.text())
                        return Relayed(answer.status, text)
                    async for data in answer.messages():
                        await self._take(connection, data, None, headers)
            except NoAnswer as error:
                return Relayed(502, self._unreachable(error))
        return Relayed(202)

    async def delete(self, connection: Connection, headers: Headers) -> Relayed:
        """End a session at the real server."""
        sent = _session(connection, sent_on(headers))
        try:
            async with self.upstream.send("DELETE", sent) as answer:
                return Relayed(answer.status, await answer.text())
        except NoAnswer as error:
            return Relayed(502, self._unreachable(error))

    async def push(self, connection: Connection, headers: Headers) -> Relayed:
        """Open the stream of what the real server sends unasked, and go on reading it."""
        taken: Relayed = await self.group.start(self._push, connection, sent_on(headers))
        return taken

    async def _push(
        self, connection: Connection, headers: Headers, *, task_status: TaskStatus[Relayed]
    ) -> None:
        told = False
        try:
            sent = _session(connection, headers)
            if connection.pump_after is not None:
                sent.append(("last-event-id", connection.pump_after))
            async with self.upstream.send("GET", sent, waits=False) as answer:
                if answer.status != 200:
                    task_status.started(Relayed(answer.status, await answer.text()))
                    return
                if answer.media_type != "text/event-stream":
                    task_status.started(Relayed(405, "the real MCP server has no such stream"))
                    return
                connection.pumping = told = True
                task_status.started(Relayed(200))
                async for data in answer.messages():
                    connection.pump_after = answer.last_event
                    await self._take(connection, data, None, headers)
        except NoAnswer as error:
            # A stream that breaks off may be taken up again; one that never was is no server.
            if not told:
                task_status.started(Relayed(502, self._unreachable(error)))
        except Exception as error:
            self.failures.append(error)
            if not told:
                task_status.started(Relayed(500, "flowproof failed; its report says how"))
        finally:
            if told:
                connection.pumping = False
                connection.push.release()

    async def _ask(
        self, connection: Connection, exchange: Exchange, message: JsonObject, headers: Headers
    ) -> None:
        request = message.get("id")
        with exchange.stoppable():
            try:
                await self._exchanged(connection, exchange, message, headers)
            except NoAnswer as error:
                if exchange.waits(request):
                    exchange.status = 502
                    self._break(connection, exchange, request, None, self._silent(error))
            except Exception as error:
                self.failures.append(error)
                exchange.fail(500, "flowproof failed on this request; its report says how")

    async def _exchanged(
        self, connection: Connection, exchange: Exchange, message: JsonObject, headers: Headers
    ) -> None:
        request = message.get("id")
        body = write(message).encode()
        async with self._post(connection, headers, body, waits=not exchange.listens) as answer:
            if not 200 <= answer.status < 300 or answer.status == 202:
                self._refused(connection, exchange, request, answer, await answer.text())
                return
            if message.get("method") == "initialize":
                named = self.sessions.establish(connection, answer.session)
                exchange.headers = [(SESSION, named)]
            await self._relay(connection, exchange, answer, headers)
            retry, last = answer.retry, answer.last_event
        tries = 0
        while last is not None and exchange.waits(request) and tries < _TRIES:
            await anyio.sleep(retry)
            sent = [*_session(connection, headers), ("last-event-id", last)]
            async with self.upstream.send("GET", sent) as answer:
                if answer.status != 200:
                    break
                await self._relay(connection, exchange, answer, headers)
            tries = 0 if answer.last_event not in {None, last} else tries + 1
            last, retry = answer.last_event or last, answer.retry
        if exchange.waits(request):
            exchange.status = 502
            text = f"{self.upstream.origin} ended its answer without a response"
            self._break(connection, exchange, request, None, text)

    async def _relay(
        self, connection: Connection, exchange: Exchange, answer: HttpAnswer, headers: Headers
    ) -> None:
        async for data in answer.messages():
            await self._take(connection, data, exchange, headers)

    def _refused(
        self,
        connection: Connection,
        exchange: Exchange,
        request: RequestId,
        answer: HttpAnswer,
        text: str,
    ) -> None:
        """An answer with a status that is none of success: a JSON-RPC error if it holds one for
        this request, else the status itself is what is kept."""
        self._look_at(answer.status, text)
        if answer.status not in {401, 403} and _is_error_for(request, text):
            connection.tell(text.encode(), exchange)
        if exchange.waits(request):
            self._break(connection, exchange, request, answer.status, text)

    def _break(
        self,
        connection: Connection,
        exchange: Exchange,
        request: RequestId,
        status: int | None,
        text: str,
    ) -> None:
        connection.broke(request, status, text)
        if exchange.waits(request):
            exchange.fail(status, text)

    @contextlib.asynccontextmanager
    async def _post(
        self, connection: Connection, headers: Headers, body: bytes, *, waits: bool = True
    ) -> AsyncIterator[HttpAnswer]:
        sent = _session(connection, sent_on(headers))
        async with self.upstream.send("POST", sent, body, waits=waits) as answer:
            yield answer

    async def _take(
        self, connection: Connection, data: bytes, exchange: Exchange | None, headers: Headers
    ) -> None:
        """Give a session what the real server sent."""
        # A server that never pauses would keep everything else from running, an end included.
        await anyio.lowlevel.checkpoint()
        done = connection.tell(data, exchange)
        if done.to_server:
            await self.tell(connection, done.to_server, headers)

    def _look_at(self, status: int, text: str) -> None:
        """Note a status that means that the recording cannot go on."""
        said = f" (it said: {compact(text)})" if text.strip() else ""
        if status in {401, 403}:
            self._note(
                f"the real MCP server `{self.server}` at {self.upstream.origin} answered {status}:"
                f" it did not accept the credentials that the agent sent{said}",
                "author",
            )
        elif 300 <= status < 400:
            self._note(
                f"the real MCP server `{self.server}` at {self.upstream.origin} answered {status},"
                " a redirect that flowproof does not follow: name the URL it leads to as `url:`",
                "author",
            )

    def _unreachable(self, error: NoAnswer) -> str:
        text = f"the real MCP server `{self.server}` gave no answer: {self._silent(error)}"
        self._note(text, "world")
        return text

    def _silent(self, error: NoAnswer) -> str:
        return f"{self.upstream.origin}: {error}"

    def _note(self, text: str, whose: Literal["author", "world"]) -> None:
        self._troubles[Trouble(text, whose)] = None


def _session(connection: Connection, headers: Headers) -> list[tuple[str, str]]:
    """Headers with the session id that the real server knows, if it gave one."""
    others = [(name, value) for name, value in headers if name != SESSION]
    named = connection.upstream_id
    return others if named is None else [*others, (SESSION, named)]


def _is_error_for(request: RequestId, text: str) -> bool:
    try:
        found = classify(read(text.encode()))
    except Unreadable:
        return False
    return (
        isinstance(found, Response)
        and isinstance(found.outcome, RpcError)
        and found.id is not None
        and key(found.id) == key(request)
    )
