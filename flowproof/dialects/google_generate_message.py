"""Contents of the Gemini API in neutral words; used for requests and answers alike.

The API takes its member names in camelCase and in snake_case, so both are read. Agents send
whatever they like: every shape is read and none raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from flowproof.dialects import attachments
from flowproof.dialects.calls import Made, looks_called
from flowproof.dialects.google_generate_names import member
from flowproof.dialects.google_generate_served import served_call
from flowproof.dialects.values import member_of, role_in, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.trajectory import Message, Role, ToolCall

_CALLS = ("functionCall", "function_call", "toolCall", "tool_call")
INSTRUCTIONS = ("systemInstruction", "system_instruction")

_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "assistant": "assistant",
    "function": "tool",
    "tool": "tool",
    "system": "system",
}


def entries(value: JsonValue) -> list[JsonValue]:
    """The entries of a list; a single object stands for a list of one, as the API takes it."""
    match value:
        case list():
            return value
        case dict():
            return [value]
        case _:
            return []


def parts_of(content: JsonValue) -> list[JsonValue]:
    """The parts of a content; a bare text is one."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return content
    parts = member_of(content, "parts")
    return [parts] if isinstance(parts, str) else entries(parts)


def role_of(content: JsonValue) -> Role:
    """The neutral role of a content, by what it says of itself."""
    return role_in(content, _ROLES)


def is_result(part: JsonValue) -> bool:
    """Whether a part tells what a function returned."""
    return member(part, "functionResponse") is not None


def units(content: JsonValue) -> Sequence[JsonValue]:
    """A content in pieces of which each makes one message: every tool result is one."""
    parts = parts_of(content)
    if not isinstance(content, dict) or len(parts) < 2 or not any(map(is_result, parts)):
        return (content,)
    pieces: list[JsonValue] = []
    for result, group in groupby(parts, is_result):
        listed = list(group)
        some = [[part] for part in listed] if result else [listed]
        pieces += [content | {"parts": parts} for parts in some]
    return pieces


def call_of(part: JsonValue) -> Made | None:
    """The function call that a part makes, None if it makes none."""
    call = member(part, "functionCall")
    if call is None:
        return None
    made = _tool_call(call)
    return Made(made.id, made.name, made.text)


def message(raw: JsonValue, names: dict[str, str]) -> Message:
    """One unit in neutral words.

    `names` maps call ids to tool names; a message that calls tools adds to it.
    """
    if isinstance(raw, dict) and len(raw) == 1:
        for key in INSTRUCTIONS:
            if key in raw:
                return _spoken("system", parts_of(raw[key]))
    parts = parts_of(raw)
    if len(parts) == 1 and is_result(parts[0]):
        return _result(member(parts[0], "functionResponse"), names)
    said = _spoken(role_of(raw), parts)
    names.update((call.id, call.name) for call in said.tool_calls if call.id is not None)
    return said


def answered(content: JsonValue) -> Message:
    """The content of an answer in neutral words."""
    return _spoken("assistant", parts_of(content))


def readable(content: JsonValue) -> bool:
    """Whether every part of an answer's content, and every call in it, has the form that it must
    have; a call whose arguments are still to come has not."""
    if content is None:
        return True
    if not isinstance(content, dict):
        return False
    parts = content.get("parts")
    if parts is not None and not isinstance(parts, list):
        return False
    return all(isinstance(part, dict) and _readable_part(part) for part in parts or ())


def _readable_part(part: JsonObject) -> bool:
    served = member(part, "toolCall")
    named = served is None or bool(text_of(member(served, "toolType")))
    if looks_called(part) or any(
        looks_called(value) for key, value in part.items() if key not in _CALLS
    ):
        return False
    return named and isinstance(member(part, "text"), str | None) and _readable_call(part)


def _readable_call(part: JsonObject) -> bool:
    call = member(part, "functionCall")
    if call is None:
        return True
    if not isinstance(call, dict) or not text_of(call.get("name")):
        return False
    arguments = call.get("args")
    unfinished = bool(member(call, "willContinue")) or bool(member(call, "partialArgs"))
    return (arguments is None or isinstance(arguments, dict)) and not unfinished


def _spoken(role: Role, parts: Sequence[JsonValue]) -> Message:
    texts: list[str] = []
    attached: list[str] = []
    calls: list[ToolCall] = []
    for part in parts:
        call = member(part, "functionCall")
        text = part if isinstance(part, str) else member(part, "text")
        if call is not None:
            calls.append(_tool_call(call))
        elif (served := served_call(part)) is not None:
            calls.append(served)
        elif isinstance(text, str):
            if member(part, "thought") is True:
                attached.append(attachments.reasoning(len(text)))
            else:
                texts.append(text)
        elif isinstance(part, dict):
            attached.append(_attachment(part))
    # The model's parts are pieces of one text, which clients join without anything between.
    joined = ("" if role == "assistant" else "\n").join(texts)
    return Message(role, joined if texts else None, tuple(calls), attachments=tuple(attached))


def _tool_call(call: JsonValue) -> ToolCall:
    if not isinstance(call, dict):
        return ToolCall(None, "", "", None, malformed=True)
    arguments = call.get("args")
    if arguments is None:
        arguments = {}
    return ToolCall(
        text_of(call.get("id")), text_of(call.get("name")) or "", write(arguments), arguments
    )


def _result(response: JsonValue, names: dict[str, str]) -> Message:
    call_id, name = text_of(member(response, "id")), text_of(member(response, "name"))
    known = names.get(call_id) if call_id is not None else None
    media = [
        _attachment(part) for part in entries(member(response, "parts")) if isinstance(part, dict)
    ]
    return Message(
        "tool",
        _result_text(member(response, "response")),
        call_id=call_id,
        tool=known or name,
        attachments=tuple(media),
    )


def _result_text(value: JsonValue) -> str | None:
    """What a tool told: clients wrap what is no object into one, under one of two names."""
    match value:
        case {"result": inner} | {"output": inner} if isinstance(value, dict) and len(value) == 1:
            return inner if isinstance(inner, str) else write(inner)
        case None:
            return None
        case _:
            return write(value)


def _attachment(part: JsonObject) -> str:
    if (blob := member(part, "inlineData")) is not None:
        data = text_of(member(blob, "data")) or ""
        return attachments.encoded(_word(member(blob, "mimeType"), "data"), data)
    if (file := member(part, "fileData")) is not None:
        uri = text_of(member(file, "fileUri")) or "no address"
        return attachments.linked(media_of(file), uri)
    if (outcome := member(part, "codeExecutionResult")) is not None:
        return f"code execution result ({_word(member(outcome, 'outcome'), 'no outcome')})"
    if (item := member(part, "toolResponse")) is not None:
        return f"{_word(member(item, 'toolType'), 'server tool').lower().replace('_', ' ')} result"
    return attachments.short(next(iter(part), "a part without content"))


def media_of(data: JsonValue) -> str:
    """The kind of medium that inline or linked data is: `image`, `audio`, `video` or `file`."""
    kind = (text_of(member(data, "mimeType")) or "").partition("/")[0].lower()
    return kind if kind in ("image", "audio", "video") else "file"


def _word(value: JsonValue, otherwise: str) -> str:
    return attachments.short(text_of(value) or otherwise)
