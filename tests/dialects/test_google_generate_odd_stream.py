"""Gemini streams that hold errors, or what this API never sends: told, and never a short answer."""

from __future__ import annotations

import pytest

from flowproof.dialects.interface import Asked
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects.google_generate_tools import (
    ARRAY,
    EVENTS,
    GEMINI,
    USAGE,
    array,
    assemble,
    body,
    candidate,
    event,
    split,
    text,
)

TEXT = [body(candidate(text("Hel"))), body(candidate(text("lo"))), body(candidate(finish="STOP"))]
ENDED = body(candidate(text("Hi"), finish="STOP"), usageMetadata=USAGE)
HI: JsonValue = [
    {"content": {"parts": [text("Hi")], "role": "model"}, "finishReason": "STOP", "index": 0}
]


ERROR: JsonObject = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    ("frames", "asked"),
    [
        pytest.param([event(ERROR)], EVENTS, id="event"),
        pytest.param([write(ERROR, indent=2).encode()], EVENTS, id="without a field name"),
        pytest.param([event(ENDED), event(ERROR)], EVENTS, id="after the end"),
        pytest.param(split([array(TEXT[0], ERROR)], ARRAY)[0], ARRAY, id="element"),
        pytest.param(split([write(ERROR, indent=1).encode()], ARRAY)[0], ARRAY, id="no array"),
    ],
)
def test_an_error_fails_the_stream(frames: list[bytes], asked: Asked) -> None:
    assembled = assemble(frames, asked)
    assert (assembled.failed, assembled.complete, assembled.lossless) == (True, False, False)
    assert assembled.body == ERROR
    assert GEMINI.answer(assembled.body).messages == ()


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b": PROCESSING\n\n", id="comment"),
        pytest.param(b"event: ping\n\n", id="event without data"),
        pytest.param(b"id: 7\ndata: {}\n\n", id="event id"),
        pytest.param(b"data: {}\n\n", id="empty chunk"),
        pytest.param(b"data: [DONE]\n\n", id="DONE"),
        pytest.param(b": \xff\n\n", id="not UTF-8"),
        pytest.param(event({"usageMetadata": {}}), id="usage"),
    ],
)
def test_what_a_body_cannot_hold_keeps_the_frames(extra: bytes) -> None:
    assembler = GEMINI.assembler(EVENTS)
    assert assembler.feed(extra) and assembler.feed(event(ENDED))
    assembled = assembler.result()
    assert (assembled.complete, assembled.lossless) == (True, False)
    assert isinstance(assembled.body, dict)
    assert assembled.body["candidates"] == HI
    assert assembler.unread is None


@pytest.mark.parametrize(
    "extra", [b":\n\n", b"\n", b"data:\n\n"], ids=["keep-alive", "blank", "nothing"]
)
def test_what_says_nothing_needs_no_frames(extra: bytes) -> None:
    assert assemble([extra, event(ENDED)]).lossless


@pytest.mark.parametrize(
    ("data", "unread"),
    [
        pytest.param("{oops", "{oops", id="cut JSON"),
        pytest.param("hello", "hello", id="text"),
        pytest.param("3", "3", id="a number"),
        pytest.param("[]", "[]", id="a list"),
        pytest.param('{"candidates":{}}', '{"candidates":{}}', id="candidates that are no list"),
        pytest.param(
            '{"candidates":[1]}', '{"candidates":[1]}', id="a candidate that is no object"
        ),
        pytest.param(
            '{"candidates":[{"content":"x"}]}', '{"candidates":[{"content":"x"}]}', id="odd content"
        ),
        pytest.param(
            '{"candidates":[{"content":{"parts":{}}}]}',
            '{"candidates":[{"content":{"parts":{}}}]}',
            id="odd parts",
        ),
        pytest.param(
            '{"candidates":[{"content":{"parts":["x"]}}]}',
            '{"candidates":[{"content":{"parts":["x"]}}]}',
            id="odd part",
        ),
        pytest.param('{"candidates":[{"content":null}]}', None, id="null content"),
        pytest.param('{"candidates":[{"content":{"parts":null}}]}', None, id="null parts"),
    ],
)
def test_data_that_this_api_never_sends_is_told(data: str, unread: str | None) -> None:
    for frame in (f"data: {data}\r\n\r\n", f"data: {data}"):
        assembler = GEMINI.assembler(EVENTS)
        for one in [
            event(TEXT[0]),
            frame.encode(),
            b"data: {also\n\n" * bool(unread),
            event(TEXT[2]),
        ]:
            assembler.feed(one)
        assert assembler.unread == unread
        # What was not read may have been a tool call.
        assert assembler.result().complete is (unread is None)
        assert not assembler.result().lossless


@pytest.mark.parametrize(
    ("data", "unread"),
    [
        pytest.param(b'[1, "x", {"candidates": []}]', '1, "x", {"candidates": []}', id="scalars"),
        pytest.param(b"hello", "hello", id="text"),
        pytest.param(b"[{]}", "{]", id="crossed brackets"),
        pytest.param(b'[{"candidates": [}]', '{"candidates": [}]', id="open list"),
        pytest.param(array(ENDED) + b" {}", None, id="more after the end"),
        pytest.param(b"[]", None, id="empty array"),
        pytest.param(b" [ ] ", None, id="blanks"),
    ],
)
def test_elements_that_this_api_never_sends_are_told(data: bytes, unread: str | None) -> None:
    frames, rest = split([data], ARRAY)
    assembler = GEMINI.assembler(ARRAY)
    for frame in [*frames, rest]:
        assembler.feed(frame)
    assert assembler.unread == unread


def test_after_the_end_of_an_array_nothing_counts() -> None:
    frames, _ = split([array(ENDED), write(body(candidate(text("x")))).encode()], ARRAY)
    assembled = assemble(frames, ARRAY)
    assert assembled.body == ENDED
    assert (assembled.complete, assembled.lossless) == (True, False)


def test_a_single_response_without_an_array_is_one_chunk() -> None:
    frames, rest = split([write(ENDED, indent=1).encode()], ARRAY)
    assert (len(frames), rest) == (1, b"")
    assembled = assemble(frames, ARRAY)
    assert (assembled.body, assembled.complete) == (ENDED, True)


def test_a_failed_stream_is_served_in_either_framing() -> None:
    raw = write(ERROR, indent=2)
    assert b"".join(GEMINI.replayed([raw], EVENTS)) == event(ERROR)
    kept = [event(TEXT[0]).decode(), ": note\n\n", "data: [DONE]\n\n", "data: {oops\ndata: x\n\n"]
    expected = b"[" + write(TEXT[0]).encode() + b"\n,\r\n{oops\nx\n]"
    assert b"".join(GEMINI.replayed(kept, ARRAY)) == expected
