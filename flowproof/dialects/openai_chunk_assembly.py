"""Chunks put together as a body with choices, as chat and legacy completions stream it.

`openai_chunks` is the way back. What a body cannot hold makes the assembly lossy, and the boundary
then keeps the raw frames.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from flowproof.dialects.assembling import StreamAssembler
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_chunks import is_usage_chunk
from flowproof.model.jsonvalue import JsonObject, JsonValue, Missing


class ChunkAssembler(StreamAssembler, ABC):
    """Puts the chunks of one stream together as the body of a plain response.

    `kind` is what a chunk of this API calls itself.
    """

    kind: str

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self._asked = asked
        # Mutable: whether a chunk came, and whether the stream said that it ends.
        self._started = False
        self._done = False

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame; only a usage frame that nobody asked for is not passed on."""
        event = self._event(frame)
        # These streams name no events; a body has no place for a name.
        self._dropped |= bool(event.names)
        data = event.data
        if data is None:
            return True
        if self._done:
            self._dropped = True
            return True
        if data.strip() == "[DONE]":
            self._done = True
            return True
        chunk = self._parsed(data)
        if isinstance(chunk, Missing):
            return True
        if "error" in event.names or (isinstance(chunk, dict) and chunk.get("error")):
            self._fail(chunk)
        else:
            self._take(chunk, data)
        return self._asked.stream_usage or not is_usage_chunk(chunk)

    def _take(self, chunk: JsonValue, data: str) -> None:
        choices = chunk.get("choices") if isinstance(chunk, dict) else None
        if not isinstance(chunk, dict) or not isinstance(choices, list):
            self._dropped = True
            if choices is not None:
                self._refuse(data)
            return
        if not all(map(self._reads, choices)):
            self._refuse(data)
        self._started = True
        self._take_chunk(chunk, choices)
        # Usage beside a choice, or a chunk with neither, would not come out of a body so.
        tells_usage = chunk.get("usage") is not None
        self._dropped |= bool(choices) is tells_usage or chunk.get("object") != self.kind

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error event, `body` is that event. Without `[DONE]` a stream is complete if
        every choice seen in it has finished, and as many as were asked for. `body` is None
        where no chunk came, and the stream incomplete.
        """
        if (failed := self._failed(complete=self._done)) is not None:
            return failed
        complete = self._started and (self._done or self._finished())
        body = self.body()
        lossless = complete and not self._dropped and self._comes_out(body)
        return Assembled(body, complete=complete, lossless=lossless)

    def body(self) -> JsonValue:
        """The body that the chunks so far make; None where there was none."""
        return self._body() if self._started else None

    def _reads(self, choice: JsonValue) -> bool:
        """Whether a choice of a chunk has a form that this API speaks."""
        return isinstance(choice, dict)

    @abstractmethod
    def _take_chunk(self, chunk: JsonObject, choices: list[JsonValue]) -> None:
        """Take the next chunk, with its choices."""

    @abstractmethod
    def _finished(self) -> bool:
        """Whether every choice seen has finished, and as many as were asked for."""

    @abstractmethod
    def _body(self) -> JsonObject:
        """The body of the chunks so far, of which there is one."""

    @abstractmethod
    def _comes_out(self, body: JsonValue) -> bool:
        """Whether the chunks that the body is told as say what these said."""
