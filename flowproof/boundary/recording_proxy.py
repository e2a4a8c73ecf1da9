"""The model boundary at record: forwards to the fixed upstream and captures what is said.

Its counterpart at replay is `replaying_proxy`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import anyio

from flowproof.boundary import azure
from flowproof.boundary.http1 import Headers, Reply, Request
from flowproof.boundary.model_proxy import (
    Intake,
    ModelCall,
    Probe,
    SideRequest,
    Unreadable,
    Unserved,
    answer_probe,
    refuse,
    refuse_unserved,
    send_stored,
)
from flowproof.boundary.recording import Exchange, Recording
from flowproof.boundary.side_recording import SideExchange, SideRecording
from flowproof.boundary.upstream import NoAnswer, NoUpstream, Upstream, UpstreamReply
from flowproof.dialects.interface import Dialect, Target
from flowproof.dialects.sse import FrameError
from flowproof.model.jsonvalue import JsonError, parse, write
from flowproof.model.outcome import CANNOT_RECORD, NO_ANSWER, Divergence
from flowproof.model.rawtext import from_bytes
from flowproof.model.turn import Response
from flowproof.model.visible import visible

UPSTREAM_CODE = "flowproof_upstream"
"""What an agent is told, in the words of its API, where no upstream answers it."""
UNREADABLE_CODE = "flowproof_unreadable"
_SHOWN = 100


class RecordingProxy:
    """Handles the requests of one flow that is being recorded."""

    def __init__(self, intake: Intake, recording: Recording, upstream: Upstream) -> None:
        self._intake = intake
        self._recording = recording
        self._upstream = upstream
        self.side_calls = SideRecording()
        # Mutable: how many requests no recording can hold, and the first of them.
        self.refused = 0
        self.rejected: Divergence | None = None
        # Mutable: what was asked for whose provider has no upstream, with what to do about it.
        self.stranded: dict[str, str] = {}
        # Mutable: replaced each time a request has ended, so that `settled` looks again.
        self._ended = anyio.Event()

    async def settled(self) -> None:
        """Wait until no request is on its way."""
        while self.in_flight:
            await self._ended.wait()

    @property
    def in_flight(self) -> int:
        """How many requests have no answer yet."""
        return self._recording.in_flight + self.side_calls.in_flight

    def unreadable(self, message: str) -> None:
        """Fail the recording because of what arrived in place of a request."""
        self._reject("request", message)

    def _reject(self, kind: str, message: str) -> None:
        self.refused += 1
        number = len(self._recording.exchanges) + self.refused
        self.rejected = self.rejected or Divergence(kind, message, number)

    def _reject_beside(self, call: Unreadable) -> None:
        self.side_calls.requests += 1
        number = self.side_calls.requests
        self.rejected = self.rejected or Divergence(call.kind, call.message, number)

    async def handle(self, request: Request, reply: Reply) -> None:
        """Forward one request and relay its answer as it arrives."""
        call = self._intake.read(request)
        if isinstance(call, Unserved):
            await refuse_unserved(reply, call)
            return
        if isinstance(call, Probe):
            await answer_probe(reply)
            return
        provider = ""
        if isinstance(call, SideRequest | ModelCall):
            provider = self._provider(call, request)
            if reason := self._strand(call, provider):
                message = f"{CANNOT_RECORD}: {reason}"
                await refuse(call.dialect, reply, message, code=UPSTREAM_CODE)
                return
        if isinstance(call, SideRequest):
            await self._beside(call, provider, request, reply)
            return
        if isinstance(call, ModelCall):
            call = call.too_deep() or call
        if isinstance(call, Unreadable):
            if call.beside:
                self._reject_beside(call)
            else:
                self._reject(call.kind, call.message)
            message = f"{CANNOT_RECORD}: {call.message}"
            await refuse(call.dialect, reply, message, call.status, UNREADABLE_CODE)
            return
        await self._forward(call, provider, request, reply)

    def _provider(self, call: ModelCall | SideRequest, request: Request) -> str:
        """Whose upstream a request goes to."""
        if isinstance(call, SideRequest):
            owner, path = call.route.endpoint.provider, call.route.target.path
        else:
            owner, path = call.dialect.provider, call.operation.path
        return self._upstream.among(azure.places(owner, _sent(request), path))

    def _strand(self, call: ModelCall | SideRequest, provider: str) -> str:
        """What to do so that a request has an upstream; empty if it has one."""
        try:
            self._upstream.base_url(provider)
        except NoUpstream as error:
            name = call.dialect.name
            if isinstance(call, SideRequest):
                name = call.route.endpoint.name
                self.side_calls.requests += 1
            else:
                self.refused += 1
            if provider == azure.AZURE:
                name += " from a client of Azure"
            return self.stranded.setdefault(name, f"no upstream for {name}: {error}")
        return ""

    async def _forward(
        self, call: ModelCall, provider: str, request: Request, reply: Reply
    ) -> None:
        exchange = self._recording.open(
            call.operation, call.request, call.mocked, call.asked.stream
        )
        body = write(call.dialect.forwarded(call.request, call.asked)).encode()
        target = call.dialect.destination(call.operation, call.asked, call.target)
        target = self._note_place(exchange, provider, target, request)
        framing = call.dialect.framing(call.asked)
        async with self._ending(exchange, call.dialect, reply):
            async with self._upstream.send(
                provider, request.method, target, request.headers, body
            ) as answer:
                if answer.status >= 300 or answer.media_type not in framing.media_types:
                    await self._relay_body(exchange, answer, reply)
                    _refuse_plain(exchange, answer)
                elif call.asked.stream:
                    await self._relay_stream(call, exchange, answer, reply)
                else:
                    exchange.unread = (
                        "the upstream answered with a stream of events, and none was asked for"
                    )
                    await self._relay_body(exchange, answer, reply)
            if exchange.response is not None:
                exchange.broken |= _tells_failure(call.dialect, exchange.response)
                self._intake.learn(call.dialect, exchange.response)

    def _note_place(
        self, exchange: Exchange | SideExchange, provider: str, target: Target, request: Request
    ) -> Target:
        """Note where an exchange goes: to this target below the provider's base URL."""
        if provider in (azure.AZURE, azure.AZURE_V1):
            target = Target(azure.below(_sent(request), target.path) + target.path, target.query)
        exchange.provider = provider
        exchange.upstream = self._upstream.base_url(provider) + target.path
        return target

    async def _beside(
        self, call: SideRequest, provider: str, request: Request, reply: Reply
    ) -> None:
        """Answer a side request: with what a replay would say, or forward it."""
        route = call.route
        known = self.side_calls.answered(route, call.body)
        if known is not None:
            await send_stored(reply, known, final=True)
            return
        exchange = self.side_calls.open(route, call.body)
        body = b"" if call.body is None else write(call.body).encode()
        target = self._note_place(exchange, provider, route.target, request)
        async with (
            self._ending(exchange, call.dialect, reply),
            self._upstream.send(provider, request.method, target, request.headers, body) as answer,
        ):
            data = await answer.body()
            _keep(exchange, answer, data)
            await reply.send(answer.status, answer.headers, data)

    @contextlib.asynccontextmanager
    async def _ending(
        self, exchange: Exchange | SideExchange, dialect: Dialect, reply: Reply
    ) -> AsyncIterator[None]:
        """Sees to it that an exchange ends with a response or with the reason why it has none."""
        try:
            yield
        except NoAnswer as error:
            exchange.failure = str(error)
            await _bad_gateway(dialect, reply, str(error))
        except Exception as error:
            exchange.response = None
            exchange.failure = f"flowproof itself failed on it ({type(error).__name__})"
            raise
        finally:
            if exchange.response is None and exchange.failure is None:
                exchange.failure = "it was cut off when the flow ended"
            self._ended.set()
            self._ended = anyio.Event()

    async def _relay_body(self, exchange: Exchange, answer: UpstreamReply, reply: Reply) -> None:
        data = await answer.body()
        exchange.left = left = reply.left()
        _keep(exchange, answer, data)
        await reply.send(answer.status, answer.headers, data)
        exchange.left = left or reply.gone

    async def _relay_stream(
        self, call: ModelCall, exchange: Exchange, answer: UpstreamReply, reply: Reply
    ) -> None:
        splitter = call.dialect.framing(call.asked).splitter()
        relay = _Relay(call, reply)
        await reply.start(answer.status, answer.headers)
        try:
            async for chunk in answer.chunks():
                await relay.take(answer.clean_frames(splitter.feed(chunk)))
        except (NoAnswer, FrameError) as error:
            exchange.unread = relay.unread
            exchange.failure = f"the stream broke off: {error}"
            await reply.cut()
            return
        # Before the rest: of a stream that ends early it is half a frame, and no JSON for that.
        exchange.unread = relay.unread
        if rest := splitter.rest():
            # Some servers leave out the blank line after the last frame.
            await relay.take([answer.clean(rest)])
        await reply.end()
        assembled = relay.assembler.result()
        if not (assembled.complete or assembled.failed):
            exchange.failure = "the stream ended before the answer was complete"
            return
        said = write(assembled.body).encode()
        exchange.unread = relay.unread
        if exchange.unread is None and answer.clean(said) != said:
            exchange.unread = "the stream repeats, in pieces, the key that it was sent"
        exchange.broken = assembled.failed
        exchange.left = relay.left
        keep = assembled.failed or not assembled.lossless
        exchange.response = Response(
            status=answer.status,
            body=assembled.body,
            events=tuple(map(from_bytes, relay.frames)) if keep else None,
        )


class _Relay:
    """The frames of one stream: put together, kept, and passed on to the agent."""

    def __init__(self, call: ModelCall, reply: Reply) -> None:
        self._reply = reply
        self.assembler = call.dialect.assembler(call.asked)
        # Mutable: what came, and whether the client had gone before it was told anything. One
        # that stops reading later, at the end or before, was answered: it does not ask again
        # by itself.
        self.frames: list[bytes] = []
        self.left = False

    async def take(self, frames: list[bytes]) -> None:
        """The next frames. The agent gets them in one piece, as they came: a write for each would
        cost more than all else."""
        if frames and not self.frames:
            self.left = self._reply.left()
        self.frames += frames
        if passed := b"".join([frame for frame in frames if self.assembler.feed(frame)]):
            await self._reply.chunk(passed)

    @property
    def unread(self) -> str | None:
        """What came that is not understood here."""
        found = self.assembler.unread
        if found is None:
            return None
        return f"the stream holds what {_fault(found)}: {visible(found[:_SHOWN])}"


def _fault(data: str) -> str:
    """Why data of a stream is not understood."""
    try:
        parse(data)
    except JsonError:
        return "is no JSON"
    return "this API does not speak"


def _sent(request: Request) -> Target:
    """Where a request arrived."""
    return Target(request.path, request.query)


def _tells_failure(dialect: Dialect, response: Response) -> bool:
    """Whether an answer that looks like a success says that the API failed."""
    return response.status < 300 and dialect.answer(response.body).failed


def _refuse_plain(exchange: Exchange, answer: UpstreamReply) -> None:
    """Make no turn of a whole answer in place of a stream: a replay would make a stream of it."""
    response = exchange.response
    if response is None or response.status >= 300 or response.text is not None:
        return
    if exchange.streamed:
        said = visible(answer.content_type) or "no content type"
        exchange.unread = f"the upstream answered with {said} where a stream was asked for"


def _keep(exchange: Exchange | SideExchange, answer: UpstreamReply, data: bytes) -> None:
    try:
        exchange.response = _plain_response(answer, data)
    except JsonError as error:
        exchange.failure = f"its {answer.content_type} is no JSON: {error}"


def _plain_response(answer: UpstreamReply, data: bytes) -> Response:
    """The answer as it is kept.

    :raises JsonError: if it was cut: it says that it is JSON and is none. An error or a redirect
        may well have no body.
    """
    content_type = answer.content_type or "application/octet-stream"
    try:
        return Response(answer.status, parse(data), content_type=content_type)
    except JsonError:
        if answer.is_json and (data or answer.status < 300):
            raise
        return Response(answer.status, None, text=from_bytes(data), content_type=content_type)


async def _bad_gateway(dialect: Dialect, reply: Reply, reason: str) -> None:
    """Tell the agent what a client of the real endpoint would see: a failure worth a retry."""
    message = f"{NO_ANSWER}: {reason}"
    headers: Headers = [("content-type", "application/json")]
    body = write(dialect.error(502, message, UPSTREAM_CODE)).encode()
    await reply.send(502, headers, body)
