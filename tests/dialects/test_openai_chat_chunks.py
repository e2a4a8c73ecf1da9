"""A chat completion body told as the chunks of a stream, and stored chunks told again."""

from __future__ import annotations

import pytest

from flowproof.dialects import sse
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects.openai_chat_tools import (
    CHAT,
    DONE,
    TEXT_BODY,
    TOP,
    USAGE,
    azure,
    piece,
)
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE


def told(body: JsonValue, usage: bool) -> list[JsonValue]:
    asked = WITH_USAGE if usage else WITHOUT_USAGE
    frames = list(CHAT.stream(body, asked))
    assert frames.pop() == DONE
    return [parse(sse.data_of(frame) or "") for frame in frames]


def test_a_body_is_told_as_the_api_streams_it() -> None:
    top: JsonObject = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1764500000,
        "model": "gpt-4o-2024-08-06",
    }
    end: JsonObject = {**TOP, "usage": None}

    def expected(delta: JsonObject, finish: str | None = None) -> JsonObject:
        return {**top, **end, "choices": [piece(delta, finish, logprobs=None)]}

    last: JsonObject = {**top, **TOP, "choices": [], "usage": USAGE}
    assert told(TEXT_BODY, usage=True) == [
        expected({"role": "assistant", "content": "", "refusal": None}),
        expected({"content": "Grüße 👋"}),
        expected({}, "stop"),
        last,
    ]
    plain = told(TEXT_BODY, usage=False)
    assert len(plain) == 3
    assert all(isinstance(value, dict) and "usage" not in value for value in plain)


def test_a_tool_call_is_told_before_its_arguments() -> None:
    function: JsonObject = {"name": "f", "arguments": '{"a":1}'}
    call: JsonObject = {"id": "call_a", "type": "function", "function": function}
    message: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call, call]}
    chunks = told({"choices": [{"index": 0, "message": message}]}, usage=True)
    deltas = [value["choices"][0]["delta"] for value in chunks]  # type: ignore[index,call-overload]
    opened = {**call, "function": {"name": "f", "arguments": ""}}
    assert deltas == [
        {"role": "assistant", "content": None},
        {"tool_calls": [{"index": 0, **opened}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
        {"tool_calls": [{"index": 1, **opened}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": '{"a":1}'}}]},
        {},
    ]


@pytest.mark.parametrize(
    "body",
    [{"error": {"message": "no"}}, {"choices": []}, {"choices": [{"index": 0}]}, [], None],
    ids=["error", "no choice", "no message", "list", "null"],
)
def test_any_other_body_is_one_frame(body: JsonValue) -> None:
    assert told(body, usage=True) == [body]


def test_replayed_frames_are_those_recorded_less_the_usage_nobody_asked_for() -> None:
    frames = [*azure(), b": note\n\n", b"data: oops \xff\n\n"]
    events = [frame.decode("utf-8", "surrogateescape") for frame in frames]
    assert list(CHAT.replayed(events, WITH_USAGE)) == frames
    assert list(CHAT.replayed(events, WITHOUT_USAGE)) == [*frames[:4], *frames[5:]]
