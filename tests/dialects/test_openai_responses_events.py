"""Each kind of item, told as events."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, same
from tests.dialects.openai_responses_tools import (
    RESPONSES,
    STREAMING,
    assemble,
    call,
    reasoning,
    response,
    said,
    text_part,
    values,
)

CALL = call("search", '{"to": "NBO"}')
THOUGHT = reasoning("I think.", "So.", encrypted_content="whole", status="completed")
SEARCH: JsonObject = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
CUSTOM: JsonObject = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "status": "completed",
    "call_id": "call_2",
    "name": "sql",
    "input": "select 1",
}
RUN: JsonObject = {
    "id": "ci_1",
    "type": "code_interpreter_call",
    "status": "completed",
    "code": "1 + 1",
    "container_id": "cntr_1",
    "outputs": None,
}
SERVED: JsonObject = {
    "id": "mcp_1",
    "type": "mcp_call",
    "status": "failed",
    "name": "ask",
    "server_label": "wiki",
    "arguments": '{"q": 1}',
    "output": None,
    "error": "no",
}


@pytest.mark.parametrize(
    ("item", "kinds"),
    [
        pytest.param(
            CALL,
            ["function_call_arguments.delta", "function_call_arguments.done"],
            id="function call",
        ),
        pytest.param(
            CUSTOM, ["custom_tool_call_input.delta", "custom_tool_call_input.done"], id="custom"
        ),
        pytest.param(
            THOUGHT,
            [
                "reasoning_summary_part.added",
                "reasoning_summary_text.delta",
                "reasoning_summary_text.done",
                "reasoning_summary_part.done",
            ]
            * 2,
            id="reasoning",
        ),
        pytest.param(
            said({"type": "refusal", "refusal": "No."}),
            ["content_part.added", "refusal.delta", "refusal.done", "content_part.done"],
            id="refusal",
        ),
        pytest.param(
            said(text_part("Hi", annotations=[{"type": "file_path", "index": 0}])),
            [
                "content_part.added",
                "output_text.delta",
                "output_text.annotation.added",
                "output_text.done",
                "content_part.done",
            ],
            id="annotation",
        ),
        pytest.param(
            SEARCH,
            [f"web_search_call.{state}" for state in ("in_progress", "searching", "completed")],
            id="web search",
        ),
        pytest.param(
            RUN,
            [
                "code_interpreter_call.in_progress",
                "code_interpreter_call_code.delta",
                "code_interpreter_call_code.done",
                "code_interpreter_call.interpreting",
                "code_interpreter_call.completed",
            ],
            id="code interpreter",
        ),
        pytest.param(
            SERVED,
            [
                "mcp_call.in_progress",
                "mcp_call_arguments.delta",
                "mcp_call_arguments.done",
                "mcp_call.failed",
            ],
            id="mcp",
        ),
        pytest.param({"type": "message", "content": "Hi"}, [], id="text in place of parts"),
        pytest.param({"type": "news", "a": [1]}, [], id="unknown"),
        pytest.param({}, [], id="empty"),
        pytest.param(
            said(text_part("")),
            ["content_part.added", "output_text.done", "content_part.done"],
            id="nothing said",
        ),
    ],
)
def test_each_item_is_told_as_the_api_tells_it(item: JsonObject, kinds: list[str]) -> None:
    body = response(item)
    frames = list(RESPONSES.stream(body, STREAMING))
    told = values(frames)
    assert [one["type"] for one in told[3:-2]] == [f"response.{kind}" for kind in kinds]
    assert all(one["output_index"] == 0 for one in told[2:-1])
    assert told[-2]["item"] == item
    assembled = assemble(frames)
    assert assembled.lossless
    assert same(assembled.body, body)


def test_a_thought_that_is_hidden_only_in_part_at_first_keeps_no_frames() -> None:
    body = response(THOUGHT)
    frames = list(RESPONSES.stream(body, STREAMING))
    frames[2] = frames[2].replace(b'"whole"', b'"who"')
    assert assemble(frames).lossless
