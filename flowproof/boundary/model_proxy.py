"""What both proxies do with a request before it is answered: route it, read it, put mocks in.

`replaying_proxy` and `recording_proxy` answer it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flowproof.boundary.http1 import Reply, Request
from flowproof.boundary.mocks import MockResults, ResultsExhausted
from flowproof.boundary.traffic import UnservedRequests, arrival
from flowproof.dialects.interface import Asked, Dialect, Target
from flowproof.dialects.registry import find, find_side, resembling
from flowproof.model.jsonvalue import MAX_DEPTH, JsonError, JsonObject, deeper_than, parse, write
from flowproof.model.outcome import NOT_SERVED
from flowproof.model.rawtext import to_bytes
from flowproof.model.served import ADVICE
from flowproof.model.traffic import Unserved as Arrived
from flowproof.model.trajectory import ToolCall
from flowproof.model.turn import Operation, Response

if TYPE_CHECKING:
    from flowproof.dialects.side_endpoints import SideRoute

REFUSAL_CODE = "flowproof_divergence"
NO_RETRY = ("x-should-retry", "false")
_JSON = ("content-type", "application/json")
_TOO_DEEP = f"the request body is nested deeper than {MAX_DEPTH} levels"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request that a dialect serves. `request` is what is pinned, mocks put in; it may be
    nested deeper than anything that was recorded, which `too_deep` tells."""

    dialect: Dialect
    operation: Operation
    target: Target
    asked: Asked
    request: JsonObject
    mocked: tuple[str, ...]

    def too_deep(self) -> Unreadable | None:
        """What is wrong if the request is nested deeper than `MAX_DEPTH`. Asked only where a
        request is not known already: it costs as much as all else that a replay does with one."""
        if not deeper_than(self.request, MAX_DEPTH):
            return None
        return Unreadable(self.dialect, "request body", _TOO_DEEP)


@dataclass(frozen=True, slots=True)
class SideRequest:
    """A request to a side endpoint; `body` is None where it has none."""

    dialect: Dialect
    route: SideRoute
    body: JsonObject | None


@dataclass(frozen=True, slots=True)
class Probe:
    """A client asks whether anybody is there."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A request on a served path that cannot be matched: what is wrong with it, and the HTTP
    status that tells the client. With `beside` it is to a side endpoint, and no model request."""

    dialect: Dialect
    kind: str
    message: str
    status: int = 400
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Unserved:
    """A request that no dialect serves, refused in the shape of the one that it looks like."""

    dialect: Dialect
    arrived: Arrived
    message: str
    status: int = 404


class Intake:
    """Reads the model calls of one flow."""

    def __init__(self, mocks: MockResults) -> None:
        self._mocks = mocks
        self.unserved = UnservedRequests()
        # Mutable: the tool calls of all answers by id, kept only where a tool is mocked.
        self._calls: dict[str, ToolCall] = {}

    def read(self, request: Request) -> ModelCall | SideRequest | Probe | Unreadable | Unserved:
        """What a request asks for."""
        found = find(request.method, request.path)
        if found is None:
            return _beside(request) or self._unserved(request)
        dialect, operation = found
        body = _body(dialect, request)
        if isinstance(body, Unreadable):
            return body
        target = Target(request.path, request.query)
        asked = dialect.asked(body, target)
        if not self._mocks:
            return ModelCall(dialect, operation, target, asked, asked.pinned, ())
        try:
            pinned, mocked = dialect.substitute(asked.pinned, self._mocks, self._calls)
        except ResultsExhausted as error:
            return Unreadable(dialect, "mock results", str(error))
        return ModelCall(dialect, operation, target, asked, pinned, mocked)

    def _unserved(self, request: Request) -> Unserved:
        kind = arrival(request)
        arrived = self.unserved.note(request.method, request.path, kind)
        if kind == "upgrade" and (served := find("POST", request.path)) is not None:
            # Clients that would rather use a WebSocket fall back to a request of their own.
            message = f"flowproof serves {request.path} over HTTP/1.1, not over a WebSocket"
            return Unserved(served[0], arrived, message, 426)
        at = "a WebSocket at" if kind == "websocket" else request.method
        message = f"{NOT_SERVED} {at} {request.path}"
        if known := ADVICE.get(kind):
            message += f" ({known})"
        return Unserved(resembling(request.path, request.headers), arrived, message)

    def learn(self, dialect: Dialect, response: Response) -> None:
        """Remember the calls of an answer, to which a later request may bring only results."""
        if self._mocks:
            for message in dialect.answer(response.body).messages:
                self._calls |= {call.id: call for call in message.asks if call.id}


def _body(dialect: Dialect, request: Request) -> JsonObject | Unreadable:
    """The body of a request, as deep as it may be."""
    if (fault := request.fault) is not None:
        return Unreadable(dialect, fault.kind, fault.message, fault.status)
    try:
        body = parse(request.body, max_depth=None)
    except JsonError as error:
        return Unreadable(dialect, "request body", f"the request body is not JSON: {error}")
    if not isinstance(body, dict):
        return Unreadable(dialect, "request body", "the request body is not a JSON object")
    return body


def _beside(request: Request) -> SideRequest | Probe | Unreadable | None:
    """What a request asks for beside the conversation, None if it is none of that either."""
    found = find_side(request.method, request.path, request.query, request.headers)
    if found is None:
        return None
    dialect, route = found
    if route.endpoint.is_probe:
        return Probe()
    if request.method == "GET" and request.fault is None:
        return SideRequest(dialect, route, None)
    body = _body(dialect, request)
    if isinstance(body, Unreadable):
        return replace(body, beside=True)
    if deeper_than(body, MAX_DEPTH):
        return Unreadable(dialect, "request body", _TOO_DEEP, beside=True)
    return SideRequest(dialect, route, body)


async def send_stored(reply: Reply, response: Response, *, final: bool) -> None:
    """Answer with a recorded body. With `final` an error is not worth a retry: nobody tried
    again when it was recorded, whatever told the client not to."""
    text = response.text
    body = write(response.body).encode() if text is None else to_bytes(text)
    headers = [("content-type", response.content_type)]
    if response.status >= 400 and final:
        headers.append(NO_RETRY)
    await reply.send(response.status, headers, body)


async def answer_probe(reply: Reply) -> None:
    """Say that somebody is there, in the words that an Ollama server has for it."""
    await reply.send(200, [("content-type", "text/plain; charset=utf-8")], b"Ollama is running")


async def refuse(
    dialect: Dialect, reply: Reply, message: str, status: int = 400, code: str = REFUSAL_CODE
) -> None:
    """Answer so that the client fails at once: a status that SDKs do not retry (400, 413, 415),
    and the diagnosis where their error messages show it."""
    body = dialect.error(status, message, code)
    await reply.send(status, [_JSON, NO_RETRY], write(body).encode())


async def refuse_unserved(reply: Reply, unserved: Unserved) -> None:
    """Answer a request that no dialect serves."""
    body = unserved.dialect.error(unserved.status, unserved.message, "flowproof_unserved")
    await reply.send(unserved.status, [_JSON, NO_RETRY], write(body).encode())
