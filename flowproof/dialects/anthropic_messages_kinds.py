"""What a reader calls the place where two Anthropic requests differ.

`anthropic_messages` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from flowproof.dialects.anthropic_messages_blocks import is_call, type_of
from flowproof.dialects.anthropic_messages_message import role_of
from flowproof.dialects.steps import steps_of
from flowproof.model.jsonvalue import JsonValue

_PARTS = {"tool names": "tool names or their order", "roles": "message roles"}
_BLOCKS = {
    "image": "image",
    "document": "document",
    "redacted_thinking": "thinking",
    "search_result": "search result",
    "server_tool_use": "server tool call",
    "mcp_tool_use": "server tool call",
}
_CALL_MEMBERS = {"id": "tool call id", "name": "tool call name", "input": "tool call arguments"}


def of_part(name: str, path: str) -> str:
    """The kind of a difference inside the part `name` of an envelope."""
    if name != "tools":
        return _PARTS.get(name, name)
    match steps_of(path)[2:]:
        case ["description"]:
            return "tool description"
        case ["input_schema", *_]:
            return "tool parameter schema"
        case ["cache_control", *_]:
            return "cache control"
        case _:
            return "tool definition"


def of_message(pinned: JsonValue, path: str) -> str:
    """The kind of a difference in the instructions or messages, `pinned` being one side."""
    match steps_of(path):
        case ["system", int(), "cache_control", *_]:
            return "cache control"
        case ["system", *_]:
            return "system text"
        case ["messages", int(index), *inner]:
            return _in_message(_entry(pinned, "messages", index), inner)
        case ["messages"]:
            return "messages"
        case _:
            return "request"


def _entry(value: JsonValue, key: str, index: int) -> JsonValue:
    listed = value.get(key) if isinstance(value, dict) else None
    return listed[index] if isinstance(listed, list) and index < len(listed) else None


def _in_message(raw: JsonValue, steps: list[str | int]) -> str:
    role = role_of(raw)
    match steps:
        case ["content"]:
            return f"{role} text"
        case ["content", int(index), *inner]:
            return _in_block(role, _entry(raw, "content", index), inner)
        case [str(member), *_]:
            return f"{role} message's {member}"
        case _:
            return "message"


def _in_block(role: str, block: JsonValue, steps: list[str | int]) -> str:
    kind = type_of(block)
    member = steps[0] if steps else None
    if member == "cache_control":
        return "cache control"
    if is_call(block):
        return _CALL_MEMBERS.get(member, "tool call") if isinstance(member, str) else "tool call"
    match kind:
        case "tool_result":
            return _in_result(block, steps)
        case "text" if member in (None, "text"):
            return f"{role} text"
        case "thinking":
            return "thinking signature" if member == "signature" else "thinking"
        case _ if kind.endswith("_tool_result"):
            return "server tool result"
        case _:
            return _BLOCKS.get(kind, f"{role} content block")


def _in_result(block: JsonValue, steps: list[str | int]) -> str:
    match steps:
        case ["content", int(index), *_]:
            kind = type_of(_entry(block, "content", index))
            return _BLOCKS.get(kind, "tool result")
        case ["tool_use_id"]:
            return "tool call id"
        case ["is_error"]:
            return "tool result's is_error"
        case _:
            return "tool result"
