"""Streams as providers send them: what they amount to, and what keeps their raw frames."""

from __future__ import annotations

import pytest

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked
from flowproof.model.jsonvalue import JsonObject, JsonValue, same, write
from tests.dialects.openai_chat_tools import (
    CHAT,
    DONE,
    TEXT,
    TEXT_BODY,
    USAGE,
    assemble,
    azure,
    chunk,
    piece,
    spoken,
)
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE, split


def call_piece(index: int, arguments: str, call_id: str = "", name: str = "") -> JsonObject:
    function: JsonObject = {"name": name} if name else {}
    entry: JsonObject = {"index": index}
    if call_id:
        entry |= {"id": call_id, "type": "function"}
    return piece({"tool_calls": [entry | {"function": function | {"arguments": arguments}}]})


def message_of(body: JsonValue) -> JsonObject:
    assert isinstance(body, dict) and isinstance(body["choices"], list)
    choice = body["choices"][0]
    assert isinstance(choice, dict) and isinstance(choice["message"], dict)
    return choice["message"]


def test_a_text_stream_becomes_the_plain_body_in_the_order_of_the_api() -> None:
    assembled = assemble(TEXT)
    assert (assembled.complete, assembled.lossless, assembled.failed) == (True, True, False)
    assert write(assembled.body) == write(TEXT_BODY)


def test_only_the_usage_frame_is_kept_from_an_agent_that_did_not_ask() -> None:
    assembler = CHAT.assembler(WITHOUT_USAGE)
    assert [assembler.feed(frame) for frame in TEXT] == [True, True, True, True, False, True]
    assert same(assembler.result().body, TEXT_BODY)
    assembler = CHAT.assembler(WITH_USAGE)
    assert all(assembler.feed(frame) for frame in TEXT)


def test_usage_beside_choices_is_passed_on_and_keeps_the_frames() -> None:
    frames = [
        chunk(piece({"role": "assistant", "content": "Hi"})),
        chunk(piece({}, "stop"), usage=USAGE),
        DONE,
    ]
    assembler = CHAT.assembler(WITHOUT_USAGE)
    assert all(assembler.feed(frame) for frame in frames)
    assembled = assembler.result()
    assert isinstance(assembled.body, dict)
    assert assembled.body["usage"] == USAGE
    assert not assembled.lossless


def test_parallel_tool_calls_interleave() -> None:
    assembled = assemble(
        [
            chunk(piece({"role": "assistant", "content": None, "refusal": None})),
            chunk(call_piece(0, "", "call_a", "get_weather")),
            chunk(call_piece(1, "", "call_b", "get_time")),
            chunk(call_piece(0, '{"city":')),
            chunk(call_piece(1, '{"zone":"CET')),
            chunk(call_piece(0, ' "Oslo"}')),
            chunk(call_piece(1, '"}')),
            chunk(piece({}, "tool_calls")),
            DONE,
        ]
    )
    assert assembled.lossless
    message = message_of(assembled.body)
    assert message == {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {
                "id": "call_a",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
            },
            {
                "id": "call_b",
                "type": "function",
                "function": {"name": "get_time", "arguments": '{"zone":"CET"}'},
            },
        ],
    }


def test_a_name_that_is_repeated_is_not_doubled() -> None:
    assembled = assemble(
        [
            chunk(call_piece(0, "{", "call_a", "f")),
            chunk(call_piece(0, "}", "call_a", "f")),
            chunk(piece({}, "tool_calls")),
            DONE,
        ]
    )
    calls = message_of(assembled.body)["tool_calls"]
    expected: JsonObject = {"name": "f", "arguments": "{}"}
    assert calls == [{"id": "call_a", "type": "function", "function": expected}]
    assert assembled.lossless


def test_parallel_calls_that_all_have_number_0_stay_apart() -> None:
    assembled = assemble(
        [
            chunk(call_piece(0, "{}", "call_a", "f")),
            chunk(call_piece(0, "[]", "call_b", "g")),
            chunk(piece({}, "tool_calls")),
            DONE,
        ]
    )
    answer = CHAT.answer(assembled.body).messages[0]
    assert [(c.id, c.name, c.text) for c in answer.tool_calls] == [
        ("call_a", "f", "{}"),
        ("call_b", "g", "[]"),
    ]
    assert not assembled.lossless


def test_legacy_calls_custom_tools_reasoning_and_refusals_join() -> None:
    assembled = assemble(
        [
            chunk(piece({"role": "assistant", "content": None, "reasoning_content": "Let "})),
            chunk(piece({"reasoning_content": "me see", "reasoning": "x"})),
            chunk(piece({"reasoning_details": [{"type": "r", "text": "a", "index": 0}]})),
            chunk(piece({"reasoning_details": [{"type": "r", "text": "b", "index": 0}]})),
            chunk(piece({"refusal": "I "})),
            chunk(piece({"refusal": "won't"})),
            chunk(piece({"function_call": {"name": "f", "arguments": ""}})),
            chunk(piece({"function_call": {"arguments": "{}"}})),
            chunk(
                piece(
                    {
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "c",
                                "type": "custom",
                                "custom": {"name": "sh", "input": "l"},
                            }
                        ]
                    }
                )
            ),
            chunk(piece({"tool_calls": [{"index": 0, "custom": {"input": "s"}}]})),
            chunk(piece({}, "stop")),
            DONE,
        ]
    )
    assert assembled.lossless
    assert message_of(assembled.body) == {
        "role": "assistant",
        "content": None,
        "refusal": "I won't",
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        "reasoning_content": "Let me see",
        "reasoning": "x",
        "reasoning_details": [{"type": "r", "text": "ab", "index": 0}],
        "function_call": {"name": "f", "arguments": "{}"},
    }


def test_log_probabilities_extend_and_choices_interleave() -> None:
    def token(text: str) -> JsonObject:
        return {"token": text, "logprob": -0.5, "bytes": None, "top_logprobs": []}

    def logged(*texts: str) -> JsonObject:
        return {"content": [token(text) for text in texts], "refusal": None}

    assembled = assemble(
        [
            chunk(piece({"role": "assistant", "content": ""}, index=1, logprobs=None)),
            chunk(piece({"role": "assistant", "content": ""}, index=0, logprobs=None)),
            chunk(piece({"content": "a"}, index=0, logprobs=logged("a"))),
            chunk(piece({"content": "x"}, index=1, logprobs=logged("x"))),
            chunk(piece({"content": "b"}, index=0, logprobs=logged("b"))),
            chunk(piece({}, "stop", index=0, logprobs=None)),
            chunk(piece({}, "length", index=1, logprobs=None)),
            DONE,
        ]
    )
    assert assembled.lossless
    assert isinstance(assembled.body, dict)
    assert assembled.body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "ab"},
            "logprobs": logged("a", "b"),
            "finish_reason": "stop",
        },
        {
            "index": 1,
            "message": {"role": "assistant", "content": "x"},
            "logprobs": logged("x"),
            "finish_reason": "length",
        },
    ]


def test_azure_keeps_its_frames_and_its_filter_results() -> None:
    assembler = CHAT.assembler(WITHOUT_USAGE)
    assert [assembler.feed(f) for f in azure()] == [True, True, True, True, False, True]
    assembled = assembler.result()
    assert assembled.complete and not assembled.lossless
    body = assembled.body
    assert isinstance(body, dict)
    assert (body["id"], body["model"]) == ("chatcmpl-1", "gpt-4o-2024-08-06")
    assert "prompt_filter_results" in body
    assert message_of(body)["content"] == "Hi"


@pytest.mark.parametrize(
    "error",
    [
        b'data: {"error":{"message":"overloaded","code":502}}\n\n',
        b'event: error\ndata: {"message":"overloaded"}\n\n',
        chunk(piece({"content": ""}, "error"), error={"message": "overloaded"}),
        b'event: error\ndata: "overloaded"\n\n',
    ],
    ids=["object", "named event", "beside a choice", "string"],
)
def test_an_error_event_fails_the_stream(error: bytes) -> None:
    assembled = assemble([*TEXT[:2], error])
    assert assembled.failed
    assert not assembled.complete and not assembled.lossless
    assert isinstance(assembled.body, dict)
    assert "overloaded" in write(assembled.body)
    assert CHAT.answer({"error": assembled.body}).messages == ()


def test_a_null_error_is_no_error() -> None:
    frames = [chunk(piece({"role": "assistant", "content": "Hi"}, "stop"), error=None), DONE]
    assembled = assemble(frames)
    assert (assembled.failed, assembled.lossless) == (False, True)


@pytest.mark.parametrize("kept", range(len(TEXT)))
def test_a_stream_is_complete_once_every_choice_finished(kept: int) -> None:
    assembled = assemble(TEXT[:kept])
    assert assembled.complete == (kept >= 4)
    assert assembled.lossless == (kept >= 4)


def test_one_unfinished_choice_of_two_is_not_complete() -> None:
    frames = [
        chunk(piece({"content": "a"}, "stop", index=0)),
        chunk(piece({"content": "b"}, index=1)),
    ]
    assert not assemble(frames).complete
    assert assemble([*frames, DONE]).complete
    assert assemble([*frames, chunk(piece({}, "stop", index=1))]).complete


def test_an_empty_stream_amounts_to_nothing() -> None:
    assert assemble([]).body is None
    assert not assemble([]).complete
    assert assemble([DONE]).body is None


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b": OPENROUTER PROCESSING\n\n", id="comment"),
        pytest.param(b"event: ping\n\n", id="event without data"),
        pytest.param(b"data: not JSON\n\n", id="not JSON"),
        pytest.param(b"data: \xff\n\n", id="not UTF-8"),
        pytest.param(b"data: 3\n\n", id="no object"),
        pytest.param(b"data: {}\n\n", id="no choices"),
        pytest.param(b"data: [1]\n\n", id="a list"),
        pytest.param(b"id: 7\n" + spoken(""), id="event id"),
        pytest.param(chunk(), id="empty choices without usage"),
        pytest.param(chunk(piece({}), created=1), id="another time"),
        pytest.param(chunk(piece({}), model="other"), id="another model"),
        pytest.param(
            chunk(piece({"phase": "a"})) + chunk(piece({"phase": "b"})), id="varying field"
        ),
        pytest.param(chunk({"index": 0, "finish_reason": None}), id="no delta"),
        pytest.param(chunk({"delta": {}}), id="no index"),
        pytest.param(chunk({"index": 0, "delta": {}, "message": {"content": "x"}}), id="a message"),
        pytest.param(sse.frame(write({"object": "other", "choices": [piece({})]})), id="object"),
    ],
)
def test_what_a_body_cannot_hold_keeps_the_frames(extra: bytes) -> None:
    assembled = assemble([*TEXT[:2], *split([extra])[0], *TEXT[2:]])
    assert assembled.complete
    assert not assembled.lossless
    assert message_of(assembled.body)["content"] == "Grüße 👋"


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(b":\n\n", id="keep-alive"),
        pytest.param(b"\n", id="blank line"),
        pytest.param(chunk(piece({"phase": "a"}), citations=["u"]), id="a field in one chunk"),
        pytest.param(chunk(piece({"audio": {"id": "a", "data": "AA"}})), id="audio"),
        pytest.param(chunk(piece({"role": "assistant"})), id="role again"),
    ],
)
def test_what_comes_out_of_the_body_again_needs_no_frames(extra: bytes) -> None:
    assembled = assemble([*TEXT[:2], extra, *TEXT[2:]])
    assert assembled.complete and assembled.lossless


def test_frames_after_the_end_are_ignored_and_kept() -> None:
    assembled = assemble([*TEXT, spoken("more")])
    assert same(assembled.body, TEXT_BODY)
    assert not assembled.lossless


def finished(index: int) -> bytes:
    return chunk(piece({"content": "Hi"}, "stop", index))


@pytest.mark.parametrize(
    ("n", "frames", "complete"),
    [
        pytest.param(2, [finished(0)], False, id="one of two"),
        pytest.param(2, [finished(0), chunk(piece({"content": "H"}, None, 1))], False, id="cut"),
        pytest.param(2, [finished(0), finished(1)], True, id="both"),
        pytest.param(2, [finished(0), DONE], True, id="one of two and DONE"),
        pytest.param(None, [finished(0)], True, id="n is null"),
        pytest.param("2", [finished(0)], True, id="n is no number"),
        pytest.param(0, [], False, id="nothing"),
    ],
)
def test_without_done_a_stream_is_complete_once_all_choices_asked_for_have_finished(
    n: JsonValue, frames: list[bytes], complete: bool
) -> None:
    asked = Asked({"n": n}, stream=True, stream_usage=False)
    assert assemble(frames, asked).complete is complete


@pytest.mark.parametrize(
    ("frame", "unread"),
    [
        pytest.param(b"data: {oops\n\n", "{oops", id="cut JSON"),
        pytest.param(b'data: {"a": NaN}\n\n', '{"a": NaN}', id="NaN"),
        pytest.param(b"data: hello\ndata: you\n\n", "hello\nyou", id="text"),
        pytest.param(b"data: [DONE]\n\n", None, id="DONE"),
        pytest.param(b'data: {"type": "ping"}\n\n', None, id="JSON of another kind"),
        pytest.param(b"data:\n\n", None, id="no text"),
        pytest.param(b": comment\n\n", None, id="a comment"),
        pytest.param(b"event: ping\n\n", None, id="no data"),
    ],
)
def test_data_that_is_no_json_is_told(frame: bytes, unread: str | None) -> None:
    assembler = CHAT.assembler(WITH_USAGE)
    for one in [*TEXT[:2], frame, *TEXT[2:]]:
        assembler.feed(one)
    assert assembler.unread == unread
