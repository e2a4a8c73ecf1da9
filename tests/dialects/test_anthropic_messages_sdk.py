"""The official SDK reads what the dialect writes: streams and plain bodies."""

from __future__ import annotations

import pytest
from anthropic import Anthropic

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects.anthropic_messages_tools import (
    MESSAGES,
    STREAMED,
    USAGE,
    assemble,
    body,
    text,
    tool_use,
)
from tests.dialects.sdk import anthropic_client, served, served_stream

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


def streaming(answer: JsonValue) -> Anthropic:
    return anthropic_client(served_stream(MESSAGES, MESSAGES.stream(answer, STREAMED)))


def plain(answer: JsonValue) -> Anthropic:
    return anthropic_client(served(MESSAGES, answer))


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
