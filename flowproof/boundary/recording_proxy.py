"""The model boundary at record: forwards to the fixed upstream and captures what is said.

Its counterpart at replay is `replaying_proxy`.
"""

from __future__ import annotations

import anyio

from flowproof.boundary.http1 import Headers, Reply, Request
from flowproof.boundary.model_proxy import (
    Intake,
    ModelCall,
    Unreadable,
    Unserved,
    refuse,
    refuse_unserved,
)
from flowproof.boundary.recording import Exchange, Recording
from flowproof.boundary.upstream import NoAnswer, Upstream, UpstreamReply
from flowproof.dialects.interface import Dialect
from flowproof.dialects.sse import FrameError
from flowproof.model.jsonvalue import JsonError, parse, write
from flowproof.model.outcome import Divergence
from flowproof.model.rawtext import from_bytes
from flowproof.model.turn import Response
from flowproof.model.visible import visible

_SHOWN = 100


class RecordingProxy:
    """Handles the requests of one flow that is being recorded."""

    def __init__(self, intake: Intake, recording: Recording, upstream: Upstream) -> None:
        self._intake = intake
        self._recording = recording
        self._upstream = upstream
        # Mutable: how many requests no recording can hold, and the first of them.
        self.refused = 0
        self.rejected: Divergence | None = None
        # Mutable: replaced each time a request has ended, so that `settled` looks again.
        self._ended = anyio.Event()

    async def settled(self) -> None:
        """Wait until no request is on its way."""
        while self._recording.in_flight:
            await self._ended.wait()

    def unreadable(self, message: str) -> None:
        """Fail the recording because of what arrived in place of a request."""
        self._reject("request", message)

    def _reject(self, kind: str, message: str) -> None:
        number = len(self._recording.exchanges) + self.refused + 1
        self.refused += 1
        self.rejected = self.rejected or Divergence(kind, message, number)

    async def handle(self, request: Request, reply: Reply) -> None:
        """Forward one request and relay its answer as it arrives."""
        call = self._intake.read(request)
        if isinstance(call, Unserved):
            await refuse_unserved(reply, call)
            return
        if isinstance(call, ModelCall):
            call = call.too_deep() or call
        if isinstance(call, Unreadable):
            self._reject(call.kind, call.message)
            message = f"flowproof: cannot record: {call.message}"
            await refuse(call.dialect, reply, message, call.status)
            return
        exchange = self._recording.open(
            call.operation, call.request, call.mocked, call.asked.stream
        )
        body = write(call.dialect.forwarded(call.request, call.asked)).encode()
        target = call.dialect.destination(call.operation, call.asked, call.target)
        framing = call.dialect.framing(call.asked)
        try:
            async with self._upstream.send(
                call.dialect.provider, request.method, target, request.headers, body
            ) as answer:
                if answer.status >= 300 or answer.media_type not in framing.media_types:
                    await self._relay_body(exchange, answer, reply)
                elif call.asked.stream:
                    await self._relay_stream(call, exchange, answer, reply)
                else:
                    exchange.unread = (
                        "the upstream answered with a stream of events, and none was asked for"
                    )
                    await self._relay_body(exchange, answer, reply)
            if exchange.response is not None:
                self._intake.learn(call.dialect, exchange.response)
        except NoAnswer as error:
            exchange.failure = str(error)
            await _bad_gateway(call.dialect, reply, str(error))
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
        try:
            exchange.response = _plain_response(answer, data)
        except JsonError as error:
            exchange.failure = f"its {answer.content_type} is no JSON: {error}"
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
                for frame in splitter.feed(chunk):
                    await relay.take(answer.clean(frame))
        except (NoAnswer, FrameError) as error:
            exchange.unread = relay.unread
            exchange.failure = f"the stream broke off: {error}"
            await reply.cut()
            return
        # Before the rest: of a stream that ends early it is half a frame, and no JSON for that.
        exchange.unread = relay.unread
        if rest := splitter.rest():
            # Some servers leave out the blank line after the last frame.
            await relay.take(answer.clean(rest))
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

    async def take(self, frame: bytes) -> None:
        """The next frame."""
        if not self.frames:
            self.left = self._reply.left()
        self.frames.append(frame)
        if self.assembler.feed(frame):
            await self._reply.chunk(frame)

    @property
    def unread(self) -> str | None:
        """What came that is not understood here."""
        found = self.assembler.unread
        if found is None:
            return None
        return f"the stream holds what is no JSON: {visible(found[:_SHOWN])}"


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
    message = f"flowproof: the upstream gave no complete answer: {reason}"
    headers: Headers = [("content-type", "application/json")]
    body = write(dialect.error(502, message, "flowproof_upstream")).encode()
    await reply.send(502, headers, body)
