"""The official SDK reads what the dialect writes: streams and plain bodies."""

from __future__ import annotations

import openai
import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects.openai_chat_tools import CHAT, assemble
from tests.dialects.sdk import openai_client, served, served_stream
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE

USAGE: JsonObject = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
TEXT: JsonObject = {"role": "assistant", "content": "Grüße 👋", "refusal": None}
LOGPROBS: JsonObject = {
    "content": [{"token": "G", "logprob": -0.5, "bytes": [71], "top_logprobs": []}],
    "refusal": None,
}
CALLS: JsonObject = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "tool_calls": [
        {
            "id": f"call_{name}",
            "type": "function",
            "function": {"name": name, "arguments": f'{{"n": "{name}"}}'},
        }
        for name in ("a", "b")
    ],
}


def body(message: JsonObject, finish: str = "stop", **choice: JsonValue) -> JsonObject:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764500000,
        "model": "gpt-4o",
        "choices": [
            {"index": 0, "message": message, **choice, "finish_reason": finish},
        ],
        "usage": USAGE,
        "system_fingerprint": "fp_1",
    }


BODIES = [
    pytest.param(body(TEXT), id="text"),
    pytest.param(body(TEXT, logprobs=LOGPROBS), id="log probabilities"),
    pytest.param(body(CALLS, "tool_calls"), id="two tool calls"),
    pytest.param(
        body({"role": "assistant", "content": None, "refusal": "No."}, logprobs=None), id="refusal"
    ),
    pytest.param(body({**TEXT, "reasoning_content": "Hm."}), id="reasoning"),
]


def streaming(answer: JsonValue, usage: bool = True) -> openai.OpenAI:
    frames = CHAT.stream(answer, WITH_USAGE if usage else WITHOUT_USAGE)
    return openai_client(served_stream(CHAT, frames))


@pytest.mark.parametrize("answer", BODIES)
def test_the_stream_helper_accumulates_the_plain_answer(answer: JsonObject) -> None:
    with openai_client(served(CHAT, answer)) as sdk:
        plain = sdk.chat.completions.create(model="gpt-4o", messages=[])
    with (
        streaming(answer) as sdk,
        sdk.chat.completions.stream(model="gpt-4o", messages=[]) as stream,
    ):
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    # The helper adds nulls, and leaves the numbers of tool calls in.
    unnumbered = {"choices": {"__all__": {"message": {"tool_calls": {"__all__": {"index"}}}}}}
    helped = final.model_dump_json(exclude_none=True, exclude=unnumbered)
    assert parse(helped) == parse(plain.model_dump_json(exclude_none=True))
    assert plain.to_dict() == answer
    assert "chunk" in kinds


@pytest.mark.parametrize("usage", [True, False], ids=["usage", "no usage"])
@pytest.mark.parametrize("answer", BODIES)
def test_raw_iteration_gives_every_chunk(answer: JsonObject, usage: bool) -> None:
    with streaming(answer, usage) as sdk:
        chunks = list(sdk.chat.completions.create(model="gpt-4o", messages=[], stream=True))
    assert all(chunk.id == "chatcmpl-1" and chunk.model == "gpt-4o" for chunk in chunks)
    told = [chunk.usage.to_dict() for chunk in chunks if chunk.usage is not None]
    assert told == ([USAGE] if usage else [])
    finishes = [c.finish_reason for chunk in chunks for c in chunk.choices if c.finish_reason]
    assert len(finishes) == 1
    frames = [f"data: {chunk.to_json(indent=None)}\n\n".encode() for chunk in chunks]
    again = assemble([*frames, b"data: [DONE]\n\n"]).body
    expected = answer if usage else {k: v for k, v in answer.items() if k != "usage"}
    assert again == expected
