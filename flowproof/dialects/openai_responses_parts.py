"""What a message or a tool result of the Responses API holds: texts, and everything else in words.

`openai_responses_items` makes neutral messages of it.
"""

from __future__ import annotations

from flowproof.dialects import attachments
from flowproof.dialects.values import text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue

_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")


def content_of(content: JsonValue) -> tuple[list[str], list[str]]:
    """The texts of a message or result, and the descriptions of everything else in it."""
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
            case {"stdout": str(out), "stderr": str(err)} if isinstance(part, dict):
                texts += [text for text in (out, err) if text]
                attached += _outcome(part.get("outcome"))
            case dict():
                attached.append(_attachment(part))
            case _:
                pass
    return texts, attached


def _outcome(outcome: JsonValue) -> list[str]:
    match outcome:
        case {"type": "exit", "exit_code": int(code)}:
            return [f"exit code {code}"]
        case {"type": str(kind)}:
            return [attachments.short(kind)]
        case _:
            return []


def _attachment(part: JsonObject) -> str:
    match part:
        case {"type": "input_image" | "image_url" | "computer_screenshot", **rest}:
            link = rest.get("image_url")
            url = text_of(link.get("url") if isinstance(link, dict) else link)
            return attachments.linked("image", url or text_of(rest.get("file_id")) or "no url")
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return attachments.audio(form, data)
        case {"type": "input_file"}:
            return _file(part)
        case {"type": str(kind)}:
            return attachments.short(kind)
        case _:
            return "a part without type"


def _file(part: JsonObject) -> str:
    name = text_of(part.get("filename")) or text_of(part.get("file_id"))
    data, url = text_of(part.get("file_data")), text_of(part.get("file_url"))
    if data is None and url is not None:
        return attachments.linked(f"file {attachments.short(name)}" if name else "file", url)
    return attachments.file(name, data)
