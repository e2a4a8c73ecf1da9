"""Tool calls as APIs write them, in neutral words; and the text that stands for arguments."""

from __future__ import annotations

from typing import NamedTuple

from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonError, JsonValue, parse, write
from flowproof.model.trajectory import ToolCall


class Made(NamedTuple):
    """A call as it stands in a message; `arguments` is their text."""

    id: str | None
    name: str
    arguments: str


def text_of_arguments(arguments: JsonValue) -> str:
    """Arguments as text: compact JSON, or the text itself where they are one; empty if absent."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else write(arguments)


_CALLED = frozenset(("tool_use", "tool_call", "function_call"))
_GIVEN = ("arguments", "input", "args", "parameters")


def looks_called(value: JsonValue) -> bool:
    """Whether a value of a kind unknown here has what a call has: a name, and arguments for it.

    Some client may act on it, so that nobody may take it for a remark.
    """
    if not isinstance(value, dict):
        return False
    if text_of(value.get("type")) in _CALLED:
        return True
    return any(
        bool(text_of(member_of(one, "name")))
        and any(member_of(one, key) is not None for key in _GIVEN)
        for one in (value, value.get("function"), value.get("custom"))
    )


def call_of_text(
    call_id: str | None, name: str, arguments: JsonValue, *, served: bool = False
) -> ToolCall:
    """A call whose arguments are JSON text, or by another custom the value itself.

    It is malformed where they are absent, or text that is no JSON.
    """
    text = text_of_arguments(arguments)
    if arguments is not None and not isinstance(arguments, str):
        return ToolCall(call_id, name, text, arguments, served=served)
    try:
        return ToolCall(call_id, name, text, parse(text), served=served)
    except JsonError:
        return ToolCall(call_id, name, text, None, malformed=True, served=served)


def call_of_value(
    call_id: str | None, name: str, arguments: JsonValue, *, served: bool = False
) -> ToolCall:
    """A call whose arguments are a value of any kind; it is malformed where they are absent."""
    text = "" if arguments is None else write(arguments)
    return ToolCall(call_id, name, text, arguments, malformed=arguments is None, served=served)
