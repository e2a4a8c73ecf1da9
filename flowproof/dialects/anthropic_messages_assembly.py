"""Stream events put together as a message body; the way back is `anthropic_messages_events`.

What a body cannot hold makes the assembly lossy, and the boundary then keeps the raw frames.
"""

from __future__ import annotations

from flowproof.dialects.anthropic_messages_events import TEXTS, frames
from flowproof.dialects.anthropic_messages_loss import Events
from flowproof.dialects.assembling import StreamAssembler
from flowproof.dialects.interface import Assembled
from flowproof.dialects.values import member_of
from flowproof.model.jsonvalue import MAX_DEPTH, JsonError, JsonObject, JsonValue, Missing, parse

_FIELDS = {"text_delta": "text", "thinking_delta": "thinking"}
_DEEPEST_INPUT = MAX_DEPTH - 20


class _Block:
    """One content block in pieces."""

    def __init__(self, start: JsonObject) -> None:
        self._fields = dict(start)
        # Mutable: the pieces of each text, by the field or delta that they belong to.
        self._pieces: dict[str, list[str]] = {}
        self._citations: list[JsonValue] = []
        self.stopped = False

    @property
    def garbled(self) -> bool:
        """Whether an input streamed that is no JSON object, which no body can hold."""
        return isinstance(self.value().get("input"), str)

    def add(self, delta: JsonObject) -> bool:
        """Take the next delta; whether it has the form that such a delta has."""
        kind = delta.get("type")
        match delta:
            case {"type": "citations_delta", "citation": citation}:
                self._citations.append(citation)
                return True
            case {"type": str(kind)} if kind in TEXTS:
                text = delta.get(TEXTS[kind])
                if isinstance(text, str):
                    self._pieces.setdefault(kind, []).append(text)
                return isinstance(text, str)
            case {"type": str()}:
                # Such as a signature: the fields whole. A kind unknown here is kept like that too.
                self._fields |= {key: value for key, value in delta.items() if key != "type"}
                return len(delta) > 1
            case _:
                return False

    def value(self) -> JsonObject:
        """The block so far."""
        value = dict(self._fields)
        if self._citations:
            begun = value.get("citations")
            value["citations"] = [*(begun if isinstance(begun, list) else ()), *self._citations]
        for kind, pieces in self._pieces.items():
            text = "".join(pieces)
            if field := _FIELDS.get(kind):
                opening = value.get(field)
                value[field] = opening + text if isinstance(opening, str) else text
            elif text:
                value["input"] = _input(text)
        return value


def _input(text: str) -> JsonValue:
    """The input that a streamed text denotes; the text itself where it is no JSON object."""
    try:
        value = parse(text, max_depth=_DEEPEST_INPUT)
    except JsonError:
        return text
    return value if isinstance(value, dict) else text


class MessagesAssembler(StreamAssembler):
    """Puts the events of one stream together as the body of a plain response."""

    def __init__(self) -> None:
        super().__init__()
        self._message: JsonObject | None = None
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._told = Events()
        self._stopped = False
        self._broken = False

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame; all are passed on."""
        read = self._event(frame)
        name = read.name
        if read.data is None or name == "ping":
            return True
        event = self._parsed(read.data)
        if isinstance(event, Missing):
            return True
        kind = member_of(event, "type")
        if "error" in (name, kind):
            self._fail(event)
        elif kind != "ping":
            # Clients skip an event that is not named; whether they do is theirs to show.
            self._dropped |= name != kind or self._stopped or not isinstance(event, dict)
            if isinstance(event, dict) and not self._stopped:
                self._broken |= not self._take(event)
                if not (self._dropped or self._broken):
                    # Else the raw frames are kept, whatever else was told.
                    self._told.add(event)
        return True

    def _take(self, event: JsonObject) -> bool:
        """Take one event; whether it has the form and the place that such an event has."""
        match event:
            case {"type": "message_start"}:
                message = event.get("message")
                first = self._message is None and not self._blocks
                if not isinstance(message, dict) or not first or message.get("content"):
                    return False
                # A copy: what was told is compared in the end.
                self._message = dict(message)
                return True
            case {"type": "content_block_start", "index": int(index), "content_block": dict(start)}:
                before = self._by_index.get(index)
                self._by_index[index] = block = _Block(start)
                self._blocks.append(block)
                return before is None and self._message is not None
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                found = self._by_index.get(index)
                return found is not None and not found.stopped and found.add(delta)
            case {"type": "content_block_stop", "index": int(index)}:
                found = self._by_index.get(index)
                if found is not None:
                    found.stopped = True
                return found is not None
            case {"type": "content_block_start" | "content_block_delta" | "content_block_stop"}:
                return False
            case {"type": "message_delta"}:
                return self._close(event)
            case {"type": "message_stop"}:
                self._stopped = True
                return True
            case _:
                # Of a kind unknown here, and so to clients: the raw frames are kept.
                self._dropped = True
                return True

    def _close(self, event: JsonObject) -> bool:
        delta, usage = event.get("delta"), event.get("usage")
        if self._message is None or not isinstance(delta, dict):
            return False
        beside = {key: v for key, v in event.items() if key not in ("type", "delta", "usage")}
        _overwrite(self._message, delta | beside)
        known = self._message.get("usage")
        if isinstance(usage, dict):
            self._message["usage"] = counted = dict(known) if isinstance(known, dict) else {}
            _overwrite(counted, usage)
        return True

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error event, `body` is that event. A stream is complete with the event that
        says so, if it gave a reason to stop and every block in it had an end. `body` is None
        where no message began.
        """
        if (failed := self._failed(complete=self._stopped)) is not None:
            return failed
        body = self.body()
        reason = body.get("stop_reason") if isinstance(body, dict) else None
        ended = all(block.stopped for block in self._blocks)
        complete = self._stopped and not self._broken and ended and isinstance(reason, str)
        lossless = complete and not self._dropped and not any(b.garbled for b in self._blocks)
        lossless = lossless and self._told.within(Events.by(frames(body)))
        return Assembled(body, complete=complete, lossless=lossless)

    def body(self) -> JsonValue:
        """The body that the events so far make; None where no message began."""
        if self._message is None:
            return None
        content: list[JsonValue] = [block.value() for block in self._blocks]
        return self._message | {"content": content}


def _overwrite(held: JsonObject, told: JsonObject) -> None:
    """Let later values replace earlier ones; null says nothing about a value that is there."""
    held |= {key: value for key, value in told.items() if value is not None or key not in held}
