"""Streams of legacy completions: chunks put together as a body, and a body told as chunks.

Frames are read as those of chat completions, whose chunks say other things.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_chat_assembly import ChatAssembler
from flowproof.dialects.openai_chat_chunks import BODY_ORDER, DONE, number_of, ordered
from flowproof.dialects.pieces import Joined, Members, Piece, Told
from flowproof.model.jsonvalue import JsonObject, JsonValue, write

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
    for chunk in _chunks(body, usage):
        yield sse.frame(write(chunk))
    yield DONE


def _chunks(body: JsonValue, usage: bool) -> Iterator[JsonValue]:
    choices = _choices(body)
    if not isinstance(body, dict) or not choices:
        yield body
        return
    others = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    head = ordered(others, BODY_ORDER)
    # The API gives every chunk a null usage where the last one tells it.
    tail: JsonObject = {"usage": None} if usage and "usage" in body else {}
    for position, choice in enumerate(choices):
        for piece in _choice_pieces(position, choice):
            yield head | {"choices": [piece]} | tail
    if tail and body["usage"] is not None:
        yield head | {"choices": [], "usage": body["usage"]}


def _choices(body: JsonValue) -> list[JsonObject]:
    """Each choice; none where the body is no completion."""
    listed = body.get("choices") if isinstance(body, dict) else None
    found: list[JsonObject] = []
    for choice in listed if isinstance(listed, list) else ():
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
        self.finished |= isinstance(reason, str) and bool(reason)

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


class CompletionAssembler(ChatAssembler):
    """Puts the chunks of one stream together as the body of a plain response."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self._around = Joined(_NONE)
        self._texts: dict[int, _Choice] = {}
        self._closing = Told()

    def _take(self, chunk: JsonValue, *, failed: bool) -> None:
        if failed or (isinstance(chunk, dict) and chunk.get("error")):
            super()._take(chunk, failed=failed)
            return
        choices = chunk.get("choices") if isinstance(chunk, dict) else None
        if not isinstance(chunk, dict) or not isinstance(choices, list):
            self._dropped = True
            return
        self._started = True
        top = {key: value for key, value in chunk.items() if key not in _NOISE}
        self._around.add(top)
        usage = top.pop("usage", None)
        for entry in choices:
            index = number_of(entry.get("index"), 0) if isinstance(entry, dict) else 0
            self._dropped |= not isinstance(entry, dict) or entry.get("index") != index
            if isinstance(entry, dict):
                self._texts.setdefault(index, _Choice()).add(entry, top)
        if not choices:
            self._closing.add(top, {})
        # Usage beside a choice, or a chunk with neither, would not come out of a body so.
        self._dropped |= bool(choices) is (usage is not None) or top.get("object") != COMPLETION

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error event, `body` is that event. Without `[DONE]` a stream is complete if
        every choice seen in it has finished, and as many as were asked for. `body` is None
        where no chunk came.
        """
        if self._error is not None:
            return super().result()
        finished = all(choice.finished for choice in self._texts.values())
        complete = self._done or (finished and len(self._texts) >= _asked_for(self._asked.pinned))
        body = self.body()
        lossless = complete and not self._dropped and self._comes_out(body)
        return Assembled(body, complete=complete, lossless=lossless)

    def body(self) -> JsonValue:
        """The body that the chunks so far make; None where there was none."""
        if not self._started:
            return None
        choices: list[JsonValue] = [choice.value() for _, choice in sorted(self._texts.items())]
        return ordered(self._around.value() | {"choices": choices}, BODY_ORDER)

    def _comes_out(self, body: JsonValue) -> bool:
        """Whether the chunks that the body is told as say what these said."""
        again = CompletionAssembler(Asked({}, stream=True, stream_usage=True))
        for frame in frames(body, usage=True):
            again.feed(frame)
        return (
            again._texts.keys() == self._texts.keys()
            and again._closing.same_as(self._closing)
            and all(again._texts[n].told.same_as(one.told) for n, one in self._texts.items())
        )


def _asked_for(pinned: JsonObject) -> int:
    """How many choices a request asks for: so many for each of its prompts."""
    prompt = pinned.get("prompt")
    several = isinstance(prompt, list) and all(isinstance(one, str | list) for one in prompt)
    prompts = len(prompt) if isinstance(prompt, list) and several else 1
    return max(1, number_of(pinned.get("n"), 1)) * max(1, prompts)
