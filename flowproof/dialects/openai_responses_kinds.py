"""What a reader calls the place where two requests of the Responses API differ.

`openai_responses` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowproof.dialects import openai_chat_kinds
from flowproof.dialects.kinds import steps_of
from flowproof.dialects.openai_responses_calls import call_of, kind_of
from flowproof.dialects.openai_responses_items import RESULTS, role_of
from flowproof.dialects.values import entry_of, member_of
from flowproof.model.jsonvalue import JsonObject, JsonValue

_MEDIA = {"input_image": "image", "input_audio": "audio", "input_file": "file"}
_CALL_MEMBERS: Mapping[str | int | None, str] = {
    "call_id": "tool call id",
    "name": "tool call name",
    "arguments": "tool call arguments",
    "input": "tool call arguments",
    "action": "tool call arguments",
    "actions": "tool call arguments",
    "operation": "tool call arguments",
}


def of_part(name: str, path: str) -> str:
    """The kind of a difference inside the part `name` of an envelope."""
    return openai_chat_kinds.of_part(name, path)


def of_message(pinned: JsonValue, path: str) -> str:
    """The kind of a difference outside the envelope, where `pinned` is one side."""
    said = member_of(pinned, "input")
    match steps_of(path):
        case ["instructions", *_]:
            return "system text"
        case ["input", int(index), *inner]:
            item = entry_of(said, index)
            return _inside(item, inner) if isinstance(item, dict) else "message"
        case ["input"]:
            return "user text" if isinstance(said, str) else "messages"
        case _:
            return "request"


def _inside(item: JsonObject, steps: list[str | int]) -> str:
    kind, first = kind_of(item), steps[0] if steps else None
    if first in ("id", "status", "type"):
        return f"item {first}"
    if kind == "message":
        return _inside_message(item, steps)
    if kind in RESULTS:
        return "tool call id" if first == RESULTS[kind] else "tool result"
    call = call_of(item)
    if call is not None and not call.served:
        return _CALL_MEMBERS.get(first, "tool call")
    return kind.replace("_", " ") or "message"


def _inside_message(item: JsonObject, steps: list[str | int]) -> str:
    role, content = role_of(item), item.get("content")
    match steps:
        case ["content"] | ["content", int(), "text" | "refusal"]:
            return f"{role} text"
        case ["content", int(index), *_]:
            kind = member_of(entry_of(content, index), "type")
            part_kind = _MEDIA.get(kind) if isinstance(kind, str) else None
            return part_kind or f"{role} content part"
        case [str(member), *_]:
            return f"{role} message's {member}"
        case _:
            return "message"
