"""The part of a request that a trace of flowproof 0.23 pins, so that it can still be replayed.

It held the model, the tools' names, and of each message the role, a text, and the tool calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Operation


def legacy_view(operation: Operation, body: JsonValue) -> JsonValue:
    """A request cut down to what such a trace holds; already cut ones stay the same."""
    if not isinstance(body, dict):
        return body
    return _messages(body) if operation.dialect == "anthropic.messages" else _chat(body)


def _chat(body: JsonObject) -> JsonObject:
    messages, tools = body.get("messages"), body.get("tools")
    return {
        "model": body.get("model"),
        "messages": [_message(one) for one in messages] if isinstance(messages, list) else [],
        "tools": [_tool_name(one) for one in tools] if isinstance(tools, list) else [],
    }


def _messages(body: JsonObject) -> JsonObject:
    """A request of the Messages API: one entry for each message and each tool result."""
    said, tools = body.get("messages"), body.get("tools")
    return {
        "model": body.get("model"),
        "system": _text(body.get("system")),
        "messages": [
            part for one in (said if isinstance(said, list) else []) for part in _parts(one)
        ],
        "tools": [
            tool.get("name") if isinstance(tool, dict) else tool
            for tool in (tools if isinstance(tools, list) else [])
        ],
    }


def _parts(message: JsonValue) -> Iterator[JsonValue]:
    """The tool results of a message, each by itself, then what else it says."""
    if not isinstance(message, dict):
        yield message
        return
    content = message.get("content")
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    results = [one for one in blocks if one.get("type") == "tool_result"]
    for result in results:
        yield {
            "role": "tool",
            "content": _text(result.get("content")),
            "tool_call_id": result.get("tool_use_id"),
        }
    calls: list[JsonValue] = [
        {key: one.get(key) for key in ("id", "name", "input")}
        for one in blocks
        if one.get("type") == "tool_use"
    ]
    text = _text(content)
    if text or calls or not results:
        yield {"role": message.get("role"), "content": text, "tool_calls": calls}


def _text(content: JsonValue) -> str:
    """A text, or the texts among blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (one.get("text") for one in blocks if isinstance(one, dict) and "text" in one)
    return "".join(text for text in texts if isinstance(text, str))


def _message(message: JsonValue) -> JsonValue:
    if not isinstance(message, dict):
        return message
    content, calls = message.get("content"), message.get("tool_calls")
    return {
        "role": message.get("role"),
        "content": content if isinstance(content, str) else "",
        "tool_calls": [_call(one) for one in calls] if isinstance(calls, list) else [],
        "tool_call_id": message.get("tool_call_id"),
    }


def _call(call: JsonValue) -> JsonValue:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return call
    named: JsonObject = {key: function.get(key) for key in ("name", "arguments")}
    return {"id": call.get("id"), "type": "function", "function": named}


def _tool_name(tool: JsonValue) -> JsonValue:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else tool
