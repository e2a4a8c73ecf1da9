"""Traces of flowproof 0.23 are read, and say that they pin only what they hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowproof.errors import TraceCorrupt
from flowproof.model.jsonvalue import JsonValue, same
from flowproof.trace.decode import decode
from flowproof.trace.document import RecordedMock
from flowproof.trace.encode import encode

CALL = {"id": "c1", "name": "search", "arguments": '{"to": "NBO"}'}


def sample(**turn: object) -> dict[str, Any]:
    request = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Book."},
            {"role": "assistant", "tool_calls": [CALL, {**CALL, "id": "c2", "arguments": "{"}]},
            {"role": "tool", "content": "none", "tool_call_id": "c1"},
            {"role": "tool", "content": "some", "tool_call_id": "c2"},
        ],
        "tools": ["search"],
    }
    response = {"message": {"role": "assistant", "content": "Booked."}}
    return {
        "app": "agent",
        "mocks": {"search": {"flights": []}},
        "cassette": {"turns": [{"request": request, "response": response, **turn}]},
        "mcp": {},
    }


def read(document: JsonValue | dict[str, Any]) -> Any:
    return decode(json.dumps(document).encode(), "x.trace.jsonl")


def test_a_chat_turn() -> None:
    trace = read(sample())
    assert trace.pins == "legacy"
    assert trace.mocks == {"search": RecordedMock(({"flights": []},), True)}
    (turn,) = trace.turns
    assert turn.operation.dialect == "openai.chat"
    function = {"name": "search", "arguments": '{"to": "NBO"}'}
    expected: JsonValue = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Book."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {**function}},
                    {"id": "c2", "type": "function", "function": {**function, "arguments": "{"}},
                ],
            },
            {"role": "tool", "content": "none", "tool_call_id": "c1"},
            {"role": "tool", "content": "some", "tool_call_id": "c2"},
        ],
        "tools": ["search"],
    }
    assert same(turn.request, expected)
    assert turn.response.status == 200
    assert same(
        turn.response.body["choices"],
        [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Booked."},
                "finish_reason": "stop",
            }
        ],
    )


def test_a_messages_turn() -> None:
    answer = {"message": {"content": "So:", "tool_calls": [CALL]}, "stop_reason": "tool_use"}
    (turn,) = read(sample(protocol="anthropic", response=answer)).turns
    assert turn.operation.dialect == "anthropic.messages"
    use: dict[str, JsonValue] = {"type": "tool_use", "id": "c1", "name": "search"}
    use["input"] = {"to": "NBO"}
    expected: JsonValue = {
        "model": "m",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Book."},
            {"role": "assistant", "content": [{**use}, {**use, "id": "c2", "input": "{"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "none"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "some"},
                ],
            },
        ],
        "tools": ["search"],
    }
    assert same(turn.request, expected)
    assert same(turn.response.body["content"], [{"type": "text", "text": "So:"}, {**use}])
    assert turn.response.body["stop_reason"] == "tool_use"


def test_a_request_may_hold_next_to_nothing() -> None:
    (turn,) = read(sample(request={})).turns
    assert same(turn.request, {"messages": []})


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param({**sample(), "app": "web"}, r"\$\.app: only recordings of agents", id="web"),
        pytest.param({"cassette": {}}, r"\$\.cassette: the key `turns`", id="no turns"),
        pytest.param({"cassette": []}, r"\$\.cassette: expected an object", id="cassette"),
        pytest.param(
            {"cassette": {"turns": [{"request": {}}]}}, r"turns\[0\]: the key `resp", id="half"
        ),
        pytest.param(sample(response={}), "the key `message` is missing", id="no message"),
        pytest.param(sample(request={"messages": [3]}), r"messages\[0\]: expected an", id="type"),
        pytest.param(sample(request={"tools": [3]}), r"tools\[0\]: expected a string", id="tools"),
    ],
)
def test_what_is_not_shaped_so_is_refused(document: dict[str, Any], reason: str) -> None:
    with pytest.raises(TraceCorrupt, match=reason):
        read(document)


def test_a_legacy_trace_never_becomes_one_of_ours() -> None:
    with pytest.raises(ValueError, match="cannot be written again"):
        encode(read(sample()))
