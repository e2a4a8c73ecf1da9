"""Chat completion chunks put together as a body; the way back is `openai_chat_chunks`."""

from __future__ import annotations

from flowproof.dialects.interface import Asked
from flowproof.dialects.merging import MergedObject, Rule
from flowproof.dialects.openai_chat_chunks import CHUNK, frames
from flowproof.dialects.openai_chunk_assembly import ChunkAssembler
from flowproof.dialects.openai_chunks import BODY_ORDER
from flowproof.dialects.values import number_of, ordered
from flowproof.model.jsonvalue import JsonObject, JsonValue, same

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


class ChatAssembler(ChunkAssembler):
    """Puts the chunks of one stream together as the body of a plain response."""

    kind = CHUNK

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._top = MergedObject(_last)
        self._choices: dict[int, _Choice] = {}

    def _take_chunk(self, chunk: JsonObject, choices: list[JsonValue]) -> None:
        self._top.add({key: value for key, value in chunk.items() if key not in _NOISE})
        for entry in choices:
            self._dropped |= not self._take_choice(entry)

    def _take_choice(self, entry: JsonValue) -> bool:
        if not isinstance(entry, dict):
            return False
        index = number_of(entry.get("index"), 0)
        whole = self._choices.setdefault(index, _Choice()).add(entry)
        return whole and entry.get("index") == index

    def _finished(self) -> bool:
        asked = max(1, number_of(self._asked.pinned.get("n"), 1))
        seen = self._choices.values()
        return len(seen) >= asked and all(choice.finished for choice in seen)

    def _body(self) -> JsonObject:
        choices: list[JsonValue] = [
            choice.value(index) for index, choice in sorted(self._choices.items())
        ]
        body: JsonObject = {"object": COMPLETION, "choices": choices}
        return ordered(body | self._top.value(), BODY_ORDER)

    def _comes_out(self, body: JsonValue) -> bool:
        if self._top.lossy or any(choice.lossy for choice in self._choices.values()):
            return False
        again = ChatAssembler(Asked({}, stream=True, stream_usage=True))
        for frame in frames(body, usage=True):
            again.feed(frame)
        return same(again.body(), body)
