"""Messages and answers of the Messages dialect in neutral words, hostile ones included."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText
from flowproof.model.trajectory import Message, ToolCall
from tests.dialects.anthropic_messages_tools import MESSAGES, USAGE, body, result, text, tool_use

IMAGE: JsonObject = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
}


def user(*content: JsonValue) -> JsonObject:
    return {"role": "user", "content": [*content]}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"role": "user", "content": "u"}, Message("user", "u"), id="string"),
        pytest.param({"role": "system", "content": "s"}, Message("system", "s"), id="system"),
        pytest.param({"role": "critic", "content": "c"}, Message("user", "c"), id="unknown role"),
        pytest.param(user(text("a"), text("b")), Message("user", "a\nb"), id="several texts"),
        pytest.param(user(), Message("user", None), id="nothing"),
        pytest.param({"role": "user", "content": 5}, Message("user", None), id="odd content"),
        pytest.param(
            user(
                IMAGE,
                {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                {
                    "type": "document",
                    "title": "Terms",
                    "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
                },
                {"type": "document", "source": 3},
                {"type": "search_result", "source": "https://x.example", "title": "t"},
                {"type": "container_upload", "file_id": "file_2"},
                {"type": "hologram", "x": 1},
                {},
                5,
                "c",
            ),
            Message(
                "user",
                "c",
                attachments=(
                    "image/png, 3 bytes",
                    "image (https://x.example/a.png)",
                    "image file_1",
                    "Terms (document, 5 characters)",
                    "document",
                    "search result (https://x.example)",
                    "file file_2",
                    "hologram",
                    "a block without type",
                ),
            ),
            id="blocks",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "x" * 120, "signature": "s"},
                    {"type": "redacted_thinking", "data": "d"},
                    text("I look."),
                    tool_use("search", {"q": NumberText("1.10")}, "a"),
                ],
            },
            Message(
                "assistant",
                "I look.",
                (ToolCall("a", "search", '{"q":1.10}', {"q": NumberText("1.10")}),),
                attachments=("reasoning (120 characters)", "redacted reasoning"),
            ),
            id="thinking and a call",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                    {"type": "mcp_tool_use", "id": "m", "name": "read", "server_name": "files"},
                    {"type": "mcp_tool_result", "tool_use_id": "m", "content": "r"},
                    {"type": "bash_code_execution_tool_result", "content": {}},
                ],
            },
            Message(
                "assistant",
                None,
                (
                    ToolCall("s", "web_search", "{}", {}, served=True),
                    ToolCall("m", "read", "", None, malformed=True, served=True),
                ),
                attachments=(
                    "web search result",
                    "MCP server files",
                    "MCP result",
                    "bash code execution result",
                ),
            ),
            id="tools of the provider",
        ),
        pytest.param(
            user(result("known", "r")),
            Message("tool", "r", call_id="known", tool="search"),
            id="tool result",
        ),
        pytest.param(
            user(result("other", [text("a"), IMAGE, text("b")], is_error=True)),
            Message(
                "tool",
                "a\nb",
                call_id="other",
                attachments=("image/png, 3 bytes", "marked as an error"),
            ),
            id="tool result of blocks",
        ),
        pytest.param(user({"type": "tool_result"}), Message("tool", None), id="empty result"),
        pytest.param("bare", Message("user", "bare"), id="bare string"),
        pytest.param(None, Message("user", None), id="no object"),
    ],
)
def test_messages(raw: JsonValue, expected: Message) -> None:
    assert MESSAGES.message(raw, {"known": "search"}) == expected


def test_results_and_what_stands_around_them_are_messages_of_their_own() -> None:
    pinned: JsonObject = {
        "system": "Be brief.",
        "messages": [
            {"role": "assistant", "content": [tool_use("s", {}, "a"), tool_use("b", {}, "b")]},
            user(
                result("a", "1"), result("b", "2"), text("and"), IMAGE, result("c", "3"), text("?")
            ),
        ],
    }
    names: dict[str, str] = {}
    told = [MESSAGES.message(unit, names) for unit in MESSAGES.message_list(pinned)]
    assert [(one.role, one.text, one.tool) for one in told] == [
        ("system", "Be brief.", None),
        ("assistant", None, None),
        ("tool", "1", "s"),
        ("tool", "2", "b"),
        ("user", "and", None),
        ("tool", "3", None),
        ("user", "?", None),
    ]
    assert told[4].attachments == ("image/png, 3 bytes",)
    assert names == {"a": "s", "b": "b"}


def test_an_answer_has_one_message_its_tokens_and_an_id() -> None:
    answer = MESSAGES.answer(body(text("Hi"), text("there")))
    assert answer.messages == (Message("assistant", "Hi\nthere"),)
    assert answer.tokens == (32, 15)
    assert answer.id == "msg_01"


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "pause_turn"])
def test_why_an_answer_stopped_short_can_be_seen(stop: str) -> None:
    answer = MESSAGES.answer(body(text("Hi"), stop=stop))
    assert answer.messages == (Message("assistant", "Hi", attachments=(f"stopped ({stop})",)),)
    assert MESSAGES.answer(body(stop=stop)).messages[0].text is None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        pytest.param(USAGE, (32, 15), id="with cache"),
        pytest.param({"input_tokens": 3, "output_tokens": 2}, (3, 2), id="without"),
        pytest.param(
            {"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 2},
            (3, 2),
            id="null",
        ),
        pytest.param({"input_tokens": True, "output_tokens": 2}, None, id="no number"),
        pytest.param({"input_tokens": 3, "output_tokens": -2}, None, id="negative"),
        pytest.param(None, None, id="none"),
    ],
)
def test_tokens_are_all_that_was_sent_and_said(
    usage: JsonValue, tokens: tuple[int, int] | None
) -> None:
    assert MESSAGES.answer(body(text("Hi"), usage=usage)).tokens == tokens


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null"),
        pytest.param(MESSAGES.error(400, "m", "c"), id="error"),
        pytest.param({"content": "text"}, id="no blocks"),
        pytest.param(body("text"), id="a block that is no object"),
        pytest.param(body({"text": "t"}), id="a block without type"),
        pytest.param(body({"type": "text"}), id="a text without text"),
        pytest.param(body({"type": "tool_use", "id": "a", "input": {}}), id="a call of nothing"),
        pytest.param(body({"type": "novel_tool_use"}), id="an unknown kind of call"),
        pytest.param(body({"type": "mcp_tool_use"}), id="a served call of nothing"),
    ],
)
def test_what_cannot_be_read_is_no_answer(value: JsonValue) -> None:
    assert MESSAGES.answer(value).messages == ()


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param({"id": 3, "input": None}, ToolCall(None, "f", "", None, True), id="no input"),
        pytest.param({"input": [1]}, ToolCall(None, "f", "[1]", [1]), id="a list"),
        pytest.param({"input": "{oo"}, ToolCall(None, "f", "{oo", None, True), id="garbled"),
        pytest.param({"input": '"s"'}, ToolCall(None, "f", '"s"', "s"), id="a string"),
    ],
)
@pytest.mark.parametrize("kind", ["tool_use", "novel_tool_use"])
def test_odd_calls_are_calls(block: JsonObject, expected: ToolCall, kind: str) -> None:
    named: JsonObject = {"type": kind, "name": "f"}
    (message,) = MESSAGES.answer(body(named | block)).messages
    assert message.tool_calls == (expected,)
