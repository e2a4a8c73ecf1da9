"""Chat completion messages in neutral words; used for requests and answers alike.

Agents send whatever they like, so every shape is read and none raises.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects import attachments
from flowproof.dialects.calls import Made, call_of_text, looks_called, text_of_arguments
from flowproof.dialects.values import member_of, objects_of, role_in, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
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
    return role_in(raw, _ROLES)


def calls_of(raw: JsonObject) -> Iterator[Made]:
    """Each call in a raw message, in order."""
    for call in objects_of(raw.get("tool_calls")):
        yield Made(text_of(call.get("id")), _name(call) or "", _arguments(call))
    legacy = raw.get("function_call")
    name = text_of(member_of(legacy, "name"))
    if name is not None:
        yield Made(None, name, text_of_arguments(member_of(legacy, "arguments")))


def _name(call: JsonValue) -> str | None:
    named = (text_of(member_of(member_of(call, kind), "name")) for kind in ("function", "custom"))
    return next(filter(None, named), None)


def _arguments(call: JsonObject) -> str:
    for kind, key in (("function", "arguments"), ("custom", "input")):
        value = member_of(call.get(kind), key)
        if value is not None:
            return text_of_arguments(value)
    return ""


def readable(raw: JsonObject) -> bool:
    """Whether every call in a raw message has the form and the place that calls have."""
    calls, legacy, content = raw.get("tool_calls"), raw.get("function_call"), raw.get("content")
    if any(map(looks_called, content if isinstance(content, list) else [content])):
        return False
    if calls is not None and not isinstance(calls, list):
        return False
    named = all(map(_name, calls or ()))
    return named and (legacy is None or bool(text_of(member_of(legacy, "name"))))


def message(raw: JsonValue, names: dict[str, str]) -> Message:
    """One raw message in neutral words.

    `names` maps call ids to tool names; a message that calls tools adds to it.
    """
    if not isinstance(raw, dict):
        return Message("user", text_of(raw))
    names.update((call.id, call.name) for call in calls_of(raw) if call.id is not None)
    texts, attached = _content(raw.get("content"))
    refusal = text_of(raw.get("refusal"))
    if refusal:
        texts.append(refusal)
    if isinstance(audio := raw.get("audio"), dict):
        transcript = text_of(audio.get("transcript"))
        attached.append(f"audio ({text_of(audio.get('id')) or 'no id'})")
        if transcript and not texts:
            texts.append(transcript)
    role = role_of(raw)
    call_id = text_of(raw.get("tool_call_id")) if role == "tool" else None
    known = names.get(call_id) if call_id is not None else None
    return Message(
        role=role,
        text="\n".join(texts) if texts else None,
        tool_calls=(*_searches(raw), *_tool_calls(raw)),
        call_id=call_id,
        tool=(known or text_of(raw.get("name"))) if role == "tool" else None,
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
            return attachments.linked(kind.removesuffix("_url"), text_of(url) or "no url")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return attachments.audio(form, data)
        case {"type": "file", "file": dict(file)}:
            name = text_of(file.get("filename")) or text_of(file.get("file_id"))
            return attachments.file(name, text_of(file.get("file_data")))
        case {"type": str(kind)}:
            return attachments.short(kind)
        case _:
            return "a part without type"


def _searches(raw: JsonObject) -> Iterator[ToolCall]:
    """The search of the web that shows in the pages that an answer cites; for what, it does not."""
    noted = raw.get("annotations") if role_of(raw) == "assistant" else None
    if any(entry.get("type") == "url_citation" for entry in objects_of(noted)):
        yield ToolCall(None, WEB_SEARCH, "", None, malformed=True, served=True)


def _tool_calls(raw: JsonObject) -> Iterator[ToolCall]:
    for call in objects_of(raw.get("tool_calls")):
        call_id = text_of(call.get("id"))
        function, custom = call.get("function"), call.get("custom")
        if isinstance(custom, dict) and not isinstance(function, dict):
            text = text_of(custom.get("input")) or ""
            # The input of a custom tool is free text, so the text itself is the argument.
            yield ToolCall(call_id, text_of(custom.get("name")) or "", text, text)
        else:
            yield _function_call(call_id, function)
    if isinstance(legacy := raw.get("function_call"), dict):
        yield _function_call(None, legacy)


def _function_call(call_id: str | None, function: JsonValue) -> ToolCall:
    name = text_of(member_of(function, "name")) or ""
    return call_of_text(call_id, name, member_of(function, "arguments"))
