"""Chat completion messages in neutral words; used for requests and answers alike.

Agents send whatever they like, so every shape is read and none raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowproof.dialects import attachments
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, write
from flowproof.model.trajectory import Message, Role, ToolCall

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
WEB_SEARCH = "web_search"
"""The tool of the API's own, and how calls of it are called."""

_TEXTS = ("text", "input_text", "output_text")


def role_of(raw: JsonValue) -> Role:
    """The neutral role of a raw message; of an unknown one, `user`."""
    role = raw.get("role") if isinstance(raw, dict) else None
    return _ROLES.get(role, "user") if isinstance(role, str) else "user"


class Made(NamedTuple):
    """A call as it stands in a message; `arguments` is their text."""

    id: str | None
    name: str
    arguments: str


def calls_of(raw: JsonObject) -> Iterator[Made]:
    """Each call in a raw message, in order."""
    for call in _objects(raw.get("tool_calls")):
        name = _member(call, "function", "name") or _member(call, "custom", "name")
        yield Made(_text(call.get("id")), name or "", _arguments_text(call))
    name = _member(raw, "function_call", "name")
    if name is not None:
        yield Made(None, name, _arguments_text({"function": raw["function_call"]}))


def _arguments_text(call: JsonObject) -> str:
    for kind, key in (("function", "arguments"), ("custom", "input")):
        inner = call.get(kind)
        if isinstance(inner, dict) and (value := inner.get(key)) is not None:
            return value if isinstance(value, str) else write(value)
    return ""


def readable(raw: JsonObject) -> bool:
    """Whether every call in a raw message has the form that calls have."""
    calls, legacy = raw.get("tool_calls"), raw.get("function_call")
    if calls is not None and not isinstance(calls, list):
        return False
    named = (
        isinstance(call, dict)
        and (_member(call, "function", "name") or _member(call, "custom", "name"))
        for call in calls or ()
    )
    return all(named) and (legacy is None or bool(_member(raw, "function_call", "name")))


def message(raw: JsonValue, names: dict[str, str]) -> Message:
    """One raw message in neutral words.

    `names` maps call ids to tool names; a message that calls tools adds to it.
    """
    if not isinstance(raw, dict):
        return Message("user", _text(raw))
    names.update((call.id, call.name) for call in calls_of(raw) if call.id is not None)
    texts, attached = _content(raw.get("content"))
    refusal = _text(raw.get("refusal"))
    if refusal:
        texts.append(refusal)
    if isinstance(audio := raw.get("audio"), dict):
        transcript = _text(audio.get("transcript"))
        attached.append(f"audio ({_text(audio.get('id')) or 'no id'})")
        if transcript and not texts:
            texts.append(transcript)
    role = role_of(raw)
    call_id = _text(raw.get("tool_call_id")) if role == "tool" else None
    known = names.get(call_id) if call_id is not None else None
    return Message(
        role=role,
        text="\n".join(texts) if texts else None,
        tool_calls=(*_searches(raw), *_tool_calls(raw)),
        call_id=call_id,
        tool=(known or _text(raw.get("name"))) if role == "tool" else None,
        attachments=tuple(attached),
    )


def _content(content: JsonValue) -> tuple[list[str], list[str]]:
    """The texts and the descriptions of everything else in a message's content."""
    if isinstance(content, str):
        return [content], []
    texts: list[str] = []
    attached: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        match part:
            case str():
                texts.append(part)
            case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
                texts.append(text)
            case {"type": "refusal", "refusal": str(text)}:
                texts.append(text)
            case dict():
                attached.append(_attachment(part))
            case _:
                pass
    return texts, attached


def _attachment(part: JsonObject) -> str:
    match part:
        case {"type": "image_url" | "video_url" as kind, **rest}:
            inner = rest.get(kind)
            url = inner.get("url") if isinstance(inner, dict) else inner
            return attachments.linked(kind.removesuffix("_url"), _text(url) or "no url")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return attachments.encoded(f"audio/{form[:100]}", data)
        case {"type": "file", "file": dict(file)}:
            return _file(file)
        case {"type": str(kind)}:
            return kind[:100]
        case _:
            return "a part without type"


def _file(file: JsonObject) -> str:
    name = _text(file.get("filename")) or _text(file.get("file_id")) or "without name"
    data = _text(file.get("file_data"))
    if data is None:
        return f"file {name[:100]}"
    content = (
        attachments.linked("file", data)
        if data.startswith("data:")
        else attachments.encoded("base64", data)
    )
    return f"file {name[:100]} ({content})"


def _searches(raw: JsonObject) -> Iterator[ToolCall]:
    """The search of the web that shows in the pages that an answer cites; for what, it does not."""
    noted = raw.get("annotations") if role_of(raw) == "assistant" else None
    if any(entry.get("type") == "url_citation" for entry in _objects(noted)):
        yield ToolCall(None, WEB_SEARCH, "", None, malformed=True, served=True)


def _tool_calls(raw: JsonObject) -> Iterator[ToolCall]:
    for call in _objects(raw.get("tool_calls")):
        call_id = _text(call.get("id"))
        function, custom = call.get("function"), call.get("custom")
        if isinstance(custom, dict) and not isinstance(function, dict):
            text = _text(custom.get("input")) or ""
            # The input of a custom tool is free text, so the text itself is the argument.
            yield ToolCall(call_id, _text(custom.get("name")) or "", text, text)
        else:
            yield _function_call(call_id, function)
    if isinstance(legacy := raw.get("function_call"), dict):
        yield _function_call(None, legacy)


def _function_call(call_id: str | None, function: JsonValue) -> ToolCall:
    if not isinstance(function, dict):
        return ToolCall(call_id, "", "", None, malformed=True)
    name, arguments = _text(function.get("name")) or "", function.get("arguments")
    if arguments is None:
        return ToolCall(call_id, name, "", None, malformed=True)
    if not isinstance(arguments, str):
        return ToolCall(call_id, name, write(arguments), arguments)
    try:
        return ToolCall(call_id, name, arguments, parse(arguments))
    except JsonError:
        return ToolCall(call_id, name, arguments, None, malformed=True)


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield entry


def _member(value: JsonObject, key: str, inner: str) -> str | None:
    found = value.get(key)
    return _text(found.get(inner)) if isinstance(found, dict) else None


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
