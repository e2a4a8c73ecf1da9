"""What a reader calls the place where two Anthropic requests differ.

`anthropic_messages` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.dialects.anthropic_messages_blocks import is_call, type_of
from flowproof.dialects.anthropic_messages_message import role_of
from flowproof.dialects.kinds import part_kind, steps_of
from flowproof.dialects.values import entry_of, member_of
from flowproof.model.jsonvalue import JsonValue

_BLOCKS = {
    "image": "image",
    "document": "document",
    "redacted_thinking": "thinking",
    "search_result": "search result",
    "server_tool_use": "server tool call",
    "mcp_tool_use": "server tool call",
}
_CALL_MEMBERS: Mapping[str | int | None, str] = {
    "id": "tool call id",
    "name": "tool call name",
    "input": "tool call arguments",
}


def of_part(name: str, path: str) -> str:
    """The kind of a difference inside the part `name` of an envelope."""
    if name != "tools":
        return part_kind(name)
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
            return _in_message(entry_of(member_of(pinned, "messages"), index), inner)
        case ["messages"]:
            return "messages"
        case _:
            return "request"


def _in_message(raw: JsonValue, steps: list[str | int]) -> str:
    role = role_of(raw)
    match steps:
        case ["content"]:
            return f"{role} text"
        case ["content", int(index), *inner]:
            return _in_block(role, entry_of(member_of(raw, "content"), index), inner)
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
        return _CALL_MEMBERS.get(member, "tool call")
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
            kind = type_of(entry_of(member_of(block, "content"), index))
            return _BLOCKS.get(kind, "tool result")
        case ["tool_use_id"]:
            return "tool call id"
        case ["is_error"]:
            return "tool result's is_error"
        case _:
            return "tool result"
