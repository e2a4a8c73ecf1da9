"""Any Gemini body told as a stream, cut anywhere, is the same body when put together again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects.google_generate_array import ArraySplitter, ElementError
from flowproof.dialects.interface import Asked
from flowproof.dialects.sse import FrameError
from flowproof.model.jsonvalue import JsonObject, JsonValue, same, write
from tests.dialects.google_generate_tools import (
    ARRAY,
    EVENTS,
    GEMINI,
    array,
    assemble,
    events,
    split,
)
from tests.dialects.strategies import PLACES, UNKNOWN, VALUES
from tests.dialects.tools import survives

FRAMINGS = st.sampled_from([EVENTS, ARRAY])
TEXT = st.text(max_size=12) | st.sampled_from(['"\\', "{[", "]}", "\u2028\x85", "\r\n"])
ARGUMENTS: st.SearchStrategy[JsonObject] = st.dictionaries(TEXT, VALUES, max_size=3)


@st.composite
def parts(draw: st.DrawFn) -> JsonObject:
    kind = draw(st.sampled_from(["text", "thought", "call", "data", "code"]))
    signed: JsonObject = {"thoughtSignature": "c2ln"} if draw(st.booleans()) else {}
    match kind:
        case "text":
            return {"text": draw(TEXT), **signed}
        case "thought":
            return {"text": draw(TEXT), "thought": True, **signed}
        case "call":
            made: JsonObject = {"name": "f", "args": draw(ARGUMENTS)}
            if draw(st.booleans()):
                made["id"] = "1"
            return {"functionCall": made, **signed}
        case "data":
            return {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
        case _:
            return {"executableCode": {"language": "PYTHON", "code": draw(TEXT)}}


@st.composite
def candidates(draw: st.DrawFn, index: int) -> JsonObject:
    listed = draw(st.lists(parts(), max_size=4))
    said: JsonObject = {"parts": [*listed], "role": "model"}
    said |= draw(UNKNOWN)
    one: JsonObject = {"content": said} if draw(st.booleans()) else {}
    one["finishReason"] = draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY"]))
    if draw(st.booleans()) or index:
        one["index"] = index
    if draw(st.booleans()):
        sources = draw(st.lists(UNKNOWN, max_size=2))
        one["citationMetadata"] = {"citationSources": [*sources]}
    return one | draw(UNKNOWN)


@st.composite
def bodies(draw: st.DrawFn) -> JsonObject:
    listed: list[JsonValue] = [draw(candidates(index)) for index in range(draw(st.integers(0, 3)))]
    found: JsonObject = {"candidates": listed} if listed else {}
    if not listed or draw(st.booleans()):
        found["promptFeedback"] = {"blockReason": "SAFETY"}
    if draw(st.booleans()):
        found["usageMetadata"] = {"promptTokenCount": draw(st.integers(0))}
    found["modelVersion"] = draw(TEXT)
    return found | draw(UNKNOWN)


@given(bodies(), FRAMINGS, PLACES)
def test_a_body_survives_the_stream(body: JsonObject, asked: Asked, places: list[int]) -> None:
    survives(GEMINI, body, places, asked)


@given(st.lists(bodies(), max_size=3), FRAMINGS, FRAMINGS)
def test_frames_of_one_framing_say_the_same_in_the_other(
    chunks: list[JsonObject], stored: Asked, asked: Asked
) -> None:
    data = b"".join(events(*chunks)) if stored is EVENTS else array(*chunks)
    frames, _ = split([data], stored)
    served = GEMINI.replayed([frame.decode() for frame in frames], asked)
    again, rest = split([b"".join(served)], asked)
    assert rest == b""
    assert same(assemble(again, asked).body, assemble(frames, stored).body)


@pytest.mark.parametrize("data", [b"[" + b"1," * 40, b'["' + b"x" * 80, b"{" * 80, b" " * 80])
def test_an_element_without_end_is_refused(data: bytes) -> None:
    splitter = ArraySplitter(limit=64)
    with pytest.raises(
        FrameError, match="of which at most 64 are accepted; check that the up"
    ) as e:
        for at in range(len(data)):
            splitter.feed(data[at : at + 1])
    assert isinstance(e.value, ElementError)
    assert (e.value.found, e.value.limit) == (65, 64)


def test_elements_up_to_the_limit_are_accepted() -> None:
    element = b'{"a":"' + b"x" * 50 + b'"}'
    splitter = ArraySplitter(limit=64)
    frames = splitter.feed(b"[" + b",".join([element] * 20) + b"]")
    assert (len(frames), splitter.rest()) == (21, b"")
    with pytest.raises(ElementError):
        ArraySplitter(limit=len(element)).feed(b"[" + element + b"]")


def test_an_escape_and_a_bracket_in_a_text_end_nothing() -> None:
    value: JsonObject = {"a": '}]"\\', "b": "[{"}
    data = write([value, value]).encode()
    frames, rest = split([data], ARRAY)
    assert (len(frames), rest) == (3, b"")
    for at in range(len(data)):
        assert split([data[:at], data[at:]], ARRAY) == (frames, rest)
