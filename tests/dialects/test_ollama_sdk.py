"""The official client reads what Ollama's dialects write: streams, plain bodies and errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import ollama
import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, write
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

LOGPROBS: JsonValue = [{"token": "Hi", "logprob": -0.5}]
USER: Any = [{"role": "user", "content": "Hi"}]


def client(status: int, content_type: str, chunks: Iterable[bytes]) -> ollama.Client:
    data = b"".join(chunks)

    def answer(request: httpx.Request) -> httpx.Response:
        found = [d for d in (CHAT, GENERATE) if d.operation(request.method, request.url.path)]
        assert len(found) == 1
        return httpx.Response(status, headers={"content-type": content_type}, content=data)

    return ollama.Client("http://127.0.0.1:1", transport=httpx.MockTransport(answer))


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
    with client(200, "application/json", [write(body).encode()]) as sdk:
        plain = sdk.chat(model="qwen3", messages=USER)
    assert dumped(plain) == body
    with client(200, "application/x-ndjson", CHAT.stream(body, STREAMING)) as sdk:
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
    with client(200, "application/json", [write(body).encode()]) as sdk:
        plain = sdk.generate(model="qwen3", prompt="Hi")
    assert dumped(plain) == body
    with client(200, "application/x-ndjson", GENERATE.stream(body, STREAMING)) as sdk:
        parts = list(sdk.generate(model="qwen3", prompt="Hi", stream=True))
    assert "".join(part.response or "" for part in parts) == plain.response
    assert parts[-1].context == plain.context
    assert assemble((raw_line(dumped(part)) for part in parts), GENERATE).body == body


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streaming"])
@pytest.mark.parametrize("dialect", [CHAT, GENERATE], ids=["chat", "generate"])
def test_a_refusal_is_an_error_with_our_message(dialect: Any, stream: bool) -> None:
    message = "flowproof: the model differs, at $.model"
    error = write(dialect.error(400, message, "flowproof_divergence")).encode()
    with (
        client(400, "application/json", [error]) as sdk,
        pytest.raises(ollama.ResponseError, match=r"the model differs, at \$\.model") as raised,
    ):
        if dialect is CHAT:
            list(sdk.chat(model="qwen3", messages=USER, stream=stream))
        else:
            list(sdk.generate(model="qwen3", prompt="Hi", stream=stream))
    assert (raised.value.error, raised.value.status_code) == (message, 400)


@pytest.mark.parametrize("body", [{"error": "it broke"}, {"error": "it broke", "done": True}])
def test_an_error_told_as_a_stream_is_an_error(body: JsonValue) -> None:
    with (
        client(200, "application/x-ndjson", CHAT.stream(body, STREAMING)) as sdk,
        pytest.raises(ollama.ResponseError, match="it broke"),
    ):
        list(sdk.chat(model="qwen3", messages=USER, stream=True))
