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
    refuse,
    refuse_unserved,
)
from flowproof.boundary.recording import Exchange, Recording
from flowproof.boundary.upstream import NoAnswer, Upstream, UpstreamReply
from flowproof.dialects.interface import Dialect
from flowproof.dialects.sse import FrameError, FrameSplitter
from flowproof.model.jsonvalue import JsonError, parse, write
from flowproof.model.outcome import Divergence
from flowproof.model.rawtext import from_bytes
from flowproof.model.turn import Response


class RecordingProxy:
    """Handles the requests of one flow that is being recorded."""

    def __init__(self, intake: Intake, recording: Recording, upstream: Upstream) -> None:
        self._intake = intake
        self._recording = recording
        self._upstream = upstream
        # Mutable: the first request that no recording can hold.
        self.refused = 0
        self.rejected: Divergence | None = None
        # Mutable: replaced each time a request has ended, so that `settled` looks again.
        self._ended = anyio.Event()

    async def settled(self) -> None:
        """Wait until no request is on its way."""
        while self._recording.in_flight:
            await self._ended.wait()

    async def handle(self, request: Request, reply: Reply) -> None:
        """Forward one request and relay its answer as it arrives."""
        call = self._intake.read(request)
        if call is None:
            await refuse_unserved(reply, request)
            return
        if isinstance(call, ModelCall):
            call = call.too_deep() or call
        if isinstance(call, Unreadable):
            number = len(self._recording.exchanges) + 1
            self.refused += 1
            self.rejected = self.rejected or Divergence(call.kind, call.message, number)
            message = f"flowproof: cannot record: {call.message}"
            await refuse(call.dialect, reply, message, call.status)
            return
        exchange = self._recording.open(
            call.operation, call.request, call.mocked, call.asked.stream
        )
        body = write(call.dialect.forwarded(call.request, call.asked)).encode()
        provider, path = call.dialect.provider, call.operation.path
        try:
            async with self._upstream.post(provider, path, request, body) as answer:
                if call.asked.stream and answer.status < 300 and answer.is_event_stream:
                    await self._relay_stream(call, exchange, answer, reply)
                else:
                    await self._relay_body(exchange, answer, reply)
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
        exchange.response = _plain_response(answer, data)
        await reply.send(answer.status, answer.headers, data)

    async def _relay_stream(
        self, call: ModelCall, exchange: Exchange, answer: UpstreamReply, reply: Reply
    ) -> None:
        assembler = call.dialect.assembler(call.asked)
        splitter = FrameSplitter()
        frames: list[bytes] = []
        await reply.start(answer.status, answer.headers)
        try:
            async for chunk in answer.chunks():
                for frame in splitter.feed(chunk):
                    frames.append(frame)
                    if assembler.feed(frame):
                        await reply.chunk(frame)
        except (NoAnswer, FrameError) as error:
            exchange.failure = f"the stream broke off: {error}"
            await reply.cut()
            return
        if rest := splitter.rest():
            # Some servers leave out the blank line after the last frame.
            frames.append(rest)
            if assembler.feed(rest):
                await reply.chunk(rest)
        await reply.end()
        assembled = assembler.result()
        if not (assembled.complete or assembled.failed):
            exchange.failure = "the stream ended before the answer was complete"
            return
        exchange.broken = assembled.failed
        keep = assembled.failed or not assembled.lossless
        exchange.response = Response(
            status=answer.status,
            body=assembled.body,
            events=tuple(from_bytes(frame) for frame in frames) if keep else None,
        )


def _plain_response(answer: UpstreamReply, data: bytes) -> Response:
    content_type = answer.content_type or "application/octet-stream"
    try:
        return Response(answer.status, parse(data), content_type=content_type)
    except JsonError:
        return Response(answer.status, None, text=from_bytes(data), content_type=content_type)


async def _bad_gateway(dialect: Dialect, reply: Reply, reason: str) -> None:
    """Tell the agent what a client of the real endpoint would see: a failure worth a retry."""
    message = f"flowproof: the upstream gave no complete answer: {reason}"
    headers: Headers = [("content-type", "application/json")]
    body = write(dialect.error(502, message, "flowproof_upstream")).encode()
    await reply.send(502, headers, body)
