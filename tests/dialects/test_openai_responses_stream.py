"""Streams as providers send them: what they amount to, and what keeps their raw frames."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, same, write
from tests.dialects.openai_responses_tools import (
    BEGUN,
    BODY,
    CLOSING,
    END,
    OPENING,
    RESPONSES,
    STREAMING,
    TEXT,
    assemble,
    call,
    event,
    piece,
    response,
    said,
    text_part,
    values,
)


def test_the_last_event_is_the_plain_body() -> None:
    assembled = assemble(TEXT)
    assert (assembled.complete, assembled.lossless, assembled.failed) == (True, True, False)
    assert write(assembled.body) == write(BODY)


def test_a_synthesised_stream_is_the_stream_of_the_api_but_for_the_pieces() -> None:
    told = values(RESPONSES.stream(BODY, STREAMING))
    assert [one["type"] for one in told] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [one["sequence_number"] for one in told] == list(range(9))
    assert told[0]["response"] == told[1]["response"] == BEGUN
    frames = list(RESPONSES.stream(BODY, STREAMING))
    assert all(sse.event_of(frame) == one["type"] for frame, one in zip(frames, told, strict=True))


def test_the_tier_that_was_asked_for_is_told_first() -> None:
    asked = Asked({"service_tier": "flex"}, stream=True, stream_usage=True)
    begun = values(RESPONSES.stream(BODY, asked))[0]["response"]
    assert isinstance(begun, dict)
    assert begun["service_tier"] == "flex"


@pytest.mark.parametrize("end", range(len(TEXT)))
def test_a_stream_without_its_last_event_is_not_complete(end: int) -> None:
    assembled = assemble(TEXT[:end])
    assert not assembled.complete
    assert not assembled.lossless
    if end:
        assert RESPONSES.answer(assembled.body).messages == ()


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_an_answer_that_broke_off_is_the_answer_of_the_api(status: str) -> None:
    error: JsonObject = {"code": "server_error", "message": "it broke"}
    body = response(status=status, error=error if status == "failed" else None)
    begun = BEGUN | {"error": None}
    frames = [
        event("response.created", response=begun),
        event("response.in_progress", response=begun),
        event(f"response.{status}", response=body),
    ]
    assembled = assemble(frames)
    failed = status == "failed"
    assert (assembled.complete, assembled.lossless, assembled.failed) == (True, not failed, failed)
    assert assembled.body == body
    (*_, last) = values(RESPONSES.stream(body, STREAMING))
    assert last["type"] == f"response.{status}"


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(
            event("error", code="server_error", message="it broke", sequence_number=4),
            id="error event",
        ),
        pytest.param(b'data: {"error": {"message": "it broke"}}\n\n', id="error object"),
        pytest.param(b'event: error\ndata: {"message": "it broke"}\n\n', id="named so"),
    ],
)
def test_an_error_event_is_a_failure(frame: bytes) -> None:
    assembled = assemble([*OPENING, frame])
    assert (assembled.complete, assembled.lossless, assembled.failed) == (False, False, True)
    assert assembled.body == parse(sse.data_of(frame) or "")
    assembled = assemble([*OPENING, frame, event("response.failed", response=BODY)])
    assert (assembled.complete, assembled.failed) == (True, True)


def replaced(at: int, *frames: bytes) -> list[bytes]:
    return [*TEXT[:at], *frames, *TEXT[at + 1 :]]


SHORTER = response(said(text_part("Grüße")))
OTHER_TIER = BEGUN | {"service_tier": "priority"}


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(replaced(4), id="a piece is missing"),
        pytest.param(replaced(4, piece("Gruss")), id="another piece"),
        pytest.param(replaced(4, piece("Grüße", item_id="msg_2")), id="another item"),
        pytest.param(replaced(4, piece("Grüße", logprobs=[{"token": "G"}])), id="probabilities"),
        pytest.param([*TEXT[:-1], event("response.completed", response=SHORTER)], id="less at end"),
        pytest.param(replaced(1), id="an event is missing"),
        pytest.param([*TEXT[:3], event("response.x.new", a=1), *TEXT[3:]], id="an unknown event"),
        pytest.param([event("response.created", response=OTHER_TIER), *TEXT[1:]], id="begun so"),
        pytest.param([*TEXT, piece("more")], id="after the end"),
        pytest.param([*TEXT, b"data: [DONE]\n\n"], id="done"),
        pytest.param([b": hello\n\n", *TEXT], id="comment"),
        pytest.param([b"id: 7\n" + TEXT[0], *TEXT[1:]], id="id line"),
        pytest.param([b"data: 7\n\n", *TEXT], id="no object"),
        pytest.param([b'data: {"a": 1}\n\n', *TEXT], id="no type"),
        pytest.param([b"event: x\n\n", *TEXT], id="no data"),
        pytest.param([TEXT[0].replace(b"event: response.created", b"event: x"), *TEXT[1:]], id="x"),
        pytest.param([TEXT[0].replace(b"Gr", b"\xff"), *TEXT[1:], b"data: \xff\n\n"], id="bytes"),
    ],
)
def test_what_a_synthesised_stream_would_lose_keeps_the_frames(frames: list[bytes]) -> None:
    assembled = assemble(frames)
    assert assembled.complete
    assert not assembled.lossless


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([*OPENING, piece(""), *TEXT[4:]], id="an empty piece"),
        pytest.param([*OPENING, *map(piece, "Grüße 👋"), *CLOSING, END], id="many pieces"),
        pytest.param([b":\n\n", b"\n", *TEXT], id="keep-alive"),
        pytest.param([event("keepalive", sequence_number=3), *TEXT], id="keepalive event"),
        pytest.param(
            [b"data: " + (sse.data_of(one) or "").encode() + b"\n\n" for one in TEXT], id="bare"
        ),
    ],
)
def test_what_only_cuts_or_pads_keeps_no_frames(frames: list[bytes]) -> None:
    assembled = assemble(frames)
    assert assembled.lossless
    assert same(assembled.body, BODY)


def test_the_first_data_that_is_no_json_is_told() -> None:
    assembler = RESPONSES.assembler(STREAMING)
    for frame in (b"data: \n\n", b"data: {oh\n\n", b"data: no\n\n", *TEXT):
        assembler.feed(frame)
    assert assembler.unread == "{oh"
    assert not assembler.result().lossless


CALL = call("search", '{"to": "NBO"}')
DONE_CALL = event("response.output_item.done", output_index=0, item=CALL)
ADDED_CALL = event("response.output_item.added", output_index=0, item=CALL | {"arguments": ""})


@pytest.mark.parametrize("output", [None, []], ids=["null", "empty"])
@pytest.mark.parametrize("end", ["completed", "incomplete"])
def test_items_that_the_last_event_leaves_out_are_part_of_the_answer(
    output: JsonValue, end: str
) -> None:
    last = event(f"response.{end}", response=response(status=end) | {"output": output})
    assembled = assemble([ADDED_CALL, DONE_CALL, last])
    assert assembled.complete
    assert not assembled.lossless
    (message,) = RESPONSES.answer(assembled.body).messages
    assert [made.name for made in message.tool_calls] == ["search"]


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([ADDED_CALL], id="begun"),
        pytest.param(
            [event("response.function_call_arguments.delta", output_index=0, delta="{")],
            id="in pieces",
        ),
        pytest.param([DONE_CALL, event("response.output_item.added", output_index=1)], id="second"),
    ],
)
@pytest.mark.parametrize("output", [None, []], ids=["null", "empty"])
def test_an_answer_that_lacks_what_was_begun_is_not_complete(
    frames: Sequence[bytes], output: JsonValue
) -> None:
    body = response() | {"output": output}
    assert not assemble([*frames, event("response.completed", response=body)]).complete


@pytest.mark.parametrize("last", [None, [], "resp_1"], ids=["null", "list", "text"])
def test_a_last_event_without_a_response_is_no_end(last: JsonValue) -> None:
    assert not assemble([*TEXT[:-1], event("response.completed", response=last)]).complete


def test_a_last_event_that_says_nothing_is_no_answer() -> None:
    assembled = assemble([event("response.completed", response={"id": "resp_1"})])
    assert assembled.complete
    assert RESPONSES.answer(assembled.body).messages == ()


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_response_that_is_not_there_yet_does_not_end(status: str) -> None:
    frames = list(RESPONSES.stream(response(status=status), STREAMING))
    assert [one["type"] for one in values(frames)] == ["response.created", f"response.{status}"]
    assert not assemble(frames).complete


def test_stored_frames_are_served_as_they_came() -> None:
    assert list(RESPONSES.replayed([one.decode() for one in TEXT], STREAMING)) == TEXT


def test_a_body_that_is_no_response_is_one_frame() -> None:
    body = RESPONSES.error(500, "it broke", "code")
    frames = list(RESPONSES.stream(body, STREAMING))
    assert values(frames) == [body]
    assert sse.event_of(frames[0]) == "error"
    assert assemble(frames).failed
    assert list(RESPONSES.stream(None, STREAMING)) == [b"data: null\n\n"]
