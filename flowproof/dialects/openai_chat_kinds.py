"""What a reader calls the place where two chat completion requests differ.

`openai_chat` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowproof.dialects.kinds import part_kind, steps_of
from flowproof.dialects.openai_chat_message import role_of
from flowproof.model.jsonvalue import JsonValue

_MEDIA = {
    "image_url": "image",
    "input_audio": "audio",
    "file": "file",
    "video_url": "video",
}
_CALL_MEMBERS: Mapping[str | int | None, str] = {
    "id": "tool call id",
    "name": "tool call name",
    "arguments": "tool call arguments",
    "input": "tool call arguments",
}


def of_part(name: str, path: str) -> str:
    """The kind of a difference inside the part `name` of an envelope."""
    if name not in ("tools", "functions"):
        return part_kind(name)
    match [step for step in steps_of(path)[2:] if step not in ("function", "custom")]:
        case ["description"]:
            return "tool description"
        case ["parameters" | "format", *_]:
            return "tool parameter schema"
        case _:
            return "tool definition"


def of_message(messages: Sequence[JsonValue], path: str) -> str:
    """The kind of a difference inside the messages, of which `messages` is one side."""
    match steps_of(path):
        case ["messages", int(index), *inner]:
            role = role_of(messages[index]) if index < len(messages) else "user"
            return _inside(role, inner)
        case ["messages"]:
            return "messages"
        case _:
            return "request"


def _inside(role: str, steps: list[str | int]) -> str:
    match steps:
        case ["content"]:
            return "tool result" if role == "tool" else f"{role} text"
        case ["content", int(), "text" | "refusal"]:
            return f"{role} content part text"
        case ["content", int(), str(kind), *_] if kind in _MEDIA:
            return _MEDIA[kind]
        case ["content", *_]:
            return f"{role} content part"
        case ["tool_calls", int(), *inner] | ["function_call", *inner]:
            members = [step for step in inner if step not in ("function", "custom")]
            member = members[0] if len(members) == 1 else None
            return _CALL_MEMBERS.get(member, "tool call")
        case ["tool_calls"]:
            return "tool call"
        case ["tool_call_id"]:
            return "tool call id"
        case [str(member), *_]:
            return f"{role} message's {member}"
        case _:
            return "message"
