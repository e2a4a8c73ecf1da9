"""Streams of legacy completions: chunks put together as a body, and a body told as chunks."""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects import openai_chunks
from flowproof.dialects.interface import Asked
from flowproof.dialects.openai_chunk_assembly import ChunkAssembler
from flowproof.dialects.openai_chunks import BODY_ORDER
from flowproof.dialects.pieces import Joined, Members, Piece, Told
from flowproof.dialects.values import list_of, member_of, number_of, ordered
from flowproof.model.jsonvalue import JsonObject, JsonValue

COMPLETION = "text_completion"

_CHOICE_ORDER = ("text", "index", "logprobs", "finish_reason")
_NOISE = frozenset(("choices", "obfuscation"))
_NONE = Members(frozenset(), frozenset())
_TEXT = Members(frozenset(("text",)), frozenset())
_LOGPROBS = Members(
    frozenset(),
    frozenset(("tokens", "token_logprobs", "top_logprobs", "text_offset", "content")),
)


def frames(body: JsonValue, *, usage: bool) -> Iterator[bytes]:
    """The frames that say the same as a plain response body, `[DONE]` included.

    A body that is no completion, such as an error, is one frame of its own.
    """
    pieces = [_choice_pieces(position, choice) for position, choice in enumerate(_choices(body))]
    return openai_chunks.frames(body, pieces, usage=usage)


def _choices(body: JsonValue) -> list[JsonObject]:
    """Each choice; none where the body is no completion."""
    found: list[JsonObject] = []
    for choice in list_of(member_of(body, "choices")):
        if not isinstance(choice, dict) or not isinstance(choice.get("text"), str):
            return []
        found.append(choice)
    return found


def _choice_pieces(position: int, choice: JsonObject) -> Iterator[JsonObject]:
    """The text with its log probabilities, then why it ended."""
    number: JsonObject = {"index": number_of(choice.get("index"), position)}
    silent: JsonObject = {"logprobs": None} if "logprobs" in choice else {}
    spoken: JsonObject = {"logprobs": choice["logprobs"]} if silent else {}
    if choice["text"]:
        yield {"text": choice["text"], **number, **spoken, "finish_reason": None}
        spoken = silent
    finish: JsonObject = {"finish_reason": choice.get("finish_reason")}
    others = {key: value for key, value in choice.items() if key not in _CHOICE_ORDER}
    yield {"text": "", **number, **spoken, **finish, **others}


class _Choice:
    """One choice in pieces: its text, its log probabilities, and what stands around them."""

    def __init__(self) -> None:
        self._said = Joined(_TEXT)
        self._logprobs: Joined | None = None
        self.told = Told()
        # Mutable: whether its last piece came.
        self.finished = False

    def add(self, entry: JsonObject, top: JsonObject) -> None:
        """Take the next piece, of a chunk with `top` beside its choices."""
        around, said = _TEXT.apart(entry)
        logprobs = entry.get("logprobs")
        if isinstance(logprobs, dict):
            self._said.add({key: value for key, value in entry.items() if key != "logprobs"})
            self._logprobs = self._logprobs or Joined(_LOGPROBS)
            self._logprobs.add(logprobs)
            around["logprobs"], listed = _LOGPROBS.apart(logprobs)
            said |= listed
        else:
            self._said.add(entry)
        self._tell({"top": top, **around}, said)
        reason = entry.get("finish_reason")
        ends = isinstance(reason, str) and bool(reason)
        # Who says more after the end has not ended.
        self.finished = ends or (self.finished and not entry.get("text"))

    def _tell(self, around: JsonObject, said: dict[str, Piece]) -> None:
        if said.get("text") and around.get("finish_reason") is not None:
            # Some servers end the choice in the chunk that has its last text.
            self.told.add(around | {"finish_reason": None}, said)
            silent: JsonObject = {"logprobs": None} if "logprobs" in around else {}
            around, said = around | {"text": ""} | silent, {}
        self.told.add(around, said)

    def value(self) -> JsonObject:
        """The choice so far, as a plain answer has it."""
        value = self._said.value()
        if self._logprobs is not None and value.get("logprobs") is None:
            value["logprobs"] = self._logprobs.value()
        return ordered(value, _CHOICE_ORDER)


class CompletionAssembler(ChunkAssembler):
    """Puts the chunks of one stream together as the body of a plain response."""

    kind = COMPLETION

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._around = Joined(_NONE)
        self._choices: dict[int, _Choice] = {}
        self._closing = Told()

    def _take_chunk(self, chunk: JsonObject, choices: list[JsonValue]) -> None:
        top = {key: value for key, value in chunk.items() if key not in _NOISE}
        self._around.add(top)
        top.pop("usage", None)
        for entry in choices:
            index = number_of(member_of(entry, "index"), 0)
            self._dropped |= not isinstance(entry, dict) or entry.get("index") != index
            if isinstance(entry, dict):
                self._choices.setdefault(index, _Choice()).add(entry, top)
        if not choices:
            self._closing.add(top, {})

    def _finished(self) -> bool:
        seen = self._choices.values()
        asked = _asked_for(self._asked.pinned)
        return len(seen) >= asked and all(choice.finished for choice in seen)

    def _body(self) -> JsonObject:
        choices: list[JsonValue] = [choice.value() for _, choice in sorted(self._choices.items())]
        return ordered(self._around.value() | {"choices": choices}, BODY_ORDER)

    def _comes_out(self, body: JsonValue) -> bool:
        again = CompletionAssembler(Asked({}, stream=True, stream_usage=True))
        for frame in frames(body, usage=True):
            again.feed(frame)
        return (
            again._choices.keys() == self._choices.keys()
            and again._closing.same_as(self._closing)
            and all(again._choices[n].told.same_as(one.told) for n, one in self._choices.items())
        )


def _asked_for(pinned: JsonObject) -> int:
    """How many choices a request asks for: so many for each of its prompts."""
    prompt = pinned.get("prompt")
    several = isinstance(prompt, list) and all(isinstance(one, str | list) for one in prompt)
    prompts = len(prompt) if isinstance(prompt, list) and several else 1
    return max(1, number_of(pinned.get("n"), 1)) * max(1, prompts)
