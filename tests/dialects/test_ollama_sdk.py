"""The official client reads what Ollama's dialects write: streams and plain bodies."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects.ollama_tools import (
    CHAT,
    END,
    GENERATE,
    STREAMING,
    assemble,
    call,
    head,
    raw_line,
)
from tests.dialects.sdk import ollama_client, served, served_stream

LOGPROBS: JsonValue = [{"token": "Hi", "logprob": -0.5}]
USER: Any = [{"role": "user", "content": "Hi"}]


def chat(message: JsonObject) -> JsonObject:
    said: JsonObject = {"role": "assistant", "content": ""}
    return {**head(), "message": said | message, **END}


CHATS = [
    pytest.param(chat({"content": "Grüße 👋"}), id="text"),
    pytest.param(chat({"content": "a\u2028b\x85c\r\nd"}), id="line ends of all kinds"),
    pytest.param(chat({"content": "Hi", "thinking": "Hm.\n"}), id="thinking"),
    pytest.param(
        chat({"tool_calls": [call("f", {"a": [1]}), call("g", {"b": None})]}), id="tool calls"
    ),
    pytest.param(chat({"content": "Hi"}) | {"logprobs": LOGPROBS}, id="log probabilities"),
]


def dumped(answer: Any) -> JsonObject:
    """What the client made of an answer, without the members that it adds."""
    found = parse(answer.model_dump_json(exclude_none=True))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("body", CHATS)
def test_the_parts_of_a_chat_amount_to_the_plain_answer(body: JsonObject) -> None:
    with ollama_client(served(CHAT, body, http=httpx)) as sdk:
        plain = sdk.chat(model="qwen3", messages=USER)
    assert dumped(plain) == body
    frames = CHAT.stream(body, STREAMING)
    with ollama_client(served_stream(CHAT, frames, http=httpx)) as sdk:
        parts = list(sdk.chat(model="qwen3", messages=USER, stream=True))
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert "".join(part.message.content or "" for part in parts) == plain.message.content
    assert "".join(part.message.thinking or "" for part in parts) == (plain.message.thinking or "")
    made = [made for part in parts for made in part.message.tool_calls or ()]
    assert made == list(plain.message.tool_calls or ())
    assert assemble(raw_line(dumped(part)) for part in parts).body == body
    assert parts[-1].eval_count == 298


GENERATED = [
    pytest.param({**head(), "response": "Grüße\u2029", **END, "context": [1, 2]}, id="text"),
    pytest.param({**head(), "response": "Hi", "thinking": "Hm", **END}, id="thinking"),
    pytest.param({**head(), "response": "", "done": True, "done_reason": "load"}, id="loading"),
]


@pytest.mark.parametrize("body", GENERATED)
def test_the_parts_of_a_text_amount_to_the_plain_answer(body: JsonObject) -> None:
    with ollama_client(served(GENERATE, body, http=httpx)) as sdk:
        plain = sdk.generate(model="qwen3", prompt="Hi")
    assert dumped(plain) == body
    frames = GENERATE.stream(body, STREAMING)
    with ollama_client(served_stream(GENERATE, frames, http=httpx)) as sdk:
        parts = list(sdk.generate(model="qwen3", prompt="Hi", stream=True))
    assert "".join(part.response or "" for part in parts) == plain.response
    assert parts[-1].context == plain.context
    assert assemble((raw_line(dumped(part)) for part in parts), GENERATE).body == body
