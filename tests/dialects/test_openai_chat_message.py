"""Messages and answers of the chat dialect in neutral words, hostile ones included."""

from __future__ import annotations

import pytest

from flowproof.dialects import attachments
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall
from tests.dialects.openai_chat_tools import CHAT


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"role": "system", "content": "s"}, Message("system", "s"), id="system"),
        pytest.param({"role": "developer", "content": "d"}, Message("system", "d"), id="developer"),
        pytest.param({"role": "user", "content": ""}, Message("user", ""), id="empty"),
        pytest.param({"role": "assistant", "content": None}, Message("assistant", None), id="null"),
        pytest.param({"role": "critic", "content": "c"}, Message("user", "c"), id="unknown role"),
        pytest.param(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                    {"type": "input_text", "text": "b"},
                    {"type": "input_audio", "input_audio": {"data": "AAA=", "format": "wav"}},
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {
                        "type": "file",
                        "file": {
                            "filename": "r.pdf",
                            "file_data": "data:application/pdf;base64,AA==",
                        },
                    },
                    {"type": "hologram", "x": 1},
                    {},
                    5,
                    "c",
                ],
            },
            Message(
                "user",
                "a\nb\nc",
                attachments=(
                    "image (https://x.example/a.png)",
                    "image/png, 3 bytes",
                    "audio/wav, 2 bytes",
                    "file file-1",
                    "file r.pdf (application/pdf, 1 bytes)",
                    "hologram",
                    "a part without type",
                ),
            ),
            id="parts",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "refusal": "No."},
            Message("assistant", "No."),
            id="refusal",
        ),
        pytest.param(
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            Message("assistant", "No."),
            id="refusal part",
        ),
        pytest.param(
            {"role": "assistant", "content": None, "audio": {"id": "audio_1", "transcript": "Hi"}},
            Message("assistant", "Hi", attachments=("audio (audio_1)",)),
            id="spoken",
        ),
        pytest.param(
            {"role": "tool", "tool_call_id": "known", "content": "r"},
            Message("tool", "r", call_id="known", tool="search"),
            id="tool result",
        ),
        pytest.param(
            {"role": "tool", "tool_call_id": "other", "name": "n", "content": "r"},
            Message("tool", "r", call_id="other", tool="n"),
            id="tool result of no call",
        ),
        pytest.param(
            {"role": "function", "name": "search", "content": "r"},
            Message("tool", "r", tool="search"),
            id="legacy result",
        ),
        pytest.param("bare", Message("user", "bare"), id="bare string"),
        pytest.param(None, Message("user", None), id="no object"),
    ],
)
def test_messages(raw: JsonValue, expected: Message) -> None:
    assert CHAT.message(raw, {"known": "search"}) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            ToolCall("1", "f", '{"a": 1}', {"a": 1}),
            id="function",
        ),
        pytest.param(
            {"id": "1", "function": {"name": "f", "arguments": "{oops"}},
            ToolCall("1", "f", "{oops", None, malformed=True),
            id="not JSON",
        ),
        pytest.param(
            {"id": "1", "function": {"name": "f", "arguments": ""}},
            ToolCall("1", "f", "", None, malformed=True),
            id="empty",
        ),
        pytest.param(
            {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
            ToolCall("1", "f", '{"a":1}', {"a": 1}),
            id="arguments as object",
        ),
        pytest.param(
            {"id": "1", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}},
            ToolCall("1", "sh", "ls -l", "ls -l"),
            id="custom",
        ),
        pytest.param({"id": 5}, ToolCall(None, "", "", None, malformed=True), id="nothing in it"),
    ],
)
def test_tool_calls(call: JsonValue, expected: ToolCall) -> None:
    message = CHAT.message({"role": "assistant", "tool_calls": [call, 7]}, {})
    assert message.tool_calls == (expected,)


def test_calls_are_added_to_the_names_and_legacy_calls_have_no_id() -> None:
    names: dict[str, str] = {}
    message = CHAT.message(
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "1", "function": {"name": "f", "arguments": "{}"}},
                {"id": "2", "custom": {"name": "sh", "input": ""}},
            ],
            "function_call": {"name": "g", "arguments": "[]"},
        },
        names,
    )
    assert names == {"1": "f", "2": "sh"}
    assert message.tool_calls[2] == ToolCall(None, "g", "[]", [])


def test_an_answer_has_a_message_per_choice_by_index_and_the_usage() -> None:
    answer = CHAT.answer(
        {
            "choices": [
                {"index": 1, "message": {"content": "second"}},
                {"index": 0, "message": {"role": "assistant", "content": None, "refusal": "No."}},
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
    )
    assert answer.messages == (Message("assistant", "No."), Message("assistant", "second"))
    assert answer.tokens == (7, 3)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no"}},
        {"choices": None, "usage": {"prompt_tokens": "7"}},
        {
            "choices": [1, {"message": "x"}],
            "usage": {"prompt_tokens": True, "completion_tokens": 1},
        },
        None,
    ],
    ids=["error", "no choices", "odd choices", "no body"],
)
def test_a_body_without_an_answer_has_no_messages(body: JsonValue) -> None:
    answer = CHAT.answer(body)
    assert (answer.messages, answer.tokens) == ((), None)


GOOD: JsonObject = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"tool_calls": GOOD}, id="an object"),
        pytest.param({"tool_calls": "f"}, id="a string"),
        pytest.param({"tool_calls": False}, id="false"),
        pytest.param({"tool_calls": [GOOD, {"id": "2"}]}, id="one without function"),
        pytest.param({"tool_calls": [{"function": "f"}]}, id="function as a string"),
        pytest.param({"tool_calls": [{"function": {"arguments": "{}"}}]}, id="no name"),
        pytest.param({"tool_calls": [{"function": {"name": 5}}]}, id="a name that is none"),
        pytest.param({"tool_calls": [["f"]]}, id="a list"),
        pytest.param({"function_call": "f"}, id="a legacy call as a string"),
        pytest.param({"function_call": {}}, id="a legacy call without name"),
    ],
)
def test_calls_that_cannot_be_read_are_no_answer_without_calls(said: JsonObject) -> None:
    readable: JsonObject = {"index": 0, "message": {"content": "Hello"}}
    broken: JsonObject = {"index": 1, "message": {"content": "Hello", **said}}
    usage: JsonObject = {"prompt_tokens": 7, "completion_tokens": 3}
    answer = CHAT.answer({"choices": [readable, broken], "usage": usage})
    assert (answer.messages, answer.tokens) == ((), (7, 3))


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        pytest.param({}, 0, id="none"),
        pytest.param({"tool_calls": None, "function_call": None}, 0, id="null"),
        pytest.param({"tool_calls": []}, 0, id="an empty list"),
        pytest.param({"tool_calls": [GOOD, GOOD]}, 2, id="two"),
        pytest.param({"tool_calls": [{"function": {"name": "f"}}]}, 1, id="no arguments"),
        pytest.param({"tool_calls": [{"custom": {"name": "f", "input": ""}}]}, 1, id="custom"),
        pytest.param({"function_call": {"name": "f", "arguments": ""}}, 1, id="legacy"),
    ],
)
def test_calls_that_can_be_read(said: JsonObject, calls: int) -> None:
    (message,) = CHAT.answer({"choices": [{"message": {"content": "Hello", **said}}]}).messages
    assert len(message.tool_calls) == calls


@pytest.mark.parametrize(
    ("url", "description"),
    [
        ("https://x.example/a", "image (https://x.example/a)"),
        ("https://x.example/" + "a" * 500, f"image (https://x.example/{'a' * 101}…)"),
        ("data:image/png;base64,AAAAAA==", "image/png, 4 bytes"),
        ("data:;base64,AAAA", "image, 3 bytes"),
        ("DATA:text/plain,abc", "text/plain, 3 characters"),
        ("data:" + "x" * 500 + ";base64,AAAA", "image, 4 characters"),
        ("data:", "image, 0 characters"),
    ],
)
def test_links_are_described_briefly(url: str, description: str) -> None:
    assert attachments.linked("image", url) == description
