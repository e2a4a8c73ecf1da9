"""The model boundary at replay: answers from a cassette. There is no HTTP client here.

Its counterpart at record is `recording_proxy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from flowproof.boundary.cassette import Cassette, Taken
from flowproof.boundary.http1 import Reply, Request
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
from flowproof.boundary.traffic import is_new
from flowproof.model.outcome import REFUSED, Divergence
from flowproof.model.traffic import Unserved as Arrived
from flowproof.model.turn import Response
from flowproof.model.visible import visible

if TYPE_CHECKING:
    from flowproof.boundary.side_calls import SideCalls


_PIECE = 64 * 1024


class ReplayingProxy:
    """Handles the requests of one replayed flow."""

    def __init__(
        self,
        intake: Intake,
        cassette: Cassette,
        side_calls: SideCalls,
        unserved: Sequence[Arrived] | None = None,
    ) -> None:
        """`unserved` are the requests that nobody served when this was recorded, None if that is
        not known."""
        self._unserved = unserved
        self._intake = intake
        self._cassette = cassette
        self._side_calls = side_calls

    def unreadable(self, message: str) -> None:
        """Fail the run because of what arrived in place of a request."""
        self._cassette.reject("request", message)

    async def handle(self, request: Request, reply: Reply) -> None:
        """Answer one request: from the recording, or with a refusal that names the difference."""
        call = self._intake.read(request)
        if isinstance(call, Unserved):
            await self._refuse_unserved(call, reply)
            return
        if isinstance(call, Probe):
            await answer_probe(reply)
            return
        if isinstance(call, SideRequest):
            await self._beside(call, reply)
            return
        if isinstance(call, ModelCall):
            taken = self._cassette.find(call.operation, call.request)
            if taken is not None:
                self._intake.learn(call.dialect, taken.turn.response)
                await _serve(call, taken, reply)
                return
            call = call.too_deep() or call
        if isinstance(call, Unreadable):
            divergence = self._reject(call)
        else:
            divergence = self._cassette.miss(call.operation, call.request)
        status = call.status if isinstance(call, Unreadable) else 400
        await refuse(call.dialect, reply, f"{REFUSED}: {divergence}", status)

    async def _beside(self, call: SideRequest, reply: Reply) -> None:
        """Answer a side request, unless the run has diverged: what follows says nothing."""
        if (divergence := self._cassette.divergence) is None:
            found = self._side_calls.find(call.route, call.body)
            if found is not None:
                await send_stored(reply, found.response, final=True)
                return
            divergence = self._cassette.refuse(self._side_calls.miss(call.route, call.body))
        else:
            self._side_calls.count()
        await refuse(call.dialect, reply, f"{REFUSED}: {divergence}")

    async def _refuse_unserved(self, call: Unserved, reply: Reply) -> None:
        """Refuse what nobody serves; one that the recording's agent did not ask for is a change
        of what the agent does."""
        if not is_new(call.arrived, self._unserved):
            await refuse_unserved(reply, call)
            return
        what = "a WebSocket at" if call.arrived.kind == "websocket" else call.arrived.method
        message = (
            f"the agent asked for {visible(f'{what} {call.arrived.path}')}, which it did not when "
            "this was recorded, and which flowproof does not serve"
        )
        found = Divergence("unserved request", message, self._cassette.requests + 1)
        divergence = self._cassette.refuse(found)
        await refuse(call.dialect, reply, f"{REFUSED}: {divergence}")

    def _reject(self, call: Unreadable) -> Divergence:
        if not call.beside:
            return self._cassette.reject(call.kind, call.message)
        number = self._side_calls.count()
        return self._cassette.refuse(Divergence(call.kind, call.message, number))


async def _serve(call: ModelCall, taken: Taken, reply: Reply) -> None:
    response = taken.turn.response
    frames = _frames(call, response)
    if frames is None:
        await send_stored(reply, response, final=taken.last)
        return
    content_type = call.dialect.framing(call.asked).content_type
    headers = [("content-type", content_type), ("cache-control", "no-cache")]
    await reply.start(response.status, headers)
    for piece in _pieces(frames):
        await reply.chunk(piece)
    await reply.end()


def _pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    """The frames joined to pieces of some size, since a write costs more than a frame."""
    waiting: list[bytes] = []
    size = 0
    for frame in frames:
        waiting.append(frame)
        size += len(frame)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)


def _frames(call: ModelCall, response: Response) -> Iterable[bytes] | None:
    """The answer as a stream, or None where it is to be a plain body."""
    if not call.asked.stream or response.status >= 300 or response.text is not None:
        return None
    if response.events is not None:
        return call.dialect.replayed(response.events, call.asked)
    return call.dialect.stream(response.body, call.asked)
