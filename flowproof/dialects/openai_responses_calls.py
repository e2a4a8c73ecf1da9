"""Items of the Responses API that are tool calls: the agent's, and those that the API serves.

`openai_responses_items` makes messages of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowproof.dialects import attachments
from flowproof.dialects.calls import call_of_text, call_of_value
from flowproof.dialects.values import text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import ToolCall

BUILT_IN: Mapping[str, tuple[str, str]] = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
    "tool_search_call": ("tool_search", "arguments"),
}
"""What the agent itself carries out though the API defines it, with the member that says what."""

PROGRAM = "programmatic_tool_calling"
"""The tool that runs a program of the model's; its calls are items of the type `program`."""

# Of a served call, the members that say what is done.
_ASKED: Mapping[str, tuple[str, ...]] = {
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code",),
    "image_generation_call": (
        "revised_prompt",
        "action",
        "background",
        "output_format",
        "quality",
        "size",
    ),
    "program": ("code",),
}
KNOWN = frozenset((*BUILT_IN, *_ASKED, "web_search_call", "mcp_list_tools", "program_output"))
"""The kinds of items whose calls are known to be all that their type says."""

_NOT_ASKED = ("id", "type", "status", "result", "results", "output", "outputs", "error")
_RESULTS = ("results", "outputs", "sources")


def kind_of(item: JsonObject) -> str:
    """The type of an item; one without is a message if it has a role, else a reference."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if "role" in item else "item_reference" if "id" in item else ""


def call_of(item: JsonObject) -> ToolCall | None:
    """The call that an item makes, of the agent or served by the API; None if it makes none."""
    kind = kind_of(item)
    call_id = text_of(item.get("call_id"))
    match kind:
        case "function_call":
            return _json_call(call_id, item)
        case "custom_tool_call":
            # The input of a custom tool is free text, so the text itself is the argument.
            text = text_of(item.get("input")) or ""
            return ToolCall(call_id, text_of(item.get("name")) or "", text, text)
        case "mcp_approval_request":
            # The provider runs the tool, and only if the agent says yes.
            return _json_call(text_of(item.get("id")), item)
        case "mcp_call":
            # One that the agent had to approve is that call, carried out.
            asked = text_of(item.get("approval_request_id")) or text_of(item.get("id"))
            return _json_call(asked, item, served=True)
        case str() if kind in BUILT_IN:
            return _built_in(item, kind)
        case _ if kind in _ASKED or (kind.endswith("_call") and item.get("call_id") is None):
            return _served(item, kind)
        case _:
            return None


def _json_call(call_id: str | None, item: JsonObject, *, served: bool = False) -> ToolCall:
    name = text_of(item.get("name")) or ""
    return call_of_text(call_id, name, item.get("arguments"), served=served)


def _built_in(item: JsonObject, kind: str) -> ToolCall:
    name, member = BUILT_IN[kind]
    value = item.get(member)
    if value is None and kind == "computer_call":
        value = item.get("actions")
    call_id, hosted = text_of(item.get("call_id")), _hosted(item)
    if hosted:
        call_id = call_id or text_of(item.get("id"))
    return call_of_value(call_id, name, value, served=hosted)


def _hosted(item: JsonObject) -> bool:
    """Whether the API carries out what an agent can carry out, too."""
    match item:
        case {"type": "tool_search_call", "execution": "server"}:
            return True
        case {"type": "shell_call", "environment": {"type": str(where)}}:
            return where.startswith("container")
        case _:
            return False


def _served(item: JsonObject, kind: str) -> ToolCall:
    name = PROGRAM if kind == "program" else kind.removesuffix("_call")
    value: JsonValue
    if kind == "web_search_call":
        action = item.get("action")
        value = _without(action, _RESULTS) if isinstance(action, dict) else action
    elif kind in _ASKED:
        told = {key: item[key] for key in _ASKED[kind] if item.get(key) is not None}
        value = told or None
    else:
        value = _without(item, _NOT_ASKED)
    call_id = text_of(item.get("call_id")) or text_of(item.get("id"))
    return call_of_value(call_id, name, value, served=True)


def _without(value: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return {key: item for key, item in value.items() if key not in keys}


def outcome_of(item: JsonObject) -> Iterator[str]:
    """What an item says beyond the call that the API serves: where it ran and what came of it."""
    kind = kind_of(item)
    label = attachments.short(kind.removesuffix("_call").replace("_", " "))
    if kind == "mcp_call" and (server := text_of(item.get("server_label"))) is not None:
        yield f"MCP server {attachments.short(server)}"
    for holder in (item, item.get("action")):
        for key in _RESULTS if isinstance(holder, dict) else ():
            listed = holder.get(key) if isinstance(holder, dict) else None
            if isinstance(listed, list):
                yield f"{label} {key} ({len(listed)})"
    if isinstance(output := item.get("output"), str):
        yield f"{label} result ({len(output)} characters)"
    if kind == "image_generation_call" and isinstance(data := item.get("result"), str):
        form = text_of(item.get("output_format")) or "png"
        yield attachments.encoded(f"image/{attachments.short(form)}", data)
    if item.get("status") == "failed" or item.get("error") is not None:
        yield f"{label} failed"
