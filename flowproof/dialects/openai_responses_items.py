"""Items of the Responses API in neutral words; used for requests and answers alike.

Agents send whatever they like, so every shape is read and none raises.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.dialects import attachments
from flowproof.dialects.calls import looks_called
from flowproof.dialects.openai_responses_calls import KNOWN, call_of, kind_of, outcome_of
from flowproof.dialects.openai_responses_parts import content_of
from flowproof.dialects.values import text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, Role, ToolCall

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
RESULTS: Mapping[str, str] = {
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "local_shell_call_output": "call_id",
    "shell_call_output": "call_id",
    "apply_patch_call_output": "call_id",
    "computer_call_output": "call_id",
    "tool_search_output": "call_id",
    "mcp_approval_response": "approval_request_id",
}
"""The types of items that hold a tool's result, each with the member that names its call."""

_MADE = (
    "reasoning",
    "compaction",
    "item_reference",
    "mcp_approval_request",
    "mcp_list_tools",
    "program",
    "program_output",
)


def role_of(item: JsonValue) -> Role:
    """The neutral role of an item: who said or did it."""
    if not isinstance(item, dict):
        return "user"
    role, kind = item.get("role"), kind_of(item)
    if isinstance(role, str):
        return _ROLES.get(role, "user")
    if kind in RESULTS:
        return "tool"
    return "assistant" if kind.endswith("_call") or kind in _MADE else "user"


def answered_call(item: JsonObject) -> str | None:
    """The id of the call whose result an item holds."""
    kind = kind_of(item)
    call_id = text_of(item.get(RESULTS[kind])) if kind in RESULTS else None
    # The published form of this one names its call by its own id.
    return (
        text_of(item.get("id"))
        if call_id is None and kind == "local_shell_call_output"
        else call_id
    )


def message(item: JsonValue, names: dict[str, str]) -> Message:
    """One item in neutral words.

    `names` maps call ids to tool names; an item that calls a tool adds to it.
    """
    if not isinstance(item, dict):
        return Message("user", text_of(item))
    call = call_of(item)
    if call is not None:
        if call.id is not None:
            names[call.id] = call.name
        told = tuple(outcome_of(item)) if call.served else ()
        return Message("assistant", None, (call,), attachments=told)
    kind = kind_of(item)
    if kind in RESULTS:
        return _result(item, names)
    if kind == "message":
        texts, attached = content_of(item.get("content"))
        return Message(role_of(item), _joined(texts), attachments=tuple(attached))
    return Message(role_of(item), None, attachments=(described(item),))


def _result(item: JsonObject, names: Mapping[str, str]) -> Message:
    call_id = answered_call(item)
    known = names.get(call_id) if call_id is not None else None
    if kind_of(item) == "mcp_approval_response":
        texts, attached = content_of(item.get("reason"))
        attached.append("approved" if item.get("approve") is True else "not approved")
    else:
        texts, attached = content_of(item.get("output"))
    return Message(
        role="tool",
        text=_joined(texts),
        call_id=call_id,
        tool=known or text_of(item.get("name")),
        attachments=tuple(attached),
    )


def _joined(texts: list[str]) -> str | None:
    return "\n".join(texts) if texts else None


def answer(output: list[JsonValue]) -> Message | None:
    """The items of a response as one message; None if what one says cannot be read.

    What remained could look as if no tool had been called.
    """
    texts: list[str] = []
    attached: list[str] = []
    calls: list[ToolCall] = []
    for item in output:
        if not (isinstance(item, dict) and _readable(item)):
            return None
        if (call := call_of(item)) is not None:
            calls.append(call)
            attached += outcome_of(item) if call.served else ()
        elif kind_of(item) == "message":
            said, beside = content_of(item.get("content"))
            texts += said
            attached += beside
        else:
            attached.append(described(item))
    return Message("assistant", _joined(texts), tuple(calls), attachments=tuple(attached))


def _readable(item: JsonObject) -> bool:
    """Whether an item of a response has the form that such items have."""
    kind = kind_of(item)
    match kind:
        case "function_call" | "custom_tool_call" | "mcp_approval_request" | "mcp_call":
            return bool(text_of(item.get("name")))
        case "message":
            content = item.get("content")
            parts = content if isinstance(content, list) else []
            readable = all(isinstance(part, dict) and not looks_called(part) for part in parts)
            return isinstance(content, str | list) and readable
        case "" | "item_reference":
            return False
        case _:
            if kind not in KNOWN and kind not in RESULTS and looks_called(item):
                return False
            # An unknown item that has a call id is a call that the agent may be meant to make.
            known = call_of(item) is not None or kind in RESULTS or kind == "program_output"
            return known or item.get("call_id") is None


def described(item: JsonObject) -> str:
    """A short description of an item that is neither a message nor a call."""
    match item:
        case {"type": "reasoning"}:
            return _reasoning(item)
        case {"type": "mcp_list_tools", "server_label": str(server)}:
            return f"mcp list tools ({attachments.short(server)})"
        case {"id": str(name)} if kind_of(item) == "item_reference":
            return f"item reference ({attachments.short(name)})"
        case {"type": str(kind)}:
            return attachments.short(kind).replace("_", " ")
        case _:
            return "an item without type"


def _reasoning(item: JsonObject) -> str:
    length = 0
    for key in ("summary", "content"):
        texts, _ = content_of(item.get(key))
        length += sum(map(len, texts))
    hidden = text_of(item.get("encrypted_content"))
    if not length and hidden:
        return f"reasoning (encrypted, {len(hidden)} characters)"
    return attachments.reasoning(length)
