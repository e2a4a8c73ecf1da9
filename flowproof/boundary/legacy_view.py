"""The part of a request that a trace of flowproof 0.23 pins, so that it can still be replayed.

It held the model, the tools' names, and of each message the role, a text, and the tool calls.
"""

from __future__ import annotations

from flowproof.model.jsonvalue import JsonObject, JsonValue


def legacy_view(body: JsonValue) -> JsonValue:
    """A chat request cut down to what such a trace holds; already cut ones stay the same."""
    if not isinstance(body, dict):
        return body
    messages, tools = body.get("messages"), body.get("tools")
    return {
        "model": body.get("model"),
        "messages": [_message(one) for one in messages] if isinstance(messages, list) else [],
        "tools": [_tool_name(one) for one in tools] if isinstance(tools, list) else [],
    }


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
