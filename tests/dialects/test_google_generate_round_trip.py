"""Any Gemini body told as a stream, cut anywhere, is the same body when put together again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects.google_generate_array import ArraySplitter, ElementError
from flowproof.dialects.interface import Asked
from flowproof.dialects.sse import FrameError
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText, same, write
from tests.dialects.google_generate_tools import (
    ARRAY,
    EVENTS,
    GEMINI,
    array,
    assemble,
    events,
    split,
)
from tests.dialects.tools import cut

FRAMINGS = st.sampled_from([EVENTS, ARRAY])
TEXT = st.text(max_size=12) | st.sampled_from(['"\\', "{[", "]}", "\u2028\x85", "\r\n"])
ODD_NUMBERS: list[JsonValue] = [NumberText("1.10"), NumberText("1e5"), 0.5]
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(ODD_NUMBERS), TEXT
)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN: st.SearchStrategy[JsonObject] = st.dictionaries(
    TEXT.map(lambda key: f"x_{key}"), VALUES, max_size=2
)
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


@given(bodies(), FRAMINGS, st.lists(st.integers(0, 10_000), max_size=8))
def test_a_body_survives_the_stream(body: JsonObject, asked: Asked, places: list[int]) -> None:
    data = b"".join(GEMINI.stream(body, asked))
    frames, rest = split(cut(data, places), asked)
    assert rest == b""
    assembled = assemble(frames, asked)
    assert assembled.complete and assembled.lossless and not assembled.failed
    assert same(assembled.body, body)


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


PIECES = [
    b"data: ",
    b"\n\n",
    b'{"candidates":[',
    b"[",
    b"{",
    b"}",
    b"]",
    b'"',
    b"\\",
    b",",
    b"\r\n",
]


@given(st.lists(st.binary(max_size=20) | st.sampled_from(PIECES)), FRAMINGS)
def test_no_bytes_make_the_assembler_raise_and_none_are_lost(
    chunks: list[bytes], asked: Asked
) -> None:
    frames, rest = split(chunks, asked)
    assert b"".join([*frames, rest]) == b"".join(chunks)
    assert split([b"".join(chunks)], asked) == (frames, rest)
    assemble([*frames, rest], asked)
    stored = [frame.decode("utf-8", "surrogateescape") for frame in frames]
    for wanted in (EVENTS, ARRAY):
        list(GEMINI.replayed(stored, wanted))


KEYS = [
    *("candidates", "content", "parts", "text", "thought", "functionCall", "name", "args", "index"),
    *("partialArgs", "willContinue", "jsonPath", "stringValue", "numberValue", "nullValue"),
    *("finishReason", "promptFeedback", "blockReason", "citationMetadata", "citations"),
]
HOSTILE: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS | st.sampled_from(["$.a", "$[0]", "$", "$.a[0].b", "STOP", "f"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(HOSTILE, max_size=4))
def test_no_chunk_makes_the_assembler_raise(values: list[JsonValue]) -> None:
    inside: list[JsonValue] = [
        {"candidates": [{"content": {"parts": [value]}, "finishReason": "STOP"}]}
        for value in values
    ]
    calling: list[JsonValue] = [
        {"candidates": [{"content": {"parts": [{"functionCall": value}]}}]} for value in values
    ]
    for chunks in (values, inside, calling):
        for asked in (EVENTS, ARRAY):
            frames = events(*chunks) if asked is EVENTS else split([array(*chunks)], ARRAY)[0]
            assembled = assemble(frames, asked)
            assert same(assembled.body, assemble(frames, asked).body)
            GEMINI.answer(assembled.body)


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
