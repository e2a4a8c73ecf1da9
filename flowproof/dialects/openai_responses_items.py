"""Items of the Responses API in neutral words; used for requests and answers alike.

Agents send whatever they like, so every shape is read and none raises.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.dialects import attachments
from flowproof.dialects.openai_responses_parts import content_of, text_of
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, write
from flowproof.model.trajectory import Message, Role, ToolCall

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
# What the agent itself carries out though the API defines it, with the member that says what.
_BUILT_IN: Mapping[str, tuple[str, str]] = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
    "tool_search_call": ("tool_search", "arguments"),
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
_SERVED = ("program", "program_output", "tool_search_output")
"""Items that name a call, and that the API answers itself."""


def kind_of(item: JsonObject) -> str:
    """The type of an item; one without is a message if it has a role, else a reference."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if "role" in item else "item_reference" if "id" in item else ""


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


def call_of(item: JsonObject) -> ToolCall | None:
    """The call that an item asks the agent to make, None where it asks for none."""
    kind = kind_of(item)
    call_id = text_of(item.get("call_id"))
    match kind:
        case "function_call":
            return _json_call(call_id, text_of(item.get("name")) or "", item.get("arguments"))
        case "custom_tool_call":
            # The input of a custom tool is free text, so the text itself is the argument.
            text = text_of(item.get("input")) or ""
            return ToolCall(call_id, text_of(item.get("name")) or "", text, text)
        case "mcp_approval_request":
            # The provider runs the tool, and only if the agent says yes.
            name = text_of(item.get("name")) or ""
            return _json_call(text_of(item.get("id")), name, item.get("arguments"))
        case "tool_search_call" if item.get("execution") == "server":
            return None
        case str() if kind in _BUILT_IN:
            name, member = _BUILT_IN[kind]
            value = item.get(member)
            if value is None and kind == "computer_call":
                value = item.get("actions")
            text = "" if value is None else write(value)
            return ToolCall(call_id, name, text, value, malformed=value is None)
        case _:
            return None


def _json_call(call_id: str | None, name: str, arguments: JsonValue) -> ToolCall:
    if arguments is None:
        return ToolCall(call_id, name, "", None, malformed=True)
    if not isinstance(arguments, str):
        return ToolCall(call_id, name, write(arguments), arguments)
    try:
        return ToolCall(call_id, name, arguments, parse(arguments))
    except JsonError:
        return ToolCall(call_id, name, arguments, None, malformed=True)


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
        return Message("assistant", None, (call,))
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
        case "function_call" | "custom_tool_call" | "mcp_approval_request":
            return bool(text_of(item.get("name")))
        case "message":
            content = item.get("content")
            parts = content if isinstance(content, list) else []
            return isinstance(content, str | list) and all(isinstance(part, dict) for part in parts)
        case "" | "item_reference":
            return False
        case _:
            # An unknown item that has a call id is a call that the agent may be meant to make.
            unknown = kind not in _BUILT_IN and kind not in _SERVED and kind not in RESULTS
            return not (unknown and item.get("call_id") is not None)


def described(item: JsonObject) -> str:
    """A short description of an item that is neither a message nor the agent's own call."""
    match item:
        case {"type": "reasoning"}:
            return _reasoning(item)
        case {"type": "mcp_call" | "mcp_list_tools" as kind, "server_label": str(server)}:
            name = text_of(item.get("name"))
            told = server if name is None else f"{server}.{name}"
            return f"{kind.replace('_', ' ')} ({told[:100]})"
        case {"type": "image_generation_call", "result": str(data)}:
            form = text_of(item.get("output_format")) or "png"
            return attachments.encoded(f"image/{form[:100]}", data)
        case {"id": str(name)} if kind_of(item) == "item_reference":
            return f"item reference ({name[:100]})"
        case {"type": str(kind)}:
            return kind.replace("_", " ")[:100]
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
    return f"reasoning ({length} characters)"
