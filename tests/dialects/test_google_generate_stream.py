"""Gemini streams as they come: what they amount to, and what keeps their raw frames."""

from __future__ import annotations

import pytest

from flowproof.dialects.interface import Asked
from flowproof.model.jsonvalue import JsonObject, JsonValue, same, write
from tests.dialects.google_generate_tools import (
    ARRAY,
    EVENTS,
    GEMINI,
    TEXT,
    TEXT_BODY,
    USAGE,
    array,
    assemble,
    body,
    call,
    candidate,
    content,
    event,
    events,
    split,
    text,
)

ENDED = body(candidate(text("Hi"), finish="STOP"), usageMetadata=USAGE)


def parts_of(assembled: JsonValue, index: int = 0) -> JsonValue:
    assert isinstance(assembled, dict) and isinstance(assembled["candidates"], list)
    one = assembled["candidates"][index]
    assert isinstance(one, dict) and isinstance(one["content"], dict)
    return one["content"]["parts"]


@pytest.mark.parametrize("asked", [EVENTS, ARRAY], ids=["events", "array"])
def test_a_text_stream_becomes_the_plain_body(asked: Asked) -> None:
    frames = events(*TEXT) if asked is EVENTS else split([array(*TEXT)], ARRAY)[0]
    assembled = assemble(frames, asked)
    assert (assembled.complete, assembled.failed) == (True, False)
    assert write(assembled.body) == write(TEXT_BODY)


def test_a_stream_of_one_chunk_needs_no_frames_and_one_of_several_does() -> None:
    # Clients send each chunk of an answer back as a message of its own.
    one = assemble(events(ENDED))
    assert (one.complete, one.lossless) == (True, True)
    assert one.body == ENDED
    assert not assemble(events(*TEXT)).lossless
    halves = [body(candidate(text("H"))), body(candidate(text("i"), finish="STOP"))]
    assert not assemble(events(*halves)).lossless
    array_of_one = assemble(split([array(ENDED)], ARRAY)[0], ARRAY)
    assert array_of_one.lossless


def test_thoughts_text_signatures_and_calls_keep_their_order() -> None:
    chunks = [
        body(candidate(text("Let", thought=True))),
        body(candidate(text(" me", thought=True), text("So"))),
        body(candidate(text(" be"), text(" it"))),
        body(candidate(text("", thoughtSignature="c2ln"))),
        body(candidate(call("f", a=1), call("g"))),
        body(candidate(text("", thought=False))),
        body(candidate(call("h"))),
        body(candidate(text("End"))),
        body(candidate(text(""), finish="STOP"), usageMetadata=USAGE),
    ]
    assembled = assemble(events(*chunks))
    assert assembled.complete
    assert parts_of(assembled.body) == [
        text("Let me", thought=True),
        text("So be"),
        text(" it"),
        text("", thoughtSignature="c2ln"),
        call("f", a=1),
        call("g"),
        call("h"),
        text("End"),
    ]
    (message,) = GEMINI.answer(assembled.body).messages
    assert message.text == "So be itEnd"
    assert [made.name for made in message.tool_calls] == ["f", "g", "h"]


def test_what_stands_around_the_text_survives() -> None:
    sources: JsonObject = {"groundingChunks": [{"web": {"uri": "u"}}]}
    chunks = [
        body(candidate(text("a"), safetyRatings=[{"p": 1}]), promptFeedback={"x": 1}),
        body(
            candidate(
                text("b"),
                groundingMetadata={},
                citationMetadata={"citationSources": [{"uri": "1"}]},
                logprobsResult={"chosenCandidates": [{"token": "b"}]},
            ),
            createTime="t",
        ),
        body(
            candidate(
                text("c"),
                finish="MAX_TOKENS",
                safetyRatings=[{"p": 2}],
                groundingMetadata=sources,
                citationMetadata={"citationSources": [{"uri": "2"}]},
                logprobsResult={"chosenCandidates": [{"token": "c"}]},
                finishMessage="cut",
            ),
            usageMetadata=USAGE,
        ),
    ]
    found = assemble(events(*chunks)).body
    assert found == {
        "candidates": [
            {
                "content": {"parts": [{"text": "abc"}], "role": "model"},
                "index": 0,
                "safetyRatings": [{"p": 2}],
                "groundingMetadata": sources,
                "citationMetadata": {"citationSources": [{"uri": "1"}, {"uri": "2"}]},
                "logprobsResult": {"chosenCandidates": [{"token": "b"}, {"token": "c"}]},
                "finishReason": "MAX_TOKENS",
                "finishMessage": "cut",
            }
        ],
        "promptFeedback": {"x": 1},
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r-1",
        "createTime": "t",
        "usageMetadata": USAGE,
    }


def test_candidates_interleave_by_index_or_by_position() -> None:
    def bare(said: str, finish: str | None = None) -> JsonObject:
        reason: JsonObject = {} if finish is None else {"finishReason": finish}
        return {"content": content(text(said)), **reason}

    numbered = [
        body(candidate(text("x"), index=1), candidate(text("a"), index=0)),
        body(candidate(text("y"), index=1, finish="STOP")),
        body(candidate(text("b"), index=0, finish="STOP")),
    ]
    placed = [body(bare("a"), bare("x")), body(bare("b", "STOP"), bare("y", "STOP"))]
    for chunks in (numbered, placed):
        assembled = assemble(events(*chunks))
        assert assembled.complete
        assert parts_of(assembled.body, 0) == [text("ab")]
        assert parts_of(assembled.body, 1) == [text("xy")]


@pytest.mark.parametrize("kept", range(len(TEXT) + 1))
def test_a_stream_is_complete_once_its_candidate_has_finished(kept: int) -> None:
    assert assemble(events(*TEXT[:kept])).complete == (kept == len(TEXT))


def test_an_array_is_complete_only_with_its_end() -> None:
    frames, _ = split([array(*TEXT)], ARRAY)
    assert [assemble(frames[:kept], ARRAY).complete for kept in range(len(frames) + 1)] == [
        *([False] * len(frames)),
        True,
    ]
    # Of an array that was cut, only blanks may be left.
    assert not assemble([*frames[:-1], b"\n"], ARRAY).complete


@pytest.mark.parametrize(
    ("chunks", "complete"),
    [
        pytest.param([body(candidate(text("a"), finish=""))], False, id="empty reason"),
        pytest.param(
            [body(candidate(text("a"), finish="FINISH_REASON_UNSPECIFIED"))],
            False,
            id="unspecified",
        ),
        pytest.param([body({**candidate(text("a")), "finishReason": 1})], False, id="odd reason"),
        pytest.param(
            [body(candidate(text("a"), finish="STOP")), body(candidate(text("b")))],
            False,
            id="more text after the end",
        ),
        pytest.param(
            [body(candidate(text("a"), finish="STOP")), body(usageMetadata=USAGE)],
            True,
            id="usage after the end",
        ),
        pytest.param(
            [body(candidate(text("a"))), body({"finishReason": "STOP"})], True, id="end alone"
        ),
        pytest.param(
            [body(candidate(text("a"), finish="STOP"), candidate(text("b"), index=1))],
            False,
            id="one candidate of two",
        ),
        pytest.param([{"promptFeedback": {"blockReason": "OTHER"}}], True, id="blocked"),
        pytest.param([{"promptFeedback": {}}, {"usageMetadata": USAGE}], False, id="nothing"),
        pytest.param([{"candidates": None}], False, id="null candidates"),
        pytest.param([], False, id="no chunk"),
    ],
)
def test_when_a_stream_is_complete(chunks: list[JsonValue], complete: bool) -> None:
    assembled = assemble(events(*chunks))
    assert assembled.complete is complete
    assert not assembled.failed


@pytest.mark.parametrize(
    ("count", "complete"),
    [(None, True), (1, True), ("2", True), (True, True), (2, False)],
    ids=["none", "one", "text", "a boolean", "two"],
)
def test_as_many_candidates_must_finish_as_were_asked_for(count: JsonValue, complete: bool) -> None:
    for key, name in (
        ("generationConfig", "candidateCount"),
        ("generation_config", "candidate_count"),
    ):
        pinned: JsonObject = {} if count is None else {key: {name: count}}
        asked = Asked(pinned, stream=True, stream_usage=True, transport={"alt": "sse"})
        assert assemble(events(ENDED), asked).complete is complete
        # The end of an array says that no other comes.
        closed = Asked(pinned, stream=True, stream_usage=True, transport={"alt": "json"})
        assert assemble(split([array(ENDED)], closed)[0], closed).complete


def test_a_body_is_told_as_one_chunk_in_the_framing_asked_for() -> None:
    assert list(GEMINI.stream(ENDED, EVENTS)) == [event(ENDED)]
    assert b"".join(GEMINI.stream(ENDED, ARRAY)) == b"[" + write(ENDED).encode() + b"\n]"


def test_stored_frames_are_served_in_either_framing() -> None:
    stored = {
        "events": [frame.decode() for frame in events(*TEXT)],
        "array": [frame.decode() for frame in split([array(*TEXT)], ARRAY)[0]],
    }
    for kept in stored.values():
        for asked in (EVENTS, ARRAY):
            served = b"".join(GEMINI.replayed(kept, asked))
            frames, rest = split([served], asked)
            assert rest == b""
            again = assemble(frames, asked)
            assert again.complete
            assert same(again.body, TEXT_BODY)
    assert list(GEMINI.replayed(stored["events"], EVENTS)) == events(*TEXT)
    assert b"".join(GEMINI.replayed(stored["array"], ARRAY)) == array(*TEXT)
    assert b"".join(GEMINI.replayed(stored["array"], EVENTS)) == b"".join(events(*TEXT))
    assert list(GEMINI.replayed([], EVENTS)) == []
