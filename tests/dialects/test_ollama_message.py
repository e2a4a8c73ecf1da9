"""Messages and answers of Ollama's dialects in neutral words, hostile ones included."""

from __future__ import annotations

import pytest

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall
from tests.dialects.ollama_tools import CHAT, END, GENERATE, call, head


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"role": "system", "content": "s"}, Message("system", "s"), id="system"),
        pytest.param({"role": "user", "content": ""}, Message("user", ""), id="empty"),
        pytest.param({"role": "critic", "content": "c"}, Message("user", "c"), id="unknown role"),
        pytest.param(
            {"role": "user", "content": "u", "images": ["AAAA", "AAA=", 3]},
            Message("user", "u", attachments=("image, 3 bytes", "image, 2 bytes", "image")),
            id="images",
        ),
        pytest.param(
            {"role": "assistant", "content": "a", "thinking": "Hm."},
            Message("assistant", "a", attachments=("reasoning (3 characters)",)),
            id="thinking",
        ),
        pytest.param(
            {"role": "assistant", "content": "", "thinking": "", "tool_calls": None},
            Message("assistant", ""),
            id="nothing thought",
        ),
        pytest.param(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    call("f", {"a": [1, "é"]}, id="call_1"),
                    {"function": {"name": "g", "arguments": '{"b":2}', "index": 1}},
                    {"function": {"name": "h"}},
                ],
            },
            Message(
                "assistant",
                "",
                tool_calls=(
                    ToolCall("call_1", "f", '{"a":[1,"é"]}', {"a": [1, "é"]}),
                    ToolCall(None, "g", '{"b":2}', {"b": 2}),
                    ToolCall(None, "h", "", None, malformed=True),
                ),
            ),
            id="tool calls",
        ),
        pytest.param(
            {"role": "tool", "content": "r", "tool_name": "f"},
            Message("tool", "r", tool="f"),
            id="result of a tool",
        ),
        pytest.param(
            {"role": "tool", "content": "r", "name": "f"},
            Message("tool", "r", tool="f"),
            id="result of a tool, old",
        ),
        pytest.param(
            {"role": "tool", "content": "r", "tool_call_id": "known", "tool_name": "other"},
            Message("tool", "r", call_id="known", tool="search"),
            id="result of a call",
        ),
        pytest.param(
            {"role": "tool", "content": "r", "tool_call_id": "x", "tool_name": "f"},
            Message("tool", "r", call_id="x", tool="f"),
            id="result of an unknown call",
        ),
        pytest.param("text", Message("user", "text"), id="string"),
        pytest.param(None, Message("user", None), id="null"),
    ],
)
def test_a_message_in_neutral_words(raw: JsonValue, expected: Message) -> None:
    assert CHAT.message(raw, {"known": "search"}) == expected


def test_calls_name_later_results() -> None:
    names: dict[str, str] = {}
    CHAT.message({"role": "assistant", "tool_calls": [call("f", {}, id="a")]}, names)
    assert CHAT.message({"role": "tool", "tool_call_id": "a"}, names).tool == "f"


def test_a_result_that_names_nothing_is_that_of_the_call_in_its_place() -> None:
    messages: list[JsonValue] = [
        {"role": "assistant", "tool_calls": [call("f", {}), call("g", {})]},
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        {"role": "tool", "content": "3"},
    ]
    listed = CHAT.message_list({"messages": messages})
    assert [CHAT.message(raw, {}).tool for raw in listed] == [None, "f", "g", None]
    assert listed[0] is messages[0]
    assert CHAT.message_list({"messages": messages[:1]}) == messages[:1]


def test_a_prompt_is_one_message_after_its_instructions() -> None:
    body: JsonObject = {"system": "s", "prompt": "p", "images": ["AAAA"], "context": [1]}
    assert [GENERATE.message(raw, {}) for raw in GENERATE.message_list(body)] == [
        Message("system", "s"),
        Message("user", "p", attachments=("image, 3 bytes",)),
    ]
    assert GENERATE.message_list({"prompt": "p", "system": ""}) == [
        {"role": "user", "content": "p"}
    ]
    assert GENERATE.message_list({"model": "only loads it"}) == []


CALLING: JsonObject = {"role": "assistant", "content": "", "tool_calls": [call("f", {"a": 1})]}


def test_an_answer_is_its_message_and_usage() -> None:
    answer = CHAT.answer({**head(), "message": CALLING, **END})
    assert answer.messages == (
        Message("assistant", "", tool_calls=(ToolCall(None, "f", '{"a":1}', {"a": 1}),)),
    )
    assert answer.tokens == (26, 298)
    assert answer.id is None


def test_an_answer_of_a_prompt_is_its_text_and_usage() -> None:
    answer = GENERATE.answer({**head(), "response": "Hi", "thinking": "Hm", "context": [1], **END})
    assert answer.messages == (
        Message("assistant", "Hi", attachments=("reasoning (2 characters)",)),
    )
    assert answer.tokens == (26, 298)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({}, None),
        ({"prompt_eval_count": 1, "eval_count": 2}, (1, 2)),
        ({"eval_count": 2}, (0, 2)),
        ({"prompt_eval_count": None, "eval_count": 2}, None),
        ({"prompt_eval_count": True, "eval_count": 2}, None),
    ],
    ids=["none", "both", "all in the cache", "null", "no number"],
)
def test_usage(usage: JsonObject, tokens: tuple[int, int] | None) -> None:
    assert CHAT.answer({"message": CALLING, **usage}).tokens == tokens
    assert GENERATE.answer({"response": "", **usage}).tokens == tokens


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"error": "model 'x' not found"},
        {"message": None},
        {"message": "Hi"},
        {"message": {"content": 3}},
        {"message": {"content": ["Hi"]}},
        {"message": {"content": "", "tool_calls": "f()"}},
        {"message": {"content": "", "tool_calls": [{"name": "f"}]}},
        {"message": {"content": "", "tool_calls": [call("f", {}), {"function": {}}]}},
    ],
    ids=[
        "null",
        "list",
        "empty",
        "error",
        "null message",
        "text",
        "no text",
        "parts",
        "no list of calls",
        "no call",
        "half of the calls",
    ],
)
def test_what_cannot_be_read_is_no_answer(body: JsonValue) -> None:
    assert CHAT.answer(body).messages == ()


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"error": "no"},
        {"response": None},
        {"response": ["Hi"]},
        {"response": "", "tool_calls": [{}]},
    ],
    ids=["null", "empty", "error", "null text", "no text", "no call"],
)
def test_what_cannot_be_read_is_no_answer_to_a_prompt(body: JsonValue) -> None:
    assert GENERATE.answer(body).messages == ()


def test_an_innocent_answer_is_read_whoever_it_says_it_is_from() -> None:
    answer = CHAT.answer({"message": {"role": "tool", "content": "Hi", "tool_name": "f"}})
    assert answer.messages == (Message("assistant", "Hi"),)
