"""Content blocks of the Messages API: which are tool calls, and words for those not of text.

`anthropic_messages_message` makes messages of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import attachments
from flowproof.dialects.attachments import short
from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue

_SERVED = frozenset(("server_tool_use", "mcp_tool_use"))


def type_of(block: JsonValue) -> str:
    """The type that a block gives itself; empty where it has none."""
    return text_of(member_of(block, "type")) or ""


def is_call(block: JsonValue) -> bool:
    """Whether a block asks the agent to run a tool; of a kind unknown here too."""
    return type_of(block).endswith("tool_use") and not is_served(block)


def is_served(block: JsonValue) -> bool:
    """Whether a block is a call of a tool that the provider itself runs, within the answer."""
    return type_of(block) in _SERVED


def told(content: Iterable[JsonValue]) -> tuple[list[str], list[str]]:
    """The texts of blocks, and descriptions of all else in them that no tool call says."""
    texts: list[str] = []
    attached: list[str] = []
    for block in content:
        match block:
            case str():
                texts.append(block)
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "mcp_tool_use", "server_name": str(server)}:
                attached.append(f"MCP server {short(server)}")
            case dict() if not (is_call(block) or is_served(block)):
                attached.append(_described(block))
            case _:
                pass
    return texts, attached


def _described(block: JsonObject) -> str:
    match block:
        case {"type": "image" | "document" as kind}:
            return _media(kind, block)
        case {"type": "thinking", "thinking": str(thought)}:
            return attachments.reasoning(len(thought))
        case {"type": "redacted_thinking"}:
            return "redacted reasoning"
        case {"type": "mcp_tool_result"}:
            return "MCP result"
        case {"type": "search_result"}:
            return attachments.linked("search result", text_of(block.get("source")) or "no source")
        case {"type": "container_upload"}:
            return f"file {short(text_of(block.get('file_id')) or 'without id')}"
        case {"type": str(kind)} if kind.endswith("_tool_result"):
            return f"{short(kind.removesuffix('_tool_result')).replace('_', ' ')} result"
        case {"type": str(kind)}:
            return short(kind)
        case _:
            return "a block without type"


def _media(kind: str, block: JsonObject) -> str:
    described = _source(kind, block.get("source"))
    title = text_of(block.get("title"))
    return described if title is None else f"{short(title)} ({described})"


def _source(kind: str, source: JsonValue) -> str:
    match source:
        case {"type": "base64", "data": str(data), "media_type": str(media_type)}:
            return attachments.encoded(short(media_type), data)
        case {"type": "url", "url": str(url)}:
            return attachments.linked(kind, url)
        case {"type": "file", "file_id": str(file_id)}:
            return f"{kind} {short(file_id)}"
        case {"type": "text", "data": str(data)}:
            return f"{kind}, {len(data)} characters"
        case _:
            return kind
