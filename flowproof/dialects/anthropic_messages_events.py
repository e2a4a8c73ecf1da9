"""A message body told as stream events; the way back is `anthropic_messages_assembly`.

Clients skip an event without an `event:` line, so that each frame has one.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects import sse
from flowproof.model.jsonvalue import JsonObject, JsonValue, write

TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The deltas that come in pieces of one text, and where the text stands in them."""

_STOPS = ("stop_reason", "stop_sequence", "stop_details", "container")
_TOLD_AT_THE_END = ("context_management",)
_COUNTED_AT_THE_END = (
    "output_tokens_details",
    "server_tool_use",
    "iterations",
    "fallback_credit",
)
_COUNTED_AGAIN = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


def frames(body: JsonValue) -> Iterator[bytes]:
    """The frames that say the same as a plain response body.

    A body that is no message, such as an error, is one frame of its own.
    """
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(content, list):
        failed = isinstance(body, dict) and body.get("type") == "error"
        yield sse.frame(write(body), "error" if failed else "message")
        return
    for event in _events(body, content):
        yield sse.frame(write(event), str(event["type"]))


def _events(body: JsonObject, content: list[JsonValue]) -> Iterator[JsonObject]:
    yield {"type": "message_start", "message": _opening(body)}
    for index, block in enumerate(content):
        start, deltas = _told(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield _closing(body)
    yield {"type": "message_stop"}


def _opening(body: JsonObject) -> JsonObject:
    """The message before anything was said in it; usage as known by then."""
    message: JsonObject = body | {"content": []}
    for key in (*_STOPS, *_TOLD_AT_THE_END):
        if key in message:
            message[key] = None
    usage = body.get("usage")
    if isinstance(usage, dict):
        known: JsonObject = {
            key: count
            for key, count in usage.items()
            if key not in _COUNTED_AT_THE_END or count is None
        }
        if "output_tokens" in known:
            # A count that has only begun, as the API tells it here.
            known["output_tokens"] = 1
        message["usage"] = known
    return message


def _closing(body: JsonObject) -> JsonObject:
    """What is known only at the end, and the final counts."""
    delta: JsonObject = {key: body[key] for key in _STOPS[:2] if key in body}
    delta |= {key: body[key] for key in _STOPS[2:] if body.get(key) is not None}
    event: JsonObject = {"type": "message_delta", "delta": delta}
    usage = body.get("usage")
    if isinstance(usage, dict):
        counted = (*_COUNTED_AGAIN, *_COUNTED_AT_THE_END)
        event["usage"] = {key: usage[key] for key in counted if usage.get(key) is not None}
    return event | {key: body[key] for key in _TOLD_AT_THE_END if body.get(key) is not None}


def _told(block: JsonValue) -> tuple[JsonValue, list[JsonObject]]:
    """How a block begins, and the deltas that complete it; most blocks begin whole."""
    if not isinstance(block, dict):
        return block, []
    match block:
        case {"type": "text", "text": str(text)}:
            return _text(block, text)
        case {"type": "thinking", "thinking": str(thinking)}:
            return _thinking(block, thinking)
        case {"type": "compaction", "content": str()}:
            spoken = {key: block[key] for key in ("content", "encrypted_content") if key in block}
            empty: JsonObject = dict.fromkeys(spoken)
            summary: JsonObject = {"type": "compaction_delta"}
            return block | empty, [summary | spoken]
        case {"type": str(kind), "input": value} if kind.endswith("tool_use"):
            if not isinstance(value, dict | str):
                return block, []
            # A string is the text of an input that was no JSON object when it streamed.
            text = value if isinstance(value, str) else _spaced(value)
            delta: JsonObject = {"type": "input_json_delta", "partial_json": text}
            begun: JsonObject = {"input": {}}
            return block | begun, [delta]
        case _:
            return block, []


def _text(block: JsonObject, text: str) -> tuple[JsonValue, list[JsonObject]]:
    start: JsonObject = block | {"text": ""}
    deltas: list[JsonObject] = [{"type": "text_delta", "text": text}] if text else []
    citations = block.get("citations")
    if isinstance(citations, list):
        start["citations"] = []
        deltas += [{"type": "citations_delta", "citation": citation} for citation in citations]
    return start, deltas


def _thinking(block: JsonObject, thinking: str) -> tuple[JsonValue, list[JsonObject]]:
    start: JsonObject = block | {"thinking": ""}
    deltas: list[JsonObject] = []
    if thinking:
        deltas.append({"type": "thinking_delta", "thinking": thinking})
    signature = block.get("signature")
    if isinstance(signature, str) and signature:
        start["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": signature})
    return start, deltas


def _spaced(value: JsonValue) -> str:
    """JSON text with a blank after each comma and colon, as the API writes inputs in a stream."""
    match value:
        case dict():
            members = (f"{write(key)}: {_spaced(item)}" for key, item in value.items())
            return "{" + ", ".join(members) + "}"
        case list():
            return "[" + ", ".join(map(_spaced, value)) + "]"
        case _:
            return write(value)
