"""Streams of legacy completions: what they amount to, and what keeps their raw frames."""

from __future__ import annotations

import pytest

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, same, write
from tests.dialects.openai_completions_tools import (
    COMPLETIONS,
    DONE,
    TEXT,
    TEXT_BODY,
    USAGE,
    assemble,
    chunk,
    piece,
)
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE


def choices_of(body: JsonValue) -> list[JsonValue]:
    assert isinstance(body, dict) and isinstance(body["choices"], list)
    return body["choices"]


def test_a_stream_becomes_the_plain_body_in_the_order_of_the_api() -> None:
    assembled = assemble(TEXT)
    assert (assembled.complete, assembled.lossless, assembled.failed) == (True, True, False)
    assert write(assembled.body) == write(TEXT_BODY)


def test_only_the_usage_frame_is_kept_from_an_agent_that_did_not_ask() -> None:
    assembler = COMPLETIONS.assembler(WITHOUT_USAGE)
    assert [assembler.feed(frame) for frame in TEXT] == [True, True, True, True, False, True]
    assert same(assembler.result().body, TEXT_BODY)
    assert all(map(COMPLETIONS.assembler(WITH_USAGE).feed, TEXT))


def test_choices_interleave() -> None:
    frames = [
        chunk(piece("x", index=1)),
        chunk(piece("a", index=0)),
        chunk(piece("y", index=1), piece("b", index=0)),
        chunk(piece("", "stop", index=0)),
        chunk(piece("", "length", index=1)),
        DONE,
    ]
    assembled = assemble(frames)
    assert assembled.lossless
    assert choices_of(assembled.body) == [piece("ab", "stop", 0), piece("xy", "length", 1)]


def logged(*texts: str) -> JsonObject:
    return {
        "tokens": [*texts],
        "token_logprobs": [-0.5 for _ in texts],
        "top_logprobs": [{text: -0.5} for text in texts],
        "text_offset": [4 for _ in texts],
    }


def test_log_probabilities_extend() -> None:
    frames = [
        chunk(piece("a", logprobs=logged("a"))),
        chunk(piece("bc", logprobs=logged("b", "c"))),
        chunk(piece("", "stop")),
        DONE,
    ]
    assembled = assemble(frames)
    assert assembled.lossless
    expected = piece("abc", "stop", logprobs=logged("a", "b", "c"))
    assert choices_of(assembled.body) == [expected]


def test_a_choice_may_end_with_its_last_text() -> None:
    assembled = assemble([chunk(piece("a")), chunk(piece("b", "stop")), chunk(usage=USAGE), DONE])
    assert assembled.lossless
    assert choices_of(assembled.body) == [piece("ab", "stop")]


@pytest.mark.parametrize(
    "error",
    [
        b'data: {"error":{"message":"overloaded","code":502}}\n\n',
        b'event: error\ndata: {"message":"overloaded"}\n\n',
        b'event: error\ndata: "overloaded"\n\n',
    ],
    ids=["object", "named event", "string"],
)
def test_an_error_event_fails_the_stream(error: bytes) -> None:
    assembled = assemble([*TEXT[:2], error])
    assert assembled.failed
    assert not assembled.complete and not assembled.lossless
    assert "overloaded" in write(assembled.body)
    assert COMPLETIONS.answer(assembled.body).messages == ()


@pytest.mark.parametrize("kept", range(len(TEXT)))
def test_a_stream_is_complete_once_every_choice_finished(kept: int) -> None:
    assembled = assemble(TEXT[:kept])
    assert assembled.complete == assembled.lossless == (kept >= 4)


@pytest.mark.parametrize(
    ("pinned", "finished", "complete"),
    [
        pytest.param({"prompt": "p"}, 1, True, id="one of one"),
        pytest.param({"prompt": "p", "n": 2}, 1, False, id="one of two choices"),
        pytest.param({"prompt": "p", "n": 2}, 2, True, id="two of two choices"),
        pytest.param({"prompt": ["p", "q"]}, 1, False, id="one of two prompts"),
        pytest.param({"prompt": ["p", "q"], "n": 2}, 3, False, id="three of four"),
        pytest.param({"prompt": [[1], [2]], "n": 2}, 4, True, id="four of four"),
        pytest.param({"prompt": [1, 2]}, 1, True, id="tokens are one prompt"),
        pytest.param({"prompt": [], "n": None}, 1, True, id="odd"),
        pytest.param({}, 0, False, id="nothing"),
    ],
)
def test_without_done_all_that_was_asked_for_must_have_finished(
    pinned: JsonObject, finished: int, complete: bool
) -> None:
    frames = [chunk(piece("Hi", "stop", index)) for index in range(finished)]
    asked = Asked(pinned, stream=True, stream_usage=False)
    assert assemble(frames, asked).complete is complete
    assert assemble([*frames, DONE], asked).complete is bool(frames)


def test_an_empty_stream_amounts_to_nothing() -> None:
    assert assemble([]).body is None
    assert not assemble([]).complete
    assert assemble([DONE]).body is None


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b": OPENROUTER PROCESSING\n\n", id="comment"),
        pytest.param(b"data: not JSON\n\n", id="not JSON"),
        pytest.param(b"data: 3\n\n", id="no object"),
        pytest.param(b"data: {}\n\n", id="no choices"),
        pytest.param(chunk(), id="empty choices without usage"),
        pytest.param(chunk(piece("")), id="a piece that says nothing"),
        pytest.param(chunk(piece(""), usage=USAGE), id="usage beside a choice"),
        pytest.param(chunk(piece(""), created=1), id="another time"),
        pytest.param(chunk(piece("", stop_reason=7)), id="an unknown field"),
        pytest.param(chunk({"text": ""}), id="no index"),
        pytest.param(chunk(piece("", logprobs=logged("x"))), id="log probabilities alone"),
    ],
)
def test_what_a_body_cannot_hold_keeps_the_frames(extra: bytes) -> None:
    assembled = assemble([*TEXT[:2], extra, *TEXT[2:]])
    assert assembled.complete
    assert not assembled.lossless
    first = choices_of(assembled.body)[0]
    assert isinstance(first, dict) and first["text"] == "Grüße 👋"


def test_text_that_cannot_be_read_is_not_lost() -> None:
    assembled = assemble([*TEXT[:2], chunk(piece("") | {"text": ["x"]}), *TEXT[2:]])
    assert COMPLETIONS.answer(assembled.body).messages == ()
    assert COMPLETIONS.answer(assemble(TEXT).body).messages != ()


def test_keep_alives_and_padding_need_no_frames() -> None:
    padded = chunk(piece("ße"), usage=None, obfuscation="xyz")
    assembled = assemble([TEXT[0], b":\n\n", padded, *TEXT[2:]])
    assert assembled.lossless
    assert same(assembled.body, TEXT_BODY)


def test_frames_after_the_end_are_ignored_and_kept() -> None:
    assembled = assemble([*TEXT, TEXT[0]])
    assert same(assembled.body, TEXT_BODY)
    assert not assembled.lossless


def test_data_that_is_no_json_is_told() -> None:
    assembler = COMPLETIONS.assembler(WITH_USAGE)
    for frame in [*TEXT[:2], b"data: {oops\n\n", b"data: later\n\n", *TEXT[2:]]:
        assembler.feed(frame)
    assert assembler.unread == "{oops"


def told(body: JsonValue, usage: bool) -> list[JsonValue]:
    asked = WITH_USAGE if usage else WITHOUT_USAGE
    frames = list(COMPLETIONS.stream(body, asked))
    assert frames.pop() == DONE
    return [parse(sse.data_of(frame) or "") for frame in frames]


def test_a_body_is_told_as_the_api_streams_it() -> None:
    def read(frame: bytes) -> JsonValue:
        return parse(sse.data_of(frame) or "")

    text, finish = chunk(piece("Grüße 👋"), usage=None), TEXT[3]
    assert told(TEXT_BODY, usage=True) == [read(text), read(finish), read(TEXT[4])]
    assert told(TEXT_BODY, usage=False) == [
        read(chunk(piece("Grüße 👋"))),
        read(chunk(piece("", "stop"))),
    ]


@pytest.mark.parametrize(
    "body",
    [{"error": {"message": "no"}}, {"choices": []}, {"choices": [{"index": 0}]}, [], None],
    ids=["error", "no choice", "no text", "list", "null"],
)
def test_any_other_body_is_one_frame(body: JsonValue) -> None:
    assert told(body, usage=True) == [body]


def test_replayed_frames_are_those_recorded_less_the_usage_nobody_asked_for() -> None:
    events = [frame.decode() for frame in TEXT]
    assert list(COMPLETIONS.replayed(events, WITH_USAGE)) == TEXT
    assert list(COMPLETIONS.replayed(events, WITHOUT_USAGE)) == [*TEXT[:4], TEXT[5]]
