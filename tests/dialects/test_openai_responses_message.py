"""Items and answers of the Responses API in neutral words."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall
from tests.dialects.openai_responses_tools import (
    RESPONSES,
    call,
    reasoning,
    response,
    result,
    said,
    text_part,
)

PNG = "iVBORw0KGgo="


def approval(**members: JsonValue) -> JsonObject:
    item: JsonObject = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "crm"}
    return item | {"name": "drop", "arguments": '{"id": 7}'} | members


@pytest.mark.parametrize(
    ("item", "message"),
    [
        pytest.param("Hi", Message("user", "Hi"), id="text"),
        pytest.param({"role": "user", "content": "Hi"}, Message("user", "Hi"), id="easy message"),
        pytest.param(
            {"role": "assistant", "content": "Hi", "type": "message"},
            Message("assistant", "Hi"),
            id="typed message",
        ),
        pytest.param(
            said(text_part("a"), text_part("b"), {"type": "refusal", "refusal": "No."}),
            Message("assistant", "a\nb\nNo."),
            id="output message",
        ),
        pytest.param(
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look"},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
                    {"type": "input_image", "file_id": "file_1"},
                    {"type": "input_file", "filename": "a.pdf", "file_data": "AAAA"},
                    {"type": "input_file", "file_url": "https://x/a.pdf"},
                    {"type": "input_file"},
                    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                    {"type": "news"},
                    {},
                    3,
                ],
            },
            Message(
                "user",
                "Look",
                attachments=(
                    "image/png, 8 bytes",
                    "image (file_1)",
                    "file a.pdf (base64, 3 bytes)",
                    "file (https://x/a.pdf)",
                    "file without name",
                    "audio/wav, 3 bytes",
                    "news",
                    "a part without type",
                ),
            ),
            id="parts",
        ),
        pytest.param(
            result("a", [{"type": "input_text", "text": "r"}, {"type": "input_image"}]),
            Message("tool", "r", call_id="a", tool="search", attachments=("image (no url)",)),
            id="result",
        ),
        pytest.param(
            result("zz", "r") | {"name": "own"},
            Message("tool", "r", call_id="zz", tool="own"),
            id="result that names its tool",
        ),
        pytest.param(
            result(
                "a",
                [
                    {
                        "stdout": "out",
                        "stderr": "err",
                        "outcome": {"type": "exit", "exit_code": 2},
                    },
                    {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
                ],
                "shell_call_output",
            ),
            Message(
                "tool",
                "out\nerr",
                call_id="a",
                tool="search",
                attachments=("exit code 2", "timeout"),
            ),
            id="shell result",
        ),
        pytest.param(
            result("a", {"type": "computer_screenshot", "image_url": "https://x"})
            | {"type": "computer_call_output"},
            Message("tool", None, call_id="a", tool="search", attachments=("image (https://x)",)),
            id="screenshot",
        ),
        pytest.param(
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": False},
            Message("tool", None, call_id="a", tool="search", attachments=("not approved",)),
            id="approval",
        ),
        pytest.param(
            reasoning("I think.", "So."),
            Message("assistant", None, attachments=("reasoning (11 characters)",)),
            id="reasoning",
        ),
        pytest.param(
            reasoning(encrypted_content="abcd"),
            Message("assistant", None, attachments=("reasoning (encrypted, 4 characters)",)),
            id="hidden reasoning",
        ),
        pytest.param(
            {"type": "item_reference", "id": "msg_1"},
            Message("assistant", None, attachments=("item reference (msg_1)",)),
            id="reference",
        ),
        pytest.param(
            {"type": "additional_tools", "role": "developer", "tools": []},
            Message("system", None, attachments=("additional tools",)),
            id="tools",
        ),
        pytest.param(
            {"type": "x_news"}, Message("user", None, attachments=("x news",)), id="unknown"
        ),
        pytest.param({}, Message("user", None, attachments=("an item without type",)), id="empty"),
        pytest.param(None, Message("user", None), id="null"),
    ],
)
def test_an_item_is_one_message(item: JsonValue, message: Message) -> None:
    assert RESPONSES.message(item, {"a": "search"}) == message


@pytest.mark.parametrize(
    ("item", "made"),
    [
        pytest.param(
            call("search", '{"to": "NBO"}', "a"),
            ToolCall("a", "search", '{"to": "NBO"}', {"to": "NBO"}),
            id="function",
        ),
        pytest.param(
            call("search", "{oh", "a"),
            ToolCall("a", "search", "{oh", None, malformed=True),
            id="malformed",
        ),
        pytest.param(
            {"type": "function_call", "name": "search"},
            ToolCall(None, "search", "", None, malformed=True),
            id="no arguments",
        ),
        pytest.param(
            {"type": "function_call", "name": "search", "arguments": {"a": 1}},
            ToolCall(None, "search", '{"a":1}', {"a": 1}),
            id="arguments as an object",
        ),
        pytest.param(
            {"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "select 1"},
            ToolCall("a", "sql", "select 1", "select 1"),
            id="custom",
        ),
        pytest.param(
            {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}},
            ToolCall("a", "shell", '{"commands":["ls"]}', {"commands": ["ls"]}),
            id="shell",
        ),
        pytest.param(
            {"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}},
            ToolCall("a", "local_shell", '{"command":["ls"]}', {"command": ["ls"]}),
            id="local shell",
        ),
        pytest.param(
            {"type": "apply_patch_call", "call_id": "a", "operation": {"path": "x"}},
            ToolCall("a", "apply_patch", '{"path":"x"}', {"path": "x"}),
            id="apply patch",
        ),
        pytest.param(
            {"type": "computer_call", "call_id": "a", "action": {"type": "wait"}},
            ToolCall("a", "computer", '{"type":"wait"}', {"type": "wait"}),
            id="computer",
        ),
        pytest.param(
            {"type": "computer_call", "call_id": "a", "actions": [{"type": "wait"}]},
            ToolCall("a", "computer", '[{"type":"wait"}]', [{"type": "wait"}]),
            id="computer, several actions",
        ),
        pytest.param(
            approval(), ToolCall("mcpr_1", "drop", '{"id": 7}', {"id": 7}), id="for approval"
        ),
        pytest.param(
            {"type": "tool_search_call", "execution": "client", "call_id": "a", "arguments": {}},
            ToolCall("a", "tool_search", "{}", {}),
            id="search among the agent's tools",
        ),
    ],
)
def test_what_the_agent_carries_out_is_a_tool_call(item: JsonObject, made: ToolCall) -> None:
    names: dict[str, str] = {}
    assert RESPONSES.message(item, names) == Message("assistant", None, (made,))
    assert names == ({} if made.id is None else {made.id: made.name})
    (answer,) = RESPONSES.answer(response(item)).messages
    assert answer.tool_calls == (made,)


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        pytest.param(
            {"type": "mcp_list_tools", "server_label": "wiki"}, "mcp list tools (wiki)", id="list"
        ),
        pytest.param({"type": "program_output", "call_id": "a"}, "program output", id="program"),
        pytest.param(
            {"type": "shell_call_output", "call_id": "a"}, "shell call output", id="result"
        ),
        pytest.param({"type": "x_news", "a": 1}, "x news", id="unknown"),
    ],
)
def test_what_calls_nothing_is_described(item: JsonObject, shown: str) -> None:
    (answer,) = RESPONSES.answer(response(item, said(text_part("Hi")))).messages
    assert answer == Message("assistant", "Hi", attachments=(shown,))


def test_an_answer_is_one_message() -> None:
    body = response(
        reasoning("Hm."),
        said(text_part("First")),
        call("a", call_id="1"),
        said(text_part("Then"), id="msg_2"),
        call("b", call_id="2"),
    )
    answer = RESPONSES.answer(body)
    assert answer.id == "resp_1"
    assert answer.tokens == (9, 2)
    (message,) = answer.messages
    assert message.text == "First\nThen"
    assert [made.name for made in message.tool_calls] == ["a", "b"]
    assert message.attachments == ("reasoning (3 characters)",)


@pytest.mark.parametrize("status", ["incomplete", "cancelled", "completed", None])
def test_an_answer_that_ended_says_what_its_items_say(status: str | None) -> None:
    body = response(said(text_part("Hi")), status=status, error={"message": "it broke"})
    assert RESPONSES.answer(body).messages == (Message("assistant", "Hi"),)
    # That nothing was called can be told.
    answer = RESPONSES.answer(response(status=status))
    assert answer.messages == (Message("assistant", None),)
    assert not answer.failed


def test_a_response_that_failed_is_no_answer_of_a_model() -> None:
    body = response(said(text_part("Hi")), status="failed", error={"message": "it broke"})
    answer = RESPONSES.answer(body)
    assert (answer.messages, answer.failed, answer.id) == ((), True, "resp_1")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="list"),
        pytest.param({"error": {"message": "it broke"}}, id="error"),
        pytest.param(response() | {"output": None}, id="no items"),
        pytest.param(response() | {"output": {"type": "message"}}, id="no list"),
        pytest.param(response(said(text_part("Hi")), status="in_progress"), id="in progress"),
        pytest.param(response(status="queued"), id="queued"),
        pytest.param(response(said(text_part("Hi")), 7), id="no item"),
        pytest.param(response({"type": 7, "name": "drop"}), id="odd type"),
        pytest.param(response({"name": "drop"}), id="no type"),
        pytest.param(response({"type": "function_call", "arguments": "{}"}), id="no name"),
        pytest.param(response({"type": "custom_tool_call", "name": 7}), id="odd name"),
        pytest.param(response(approval(name=None)), id="approval of nothing"),
        pytest.param(response({"type": "message", "content": None}), id="no content"),
        pytest.param(response(said("Hi")), id="no part"),
        pytest.param(response({"type": "drone_call", "call_id": "a"}), id="an unknown call"),
    ],
)
def test_no_guard_is_judged_on_what_cannot_be_read(body: JsonValue) -> None:
    assert RESPONSES.answer(body).messages == ()


@pytest.mark.parametrize(
    "usage",
    [None, [], {}, {"input_tokens": 1}, {"input_tokens": True, "output_tokens": 2}],
    ids=["null", "list", "empty", "half", "odd"],
)
def test_tokens_are_told_only_where_both_are(usage: JsonValue) -> None:
    assert RESPONSES.answer(response(usage=usage)).tokens is None
