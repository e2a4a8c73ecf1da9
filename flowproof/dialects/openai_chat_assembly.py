"""Chat completion chunks put together as a body; the way back is `openai_chat_chunks`."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects.interface import Asked
from flowproof.dialects.merging import MergedObject, Rule
from flowproof.dialects.openai_chat_chunks import ARGUMENTS, CHUNK, frames
from flowproof.dialects.openai_chunk_assembly import ChunkAssembler
from flowproof.dialects.openai_chunks import BODY_ORDER
from flowproof.dialects.values import member_of, number_of, ordered, text_of
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


class _Calls:
    """Tells calls apart that have no id of their own; `offered` are the tools to be called."""

    def __init__(self, offered: frozenset[str]) -> None:
        self._offered = offered

    def another(self, held: MergedObject, piece: JsonObject, together: bool) -> bool:
        """Whether a piece begins a call of its own.

        It does if it names a tool where the call so far has another name and arguments already,
        or arguments that are whole; pieces of one name come before them, and one in a chunk.
        """
        for kind, key in ARGUMENTS:
            function, said = piece.get(kind), held.inner(kind)
            if not (name := text_of(member_of(function, "name"))):
                continue
            if said is None:
                return any(held.inner(other) for other, _ in ARGUMENTS)
            if together and said.holds("name"):
                return True
            if self.another_function(said, name, member_of(function, key), key):
                return True
        return False

    def another_function(self, said: MergedObject, name: str, given: JsonValue, key: str) -> bool:
        """The same for what is called, with its name and arguments."""
        if not said.holds("name"):
            return False
        if not said.equals("name", name):
            return said.holds(key) or self._both_offered(said, name)
        # Some servers repeat the name in every chunk. A custom tool's input has no end to be seen.
        whole = said.ended(key) if key == "arguments" else said.holds(key)
        return whole and given is not None and given != ""

    def _both_offered(self, said: MergedObject, name: str) -> bool:
        return name in self._offered and any(said.equals("name", one) for one in self._offered)


class _Choice:
    """One choice in pieces: what was said, and what stands around it."""

    def __init__(self, calls: _Calls) -> None:
        self._calls = calls
        self._said = MergedObject(_delta_rule, calls.another)
        self._around = MergedObject(_last)
        # Mutable: calls in the old form beyond the one that a message has room for, and whether
        # its last piece came.
        self._more: list[JsonValue] = []
        self.finished = False

    @property
    def lossy(self) -> bool:
        return bool(self._more) or self._said.lossy or self._around.lossy

    def add(self, entry: JsonObject) -> bool:
        """Take the next piece; whether all of it has a place in a body."""
        delta = entry.get("delta")
        said: JsonObject = {key: entry[key] for key in ("delta", "logprobs") if key in entry}
        if isinstance(delta, dict) and self._calls_again(delta.get("function_call")):
            self._more.append(delta["function_call"])
            said["delta"] = {key: delta[key] for key in delta if key != "function_call"}
        self._said.add(said)
        apart = ("index", "delta", "logprobs", "message")
        self._around.add({key: value for key, value in entry.items() if key not in apart})
        # Who says more after the end has not ended.
        ends = bool(text_of(entry.get("finish_reason")))
        self.finished = ends or (self.finished and not _says(delta))
        return isinstance(delta, dict) and "message" not in entry

    def _calls_again(self, legacy: JsonValue) -> bool:
        delta = self._said.inner("delta")
        held = None if delta is None else delta.inner("function_call")
        name = text_of(member_of(legacy, "name"))
        if held is None or not name:
            return False
        given = member_of(legacy, "arguments")
        return self._calls.another_function(held, name, given, "arguments")

    def value(self, index: int) -> JsonObject:
        said = self._said.value()
        delta = said.pop("delta", None)
        message: JsonObject = {"role": "assistant", "content": None}
        message |= delta if isinstance(delta, dict) else {}
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [_plain_call(call) for call in calls]
        if self._more:
            # No message has this form, so that nobody takes the first of them for all.
            message["function_call"] = [message.get("function_call"), *self._more]
        choice: JsonObject = {"index": index, "message": ordered(message, _MESSAGE_ORDER)}
        choice |= {"finish_reason": None} | said | self._around.value()
        return ordered(choice, _CHOICE_ORDER)


def _says(delta: JsonValue) -> bool:
    """Whether a piece of a message says more than whose it is."""
    if not isinstance(delta, dict):
        return False
    return any(value for key, value in delta.items() if key != "role")


def _is_piece(call: JsonValue) -> bool:
    """Whether a piece of a call has a form that such pieces have."""
    if not isinstance(call, dict):
        return False
    called = [call.get(kind) for kind, _ in ARGUMENTS]
    return all(
        isinstance(one, dict | None) and isinstance(member_of(one, "name"), str | None)
        for one in called
    )


def _plain_call(call: JsonValue) -> JsonValue:
    if not isinstance(call, dict):
        return call
    typed: JsonObject = {"type": "function"} if "function" in call else {}
    typed |= {key: value for key, value in call.items() if key != "index"}
    return ordered(typed, _CALL_ORDER)


class ChatAssembler(ChunkAssembler):
    """Puts the chunks of one stream together as the body of a plain response.

    `offered` are the names of the tools that the request lets the model call.
    """

    kind = CHUNK

    def __init__(self, asked: Asked, offered: Iterable[str] = ()) -> None:
        super().__init__(asked)
        self._calls = _Calls(frozenset(offered))
        self._top = MergedObject(_last)
        self._choices: dict[int, _Choice] = {}

    def _take_chunk(self, chunk: JsonObject, choices: list[JsonValue]) -> None:
        self._top.add({key: value for key, value in chunk.items() if key not in _NOISE})
        for entry in choices:
            self._dropped |= not self._take_choice(entry)

    def _reads(self, choice: JsonValue) -> bool:
        """A message in place of a piece of one may hold calls that clients act on, and calls in
        another form would take the place of those told before."""
        if not isinstance(choice, dict) or not isinstance(choice.get("delta"), dict | None):
            return False
        delta, message = choice.get("delta"), choice.get("message")
        calls = member_of(delta, "tool_calls")
        called = member_of(message, "tool_calls") or member_of(message, "function_call")
        return (
            isinstance(calls, list | None)
            and all(map(_is_piece, calls or ()))
            and isinstance(member_of(delta, "function_call"), dict | None)
            and not called
            and (delta is not None or not message)
        )

    def _take_choice(self, entry: JsonValue) -> bool:
        if not isinstance(entry, dict):
            return False
        index = number_of(entry.get("index"), 0)
        whole = self._choices.setdefault(index, _Choice(self._calls)).add(entry)
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
