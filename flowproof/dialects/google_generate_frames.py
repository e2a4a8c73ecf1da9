"""The frames of a Gemini stream, as server-sent events or as one JSON array.

Both hold the same chunks, each a whole response of its own; `google_generate_assembly` joins them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flowproof.dialects import sse
from flowproof.dialects.google_generate_array import JSON_ARRAY
from flowproof.dialects.interface import Asked, Framing
from flowproof.model.jsonvalue import JsonError, JsonValue, parse, write
from flowproof.model.rawtext import to_bytes

EVENTS = "sse"
ARRAY = "json"
DONE = "[DONE]"
"""What ends the streams of some gateways; the API itself has no such frame."""

_FIELDS = frozenset(("", "id", "retry"))
_ELEMENT = (b"[", b",", b"{", b"]")


def framing(asked: Asked) -> Framing:
    """How the stream is cut that a request asks for."""
    return JSON_ARRAY if _wants_array(asked) else sse.EVENT_STREAM


def _wants_array(asked: Asked) -> bool:
    return asked.stream and asked.transport.get("alt") != EVENTS


def is_element(frame: bytes) -> bool:
    """Whether a frame is a piece of a JSON array, and no event."""
    return frame.lstrip().startswith(_ELEMENT)


def event_data(frame: bytes, event: sse.Event) -> str | None:
    """The JSON text of one event; None where it has none.

    An error may stand in a stream as it is, without the name of a field; clients read it.
    """
    if event.data is None and any(name not in _FIELDS for name, _ in event.others):
        return sse.decoded(frame)[0].strip()
    return event.data


def element_data(text: str) -> tuple[str | None, bool]:
    """The JSON text of one element, None where there is none, and whether the array ends here."""
    text = text.strip()
    if text.startswith(("[", ",")):
        inner = text[1:].strip()
        return (None, inner == "]") if inner in ("", "]") else (inner, False)
    # A value without an array around it is all that is said.
    return (None if text in ("", "]") else text), text != ""


def frames(body: JsonValue, asked: Asked) -> Iterator[bytes]:
    """The frames that say the same as a plain response body: one chunk, which is that body."""
    return _framed([write(body)], array=_wants_array(asked))


def replayed(events: Iterable[str], asked: Asked) -> Iterator[bytes]:
    """Stored raw frames as this request wants them, in whichever framing they were stored."""
    raw = [to_bytes(event) for event in events]
    array = bool(raw) and is_element(raw[0])
    if array == _wants_array(asked):
        return iter(raw)
    texts = [
        element_data(sse.decoded(frame)[0])[0] if array else event_data(frame, sse.read(frame))
        for frame in raw
    ]
    return _framed(
        [_compact(text) for text in texts if text and text != DONE], array=_wants_array(asked)
    )


def _compact(text: str) -> str:
    try:
        return write(parse(text))
    except JsonError:
        return text


def _framed(texts: list[str], *, array: bool) -> Iterator[bytes]:
    if not array:
        for text in texts:
            # What is JSON is one line: only text that is none may hold several.
            lines = "".join(f"data: {line}\r\n" for line in re.split("\r\n|\r|\n", text))
            yield to_bytes(f"{lines}\r\n")
        return
    for position, text in enumerate(texts):
        yield to_bytes(f"[{text}" if position == 0 else f"\n,\r\n{text}")
    yield to_bytes("\n]" if texts else "[]")
