"""Chat completion chunks put together as a body; the way back is `openai_chat_chunks`.

What a body cannot hold makes the assembly lossy, and the boundary then keeps the raw frames.
"""

from __future__ import annotations

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.merging import MergedObject, Rule
from flowproof.dialects.openai_chat_chunks import (
    BODY_ORDER,
    CHUNK,
    frames,
    is_usage_chunk,
    number_of,
    ordered,
)
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, same

COMPLETION = "chat.completion"

_PIECES = frozenset(
    ("content", "refusal", "arguments", "input", "transcript", "data", "text", "summary")
)
_NOISE = frozenset(("choices", "object", "obfuscation"))
_CHOICE_ORDER = ("index", "message", "logprobs", "finish_reason")
_MESSAGE_ORDER = ("role", "content", "refusal", "tool_calls")
_CALL_ORDER = ("id", "type", "function", "custom")


def _delta_rule(key: str) -> Rule:
    if key == "name":
        return Rule.ONCE
    # Providers outside the published API stream their reasoning under several names.
    return Rule.JOIN if key in _PIECES or key.startswith(("reasoning", "thinking")) else Rule.MERGE


def _last(_key: str) -> Rule:
    return Rule.LAST


class _Choice:
    """One choice in pieces: what was said, and what stands around it."""

    def __init__(self) -> None:
        self._said = MergedObject(_delta_rule)
        self._around = MergedObject(_last)

    @property
    def lossy(self) -> bool:
        return self._said.lossy or self._around.lossy

    @property
    def finished(self) -> bool:
        return bool(self._around.text("finish_reason"))

    def add(self, entry: JsonObject) -> bool:
        """Take the next piece; whether all of it has a place in a body."""
        self._said.add({key: entry[key] for key in ("delta", "logprobs") if key in entry})
        apart = ("index", "delta", "logprobs", "message")
        self._around.add({key: value for key, value in entry.items() if key not in apart})
        return isinstance(entry.get("delta"), dict) and "message" not in entry

    def value(self, index: int) -> JsonObject:
        said = self._said.value()
        delta = said.pop("delta", None)
        message: JsonObject = {"role": "assistant", "content": None}
        message |= delta if isinstance(delta, dict) else {}
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [_plain_call(call) for call in calls]
        choice: JsonObject = {"index": index, "message": ordered(message, _MESSAGE_ORDER)}
        choice |= {"finish_reason": None} | said | self._around.value()
        return ordered(choice, _CHOICE_ORDER)


def _plain_call(call: JsonValue) -> JsonValue:
    if not isinstance(call, dict):
        return call
    typed: JsonObject = {"type": "function"} if "function" in call else {}
    typed |= {key: value for key, value in call.items() if key != "index"}
    return ordered(typed, _CALL_ORDER)


class ChatAssembler:
    """Puts the chunks of one stream together as the body of a plain response."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._top = MergedObject(_last)
        self._choices: dict[int, _Choice] = {}
        self._started = False
        self._done = False
        self._error: JsonObject | None = None
        self._dropped = False
        self._unread: str | None = None

    @property
    def unread(self) -> str | None:
        """The first data fed that is neither JSON nor `[DONE]`."""
        return self._unread

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame; only a usage frame that nobody asked for is not passed on."""
        fields = sse.fields(frame)
        lines = [value for name, value in fields if name == "data"]
        # A comment without text is a keep-alive; a body has no place for any other line.
        extras = [(name, value) for name, value in fields if name != "data" and (name or value)]
        self._dropped |= bool(extras) or not _is_utf8(frame)
        if not lines:
            return True
        data = "\n".join(lines)
        if self._done:
            self._dropped = True
            return True
        if data.strip() == "[DONE]":
            self._done = True
            return True
        try:
            chunk = parse(data)
        except JsonError:
            self._dropped = True
            if self._unread is None and data.strip():
                # Without any text an event is not given to a client.
                self._unread = data
            return True
        self._take(chunk, failed=("event", "error") in extras)
        return self._asked.stream_usage or not is_usage_chunk(chunk)

    def _take(self, chunk: JsonValue, *, failed: bool) -> None:
        if failed or (isinstance(chunk, dict) and chunk.get("error")):
            if self._error is None:
                self._error = chunk if isinstance(chunk, dict) else {"error": chunk}
            return
        choices = chunk.get("choices") if isinstance(chunk, dict) else None
        if not isinstance(chunk, dict) or not isinstance(choices, list):
            self._dropped = True
            return
        self._started = True
        self._top.add({key: value for key, value in chunk.items() if key not in _NOISE})
        for entry in choices:
            self._dropped |= not self._take_choice(entry)
        # Usage beside a choice, or a chunk with neither, would not come out of a body so.
        tells_usage = chunk.get("usage") is not None
        self._dropped |= bool(choices) is tells_usage or chunk.get("object") != CHUNK

    def _take_choice(self, entry: JsonValue) -> bool:
        if not isinstance(entry, dict):
            return False
        index = number_of(entry.get("index"), 0)
        whole = self._choices.setdefault(index, _Choice()).add(entry)
        return whole and entry.get("index") == index

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error event, `body` is that event. Without `[DONE]` a stream is complete if
        every choice seen in it has finished, and as many as were asked for. `body` is None
        where no chunk came.
        """
        if self._error is not None:
            return Assembled(self._error, complete=self._done, lossless=False, failed=True)
        asked = max(1, number_of(self._asked.pinned.get("n"), 1))
        seen = self._choices.values()
        finished = len(seen) >= asked and all(choice.finished for choice in seen)
        complete = self._done or finished
        lossy = self._dropped or self._top.lossy or any(c.lossy for c in self._choices.values())
        body = self.body()
        lossless = complete and not lossy and same(_again(body), body)
        return Assembled(body, complete=complete, lossless=lossless)

    def body(self) -> JsonValue:
        """The body that the chunks so far make; None where there was none."""
        if not self._started:
            return None
        choices: list[JsonValue] = [
            choice.value(index) for index, choice in sorted(self._choices.items())
        ]
        body: JsonObject = {"object": COMPLETION, "choices": choices}
        return ordered(body | self._top.value(), BODY_ORDER)


def _again(body: JsonValue) -> JsonValue:
    """The body after a way through synthesised chunks and back."""
    assembler = ChatAssembler(Asked({}, stream=True, stream_usage=True))
    for frame in frames(body, usage=True):
        assembler.feed(frame)
    return assembler.body()


def _is_utf8(frame: bytes) -> bool:
    try:
        frame.decode()
    except UnicodeDecodeError:
        return False
    return True
