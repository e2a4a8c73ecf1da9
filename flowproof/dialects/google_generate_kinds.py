"""What a reader calls the place where two requests of the Gemini API differ.

`google_generate` says what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from flowproof.dialects.google_generate_message import (
    INSTRUCTIONS,
    entries,
    media_of,
    parts_of,
    role_of,
)
from flowproof.dialects.google_generate_names import member, snake
from flowproof.dialects.kinds import part_kind, steps_of
from flowproof.dialects.values import entry_of, member_of
from flowproof.model.jsonvalue import JsonValue

_CALL_MEMBERS = {"id": "tool call id", "name": "tool call name", "args": "tool call arguments"}
_RESULT_MEMBERS = {"id": "tool call id", "name": "tool result name"}
_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")
_SETTINGS = ("generationConfig", "generation_config")
_MEMBERS = {
    "thought": "thinking",
    "thought_signature": "thought signature",
    "executable_code": "executed code",
    "code_execution_result": "code execution result",
    "tool_call": "server tool call",
    "tool_response": "server tool result",
}


def of_part(name: str, path: str) -> str:
    """The kind of a difference inside the part `name` of an envelope."""
    steps = steps_of(path)
    if name in _SETTINGS:
        return next((step for step in steps[1:] if isinstance(step, str)), name)
    if name != "tools":
        return part_kind(name)
    match [step for step in steps[1:] if isinstance(step, str)]:
        case ["functionDeclarations" | "function_declarations", "description"]:
            return "tool description"
        case ["functionDeclarations" | "function_declarations", str(key), *_] if key in _SCHEMAS:
            return "tool parameter schema"
        case _:
            return "tool definition"


def of_message(pinned: JsonValue, path: str) -> str:
    """The kind of a difference outside the envelope; `pinned` is one side."""
    contents = member_of(pinned, "contents")
    match steps_of(path):
        case [str(key), *_] if key in INSTRUCTIONS:
            return "system text"
        case ["contents", int(index), *inner]:
            return _inside(entry_of(entries(contents), index), inner)
        case ["contents", str(key), *inner]:
            return _inside(contents, [key, *inner])
        case ["contents"]:
            return "user text" if isinstance(contents, str) else "messages"
        case _:
            return "request"


def _inside(content: JsonValue, steps: list[str | int]) -> str:
    role = role_of(content)
    match steps:
        case ["parts", int(index), str(key), *inner]:
            return _inside_part(role, entry_of(parts_of(content), index), snake(key), inner)
        case ["parts", str(key), *inner]:
            return _inside_part(role, entry_of(parts_of(content), 0), snake(key), inner)
        case ["parts", *_]:
            return f"{role} content part"
        case [str(key), *_]:
            return f"{role} message's {key}"
        case _:
            return f"{role} text" if isinstance(content, str) else "message"


def _inside_part(role: str, part: JsonValue, key: str, steps: list[str | int]) -> str:
    first = steps[0] if steps and isinstance(steps[0], str) else ""
    match key:
        case "text":
            return "thinking" if member(part, "thought") is True else f"{role} text"
        case "function_call":
            return _CALL_MEMBERS.get(first, "tool call")
        case "function_response":
            return _RESULT_MEMBERS.get(first, "tool result")
        case "inline_data":
            return media_of(member(part, "inlineData"))
        case "file_data":
            return media_of(member(part, "fileData"))
        case _:
            return _MEMBERS.get(key, f"{role} content part")
