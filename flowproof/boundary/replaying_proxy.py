"""The model boundary at replay: answers from a cassette. There is no HTTP client here.

Its counterpart at record is `recording_proxy`.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.boundary.cassette import Cassette, Taken
from flowproof.boundary.http1 import Reply, Request
from flowproof.boundary.model_proxy import (
    NO_RETRY,
    Intake,
    ModelCall,
    Unreadable,
    Unserved,
    refuse,
    refuse_unserved,
)
from flowproof.model.jsonvalue import write
from flowproof.model.outcome import REFUSED
from flowproof.model.rawtext import to_bytes
from flowproof.model.turn import Response


class ReplayingProxy:
    """Handles the requests of one replayed flow."""

    def __init__(self, intake: Intake, cassette: Cassette) -> None:
        self._intake = intake
        self._cassette = cassette

    def unreadable(self, message: str) -> None:
        """Fail the run because of what arrived in place of a request."""
        self._cassette.reject("request", message)

    async def handle(self, request: Request, reply: Reply) -> None:
        """Answer one request: from the recording, or with a refusal that names the difference."""
        call = self._intake.read(request)
        if isinstance(call, Unserved):
            await refuse_unserved(reply, call)
            return
        if isinstance(call, ModelCall):
            taken = self._cassette.find(call.operation, call.request)
            if taken is not None:
                self._intake.learn(call.dialect, taken.turn.response)
                await _serve(call, taken, reply)
                return
            call = call.too_deep() or call
        if isinstance(call, Unreadable):
            divergence = self._cassette.reject(call.kind, call.message)
        else:
            divergence = self._cassette.miss(call.operation, call.request)
        status = call.status if isinstance(call, Unreadable) else 400
        await refuse(call.dialect, reply, f"{REFUSED}: {divergence}", status)


async def _serve(call: ModelCall, taken: Taken, reply: Reply) -> None:
    response = taken.turn.response
    frames = _frames(call, response)
    if frames is None:
        text = response.text
        body = write(response.body).encode() if text is None else to_bytes(text)
        headers = [("content-type", response.content_type)]
        if response.status >= 400 and taken.last:
            # Nobody tried again when this was recorded, whatever told the client not to.
            headers.append(NO_RETRY)
        await reply.send(response.status, headers, body)
        return
    content_type = call.dialect.framing(call.asked).content_type
    headers = [("content-type", content_type), ("cache-control", "no-cache")]
    await reply.start(response.status, headers)
    for frame in frames:
        await reply.chunk(frame)
    await reply.end()


def _frames(call: ModelCall, response: Response) -> Iterable[bytes] | None:
    """The answer as a stream, or None where it is to be a plain body."""
    if not call.asked.stream or response.status >= 300 or response.text is not None:
        return None
    if response.events is not None:
        return call.dialect.replayed(response.events, call.asked)
    return call.dialect.stream(response.body, call.asked)
