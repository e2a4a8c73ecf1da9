"""Any valid body told as a stream, cut anywhere, is the same body when put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue, same
from tests.dialects.openai_chat_tools import CHAT, assemble
from tests.dialects.strategies import PLACES, TEXT, UNKNOWN
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE, survives

# `index` in a list of objects numbers its entries, so an unknown field must not hold it.


@st.composite
def calls(draw: st.DrawFn) -> list[JsonValue]:
    found: list[JsonValue] = []
    for number in range(draw(st.integers(1, 3))):
        kind, key = draw(st.sampled_from([("function", "arguments"), ("custom", "input")]))
        inner: JsonObject = {"name": draw(st.sampled_from(["f", "get_x"])), key: draw(TEXT)}
        found.append({"id": f"call_{number}", "type": kind, kind: inner, **draw(UNKNOWN)})
    return found


@st.composite
def choices(draw: st.DrawFn, index: int) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": draw(st.none() | TEXT)}
    if draw(st.booleans()):
        message["refusal"] = draw(st.none() | TEXT)
    if draw(st.booleans()):
        message["tool_calls"] = [*draw(calls())]
    if draw(st.booleans()):
        message["function_call"] = {"name": "f", "arguments": draw(TEXT)}
    if draw(st.booleans()):
        message["annotations"] = [*draw(st.lists(UNKNOWN, max_size=2))]
    choice: JsonObject = {"index": index, "message": message | draw(UNKNOWN)}
    if draw(st.booleans()):
        tokens: list[JsonValue] = [{"token": text, "logprob": -1} for text in draw(st.lists(TEXT))]
        logprobs: JsonObject = {"content": tokens, "refusal": None}
        choice["logprobs"] = logprobs if draw(st.booleans()) else None
    choice["finish_reason"] = draw(st.sampled_from(["stop", "length", "tool_calls"]))
    return choice | draw(UNKNOWN)


@st.composite
def bodies(draw: st.DrawFn) -> JsonObject:
    body: JsonObject = {
        "id": draw(TEXT),
        "object": "chat.completion",
        "created": draw(st.integers(0)),
        "model": draw(TEXT),
        "choices": [draw(choices(index)) for index in range(draw(st.integers(1, 3)))],
    }
    if draw(st.booleans()):
        usage: JsonObject = {"prompt_tokens": 1, "completion_tokens": 2}
        body["usage"] = usage if draw(st.booleans()) else None
    return body | draw(UNKNOWN)


@given(bodies(), PLACES)
def test_a_body_survives_the_stream_with_usage(body: JsonObject, places: list[int]) -> None:
    survives(CHAT, body, places)


@given(bodies())
def test_without_usage_all_but_the_usage_survives(body: JsonObject) -> None:
    assembled = assemble(CHAT.stream(body, WITHOUT_USAGE), WITHOUT_USAGE)
    assert assembled.complete and assembled.lossless
    assert same(assembled.body, {key: value for key, value in body.items() if key != "usage"})


@given(bodies())
def test_replayed_frames_lose_no_more_than_the_usage_nobody_asked_for(body: JsonObject) -> None:
    frames = list(CHAT.stream(body, WITH_USAGE))
    events = [frame.decode() for frame in frames]
    assert list(CHAT.replayed(events, WITH_USAGE)) == frames
    kept = frames if body.get("usage") is None else [*frames[:-2], frames[-1]]
    assert list(CHAT.replayed(events, WITHOUT_USAGE)) == kept
