"""The chunks of a Gemini stream put together as one response; `google_generate_frames` goes back.

Clients send the chunks of an answer back as messages of their own, so that how an answer was cut
is part of the conversation: of a stream of several chunks the boundary keeps the raw frames.
"""

from __future__ import annotations

from flowproof.dialects import google_generate_frames as frames
from flowproof.dialects import sse
from flowproof.dialects.assembling import StreamAssembler
from flowproof.dialects.google_generate_names import member
from flowproof.dialects.google_generate_partial import PartialCall, is_partial
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.merging import MergedObject, Rule
from flowproof.dialects.values import number_of, objects_of
from flowproof.model.jsonvalue import JsonObject, JsonValue, Missing

_LISTS = frozenset(
    (
        "citationMetadata",
        "citationSources",
        "citations",
        "logprobsResult",
        "topCandidates",
        "chosenCandidates",
    )
)
_UNSPECIFIED = "UNSPECIFIED"


def _rule(key: str) -> Rule:
    return Rule.JOIN if key in _LISTS else Rule.LAST


def _named(value: JsonValue) -> bool:
    """Whether a value of an enumeration says anything."""
    return isinstance(value, str) and value != "" and not value.endswith(_UNSPECIFIED)


def blocked(body: JsonValue) -> str | None:
    """Why the API did not pass a request on to the model, None where it did."""
    reason = member(member(body, "promptFeedback"), "blockReason")
    return reason if isinstance(reason, str) and _named(reason) else None


class _Parts:
    """The parts of one candidate. Text goes on from one chunk to the next, never within one."""

    def __init__(self) -> None:
        self._parts: list[JsonObject | PartialCall] = []
        # Mutable: the pieces of the text that the last part is, and the call still to be ended.
        self._text: list[str] | None = None
        self._open: PartialCall | None = None

    def add(self, parts: list[JsonObject]) -> None:
        """Take the parts of the next chunk."""
        for position, part in enumerate(parts):
            call = member(part, "functionCall")
            if isinstance(call, dict) and (self._open is not None or is_partial(call)):
                self._add_call(part, call)
            elif not _plain(part):
                self._add(part, None)
            elif position == 0 and self._parts:
                self._go_on(part)
            else:
                self._add(part, [str(part["text"])])

    def _add(self, part: JsonObject | PartialCall, text: list[str] | None) -> None:
        self._close_text()
        self._parts.append(part)
        self._text = text

    def _add_call(self, part: JsonObject, call: JsonObject) -> None:
        name = call.get("name")
        if self._open is None or (isinstance(name, str) and name != ""):
            self._open = PartialCall(dict(part))
            self._add(self._open, None)
        self._open.add(part, call)
        if self._open.ended:
            self._open = None

    def _go_on(self, part: JsonObject) -> None:
        last = self._parts[-1]
        text = str(part["text"])
        if self._text is not None and isinstance(last, dict) and _alike(last, part):
            self._text.append(text)
        elif text:
            self._add(part, [text])

    def _close_text(self) -> None:
        last = self._parts[-1] if self._parts else None
        if self._text is not None and isinstance(last, dict):
            self._parts[-1] = last | {"text": "".join(self._text)}

    def value(self) -> list[JsonValue]:
        self._close_text()
        return [part.value() if isinstance(part, PartialCall) else part for part in self._parts]


def _plain(part: JsonObject) -> bool:
    return isinstance(part.get("text"), str) and not part.keys() - {"text", "thought"}


def _alike(left: JsonObject, right: JsonObject) -> bool:
    return bool(left.get("thought")) == bool(right.get("thought"))


class _Candidate:
    """One candidate in pieces."""

    def __init__(self) -> None:
        self._parts = _Parts()
        self._content = MergedObject(_rule)
        self._around = MergedObject(_rule)
        self._has_content = False
        self._has_parts = False
        self.finished = False

    def add(self, entry: JsonObject) -> None:
        """Take the next piece, which `_joinable` has let pass."""
        content = entry.get("content")
        said: list[JsonObject] = []
        if isinstance(content, dict):
            self._has_content = True
            parts = content.get("parts")
            self._has_parts |= isinstance(parts, list)
            said = objects_of(parts)
            self._parts.add(said)
            self._content.add({key: item for key, item in content.items() if key != "parts"})
        self._around.add({key: item for key, item in entry.items() if key != "content"})
        # Some servers end every chunk with a reason: the last one counts.
        self.finished = _named(member(entry, "finishReason")) or (self.finished and not said)

    def value(self) -> JsonObject:
        content: JsonObject = {"parts": self._parts.value()} if self._has_parts else {}
        spoken: JsonObject = {"content": content | self._content.value()}
        return (spoken if self._has_content else {}) | self._around.value()


class GenerateAssembler(StreamAssembler):
    """Puts the chunks of one stream together as the body of a plain response."""

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self._asked = asked
        self._array = frames.framing(asked) is not sse.EVENT_STREAM
        self._top = MergedObject(_rule)
        self._candidates: dict[int, _Candidate] = {}
        # Mutable: the first chunk and how many came, and whether the array ended.
        self._first: JsonObject | None = None
        self._chunks = 0
        self._closed = False

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame; an agent gets all of them."""
        done = self._closed
        if self._array:
            text, whole = sse.decoded(frame)
            self._dropped |= not whole
            data, closed = frames.element_data(text)
            self._closed |= closed
        else:
            event = self._event(frame)
            self._dropped |= bool(event.names)
            data = frames.event_data(frame, event)
        if data is None or not data.strip():
            return True
        if done or data == frames.DONE:
            self._dropped = True
            return True
        chunk = self._parsed(data)
        if not isinstance(chunk, Missing):
            self._take(chunk, data)
        return True

    def _take(self, chunk: JsonValue, data: str) -> None:
        if isinstance(chunk, dict) and chunk.get("error"):
            self._fail(chunk)
            return
        entries = _entries(chunk)
        if not isinstance(chunk, dict) or entries is None:
            self._refuse(data)
            return
        self._first = chunk if self._first is None else self._first
        self._chunks += 1
        self._top.add({key: value for key, value in chunk.items() if key != "candidates"})
        for position, entry in enumerate(entries):
            index = number_of(entry.get("index"), position)
            self._candidates.setdefault(index, _Candidate()).add(entry)

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error, `body` is that error. A stream is complete once every candidate has
        finished, and as many as were asked for, or the request was blocked; an array must have
        ended, too, and nothing be unread. `body` is None where no chunk came.
        """
        if (failed := self._failed(complete=False)) is not None:
            return failed
        body = self.body()
        whole = self._unread is None and (self._closed or not self._array)
        complete = whole and self._complete(body)
        lossless = complete and self._chunks == 1 and not self._dropped
        return Assembled(body, complete=complete, lossless=lossless)

    def _complete(self, body: JsonValue) -> bool:
        if not self._candidates:
            return blocked(body) is not None
        settings = member(self._asked.pinned, "generationConfig")
        asked = 1 if self._closed else number_of(member(settings, "candidateCount"), 1)
        finished = all(candidate.finished for candidate in self._candidates.values())
        return finished and len(self._candidates) >= asked

    def body(self) -> JsonValue:
        """The body that the chunks so far make; None where there was none."""
        if self._chunks < 2:
            return self._first
        listed: list[JsonValue] = [one.value() for _, one in sorted(self._candidates.items())]
        candidates: JsonObject = {"candidates": listed} if listed else {}
        return candidates | self._top.value()


def _entries(chunk: JsonValue) -> list[JsonObject] | None:
    """The candidates of a chunk; None where it is none, or has some that cannot be read."""
    listed = chunk.get("candidates", []) if isinstance(chunk, dict) else None
    if listed is None and isinstance(chunk, dict):
        return []
    if not isinstance(listed, list):
        return None
    entries = objects_of(listed)
    whole = len(entries) == len(listed)
    return entries if whole and all(map(_joinable, entries)) else None


def _joinable(entry: JsonObject) -> bool:
    content = entry.get("content")
    parts = content.get("parts") if isinstance(content, dict) else content
    return parts is None or (
        isinstance(content, dict)
        and isinstance(parts, list)
        and all(isinstance(part, dict) for part in parts)
    )
