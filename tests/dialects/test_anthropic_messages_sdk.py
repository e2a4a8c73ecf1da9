"""The official SDK reads what the dialect writes: streams, plain bodies and errors."""

from __future__ import annotations

from collections.abc import Iterable

import anthropic
import httpx2
import pytest
from anthropic import Anthropic

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, write
from tests.dialects.anthropic_messages_tools import (
    MESSAGES,
    STREAMED,
    USAGE,
    assemble,
    body,
    text,
    tool_use,
)

CITED: JsonObject = {
    "type": "char_location",
    "cited_text": "so",
    "document_index": 0,
    "document_title": "T",
    "start_char_index": 0,
    "end_char_index": 2,
}
SEARCHED: JsonObject = {
    "type": "web_search_result",
    "url": "https://x.example",
    "title": "T",
    "encrypted_content": "eA==",
    "page_age": None,
}
BODIES = [
    pytest.param(body(text("Grüße 👋")), id="text"),
    pytest.param(body(text("a", citations=[CITED]), text("b", citations=None)), id="citations"),
    pytest.param(
        body(
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            text("So."),
        ),
        id="thinking",
    ),
    pytest.param(
        body(
            text("I look."),
            tool_use("a", {"city": "São Paulo", "days": [1, 2.5], "deep": {"x": None}}, "toolu_1"),
            tool_use("b", {}, "toolu_2"),
            stop="tool_use",
        ),
        id="two tool calls",
    ),
    pytest.param(
        body(
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "x"},
            },
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [SEARCHED],
            },
            text("Found."),
            usage=USAGE | {"server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}},
            container={"id": "c_1", "expires_at": "2026-11-30T00:00:00Z", "skills": None},
        ),
        id="server tool",
    ),
    pytest.param(
        body(
            stop="refusal",
            stop_details={"type": "refusal", "category": None, "explanation": "No."},
        ),
        id="refusal",
    ),
    pytest.param(body(text("a"), stop="stop_sequence", stop_sequence="\n"), id="stop sequence"),
]
BETA_BODIES = [
    pytest.param(
        body(
            {
                "type": "mcp_tool_use",
                "id": "mcptoolu_1",
                "name": "read",
                "server_name": "files",
                "input": {"path": "a"},
            },
            {
                "type": "mcp_tool_result",
                "tool_use_id": "mcptoolu_1",
                "is_error": False,
                "content": [text("r", citations=None)],
            },
        ),
        id="mcp",
    ),
    pytest.param(
        body(
            {"type": "compaction", "content": "Short.", "encrypted_content": "eA=="},
            stop="compaction",
            context_management={"applied_edits": []},
        ),
        id="compaction",
    ),
]


def client(status: int, content_type: str, chunks: Iterable[bytes]) -> Anthropic:
    data = b"".join(chunks)

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert MESSAGES.operation(request.method, request.url.path) is not None
        return httpx2.Response(status, headers={"content-type": content_type}, content=data)

    return Anthropic(
        api_key="none",
        base_url="http://127.0.0.1:1",
        http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
        max_retries=0,
    )


def streaming(answer: JsonValue) -> Anthropic:
    return client(200, "text/event-stream", MESSAGES.stream(answer, STREAMED))


def plain(answer: JsonValue) -> Anthropic:
    return client(200, "application/json", [write(answer).encode()])


@pytest.mark.parametrize("answer", BODIES)
def test_the_stream_helper_accumulates_the_plain_answer(answer: JsonObject) -> None:
    with plain(answer) as sdk:
        whole = sdk.messages.create(model="m", max_tokens=9, messages=[])
    with (
        streaming(answer) as sdk,
        sdk.messages.stream(model="m", max_tokens=9, messages=[]) as stream,
    ):
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    helped = final.model_dump_json(exclude_none=True, by_alias=True)
    assert parse(helped) == parse(whole.model_dump_json(exclude_none=True, by_alias=True))
    assert parse(whole.to_json()) == answer
    assert kinds[-1] == "message_stop"


@pytest.mark.parametrize("answer", BETA_BODIES)
def test_the_beta_helper_accumulates_the_plain_answer(answer: JsonObject) -> None:
    with plain(answer) as sdk:
        whole = sdk.beta.messages.create(model="m", max_tokens=9, messages=[])
    with (
        streaming(answer) as sdk,
        sdk.beta.messages.stream(model="m", max_tokens=9, messages=[]) as stream,
    ):
        final = stream.get_final_message()
    helped = final.model_dump_json(exclude_none=True, by_alias=True)
    assert parse(helped) == parse(whole.model_dump_json(exclude_none=True, by_alias=True))


@pytest.mark.parametrize("answer", [*BODIES, *BETA_BODIES])
def test_raw_iteration_gives_every_event(answer: JsonObject) -> None:
    with streaming(answer) as sdk:
        events = list(sdk.beta.messages.create(model="m", max_tokens=9, messages=[], stream=True))
    frames = [f"event: {one.type}\ndata: {one.to_json(indent=None)}\n\n" for one in events]
    assembled = assemble(frame.encode() for frame in frames)
    assert assembled.complete
    assert assembled.body == answer


def test_a_refusal_is_an_error_with_our_message() -> None:
    error = MESSAGES.error(400, "flowproof: the model differs, at $.model", "flowproof_divergence")
    with (
        client(400, "application/json", [write(error).encode()]) as sdk,
        pytest.raises(
            anthropic.BadRequestError, match=r"the model differs, at \$\.model"
        ) as raised,
    ):
        sdk.messages.create(model="m", max_tokens=9, messages=[])
    assert raised.value.type == "invalid_request_error"
    assert raised.value.error_code == "flowproof_divergence"


def test_an_error_body_told_as_a_stream_is_an_error() -> None:
    with (
        streaming(MESSAGES.error(500, "it broke", "code")) as sdk,
        pytest.raises(anthropic.APIError, match="it broke"),
    ):
        list(sdk.messages.create(model="m", max_tokens=9, messages=[], stream=True))
