"""Ollama's streams: lines put together as the body of a plain answer, and a body told as lines.

`ollama_chat` and `ollama_generate` differ only in where their answers say what they say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowproof.dialects import ndjson
from flowproof.dialects.assembling import StreamAssembler
from flowproof.dialects.interface import Assembled
from flowproof.dialects.pieces import Joined, Members, Piece, Told
from flowproof.dialects.values import member_of, ordered
from flowproof.model.jsonvalue import JsonObject, JsonValue, Missing

_ORDER = ("model", "created_at", "message", "response", "thinking", "done", "done_reason")
_MESSAGE_ORDER = ("role", "content", "thinking", "tool_calls")


@dataclass(frozen=True, slots=True)
class Form:
    """Where one kind of answer says what it says.

    `spoken` is the text that every line has, be it empty. `inside` are the members of the
    message, None where there is none, and `top` those beside it. `steps` are the members that
    are told in one line, in the order in which the server does.
    """

    spoken: str
    inside: Members | None
    top: Members
    steps: tuple[tuple[str, ...], ...]


CHAT = Form(
    spoken="content",
    inside=Members(frozenset(("content", "thinking")), frozenset(("tool_calls",))),
    top=Members(frozenset(), frozenset(("logprobs",))),
    steps=(("thinking",), ("content", "logprobs"), ("tool_calls",)),
)
GENERATE = Form(
    spoken="response",
    inside=None,
    top=Members(frozenset(("response", "thinking")), frozenset(("tool_calls", "logprobs"))),
    steps=(("thinking",), ("response", "logprobs"), ("tool_calls",)),
)


def _apart(form: Form, line: JsonObject) -> tuple[JsonObject, JsonObject | None, dict[str, Piece]]:
    """A line without what it says: its top level, its message if it has one, and what it says."""
    around, said = form.top.apart(line)
    message = around.get("message")
    if form.inside is None or not isinstance(message, dict):
        return around, None, said
    inner, spoken = form.inside.apart(message)
    return around, inner, said | spoken


def lines(form: Form, body: JsonValue) -> Iterator[bytes]:
    """The lines that say the same as a plain response body.

    A body that is no finished answer, such as an error, is one line of its own.
    """
    for value in _values(form, body):
        yield ndjson.line(value)


def _values(form: Form, body: JsonValue) -> Iterator[JsonValue]:
    if not isinstance(body, dict) or body.get("done") is not True or body.get("error"):
        yield body
        return
    around, inner, said = _apart(form, body)
    if (inner is None) is not (form.inside is None):
        yield body
        return
    holder = around if inner is None else inner
    spoken = form.spoken in said or isinstance(holder.get(form.spoken), str)
    silent: JsonObject = {form.spoken: ""} if spoken else {}
    role: JsonObject = {"role": inner["role"]} if inner is not None and "role" in inner else {}
    head = {key: around[key] for key in ("model", "created_at") if key in around}
    for step in form.steps:
        pieces: JsonObject = {key: said[key] for key in step if key in said}
        if pieces:
            yield _line(form, head | {"done": False}, role | silent, pieces)
    yield _line(form, around, (inner or {}) | silent, {})


def _line(form: Form, top: JsonObject, speaker: JsonObject, pieces: JsonObject) -> JsonObject:
    """One line: what stands at its top level, in its message, and the pieces in either."""
    if form.inside is None:
        return ordered(top | speaker | pieces, _ORDER)
    inside, beside = form.top.apart(pieces)
    message = ordered(speaker | inside, _MESSAGE_ORDER)
    return ordered(top | {"message": message, **beside}, _ORDER)


class LineAssembler(StreamAssembler):
    """Puts the lines of one stream together as the body of a plain response."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form
        self._top = Joined(form.top)
        self._message: Joined | None = None
        self._told = Told()
        # Mutable: whether a line came, and whether the last one did.
        self._started = False
        self._done = False

    def feed(self, frame: bytes) -> bool:
        """Take one whole line; every line is passed on."""
        text, whole = ndjson.read(frame)
        if not text:
            # Clients may choke on an empty line: it is told again as it came.
            self._dropped = True
            return True
        self._dropped |= not whole or self._done
        line = self._parsed(text)
        if self._done:
            message = None if isinstance(line, Missing) else member_of(line, "message")
            if member_of(message, "tool_calls"):
                # Clients read on behind the end, and would act on it.
                self._refuse(text)
            return True
        if isinstance(line, dict):
            self._take(line)
        else:
            self._refuse(text)
        return True

    def _take(self, line: JsonObject) -> None:
        if line.get("error"):
            self._fail(line)
            return
        self._started = True
        self._done = line.get("done") is True
        message = line.get("message")
        around, inner, said = _apart(self._form, line)
        if self._form.inside is None or inner is None or not isinstance(message, dict):
            self._top.add(line)
        else:
            self._top.add({key: value for key, value in line.items() if key != "message"})
            self._message = self._message or Joined(self._form.inside)
            self._message.add(message)
            around["message"] = inner
        # Every line has a time of its own, of which a plain answer has the last.
        around.pop("created_at", None)
        self._told.add(around, said)

    def result(self) -> Assembled:
        """What the lines fed so far amount to.

        After a line with an error, `body` is that line. `body` is None where no line came.
        """
        if (failed := self._failed(complete=self._done)) is not None:
            return failed
        body = self._body()
        sound = self._done and not self._dropped
        return Assembled(body, complete=self._done, lossless=sound and self._comes_out(body))

    def _body(self) -> JsonValue:
        if not self._started:
            return None
        body = self._top.value()
        if self._message is not None and body.get("message") is None:
            body["message"] = ordered(self._message.value(), _MESSAGE_ORDER)
        return ordered(body, _ORDER)

    def _comes_out(self, body: JsonValue) -> bool:
        """Whether the lines that the body is told as say what these said."""
        again = LineAssembler(self._form)
        for line in lines(self._form, body):
            again.feed(line)
        return again._told.same_as(self._told)
