"""What the tests of the Messages dialect share: bodies and events as the API sends them."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.anthropic_messages import AnthropicMessages
from flowproof.dialects.interface import Assembled
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects.tools import WITH_USAGE, assembled

MESSAGES = AnthropicMessages()
STREAMED = WITH_USAGE
USAGE: JsonObject = {
    "input_tokens": 25,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 7,
    "output_tokens": 15,
    "service_tier": "standard",
}


def body(*content: JsonValue, stop: str = "end_turn", **others: JsonValue) -> JsonObject:
    """A message as the API answers it plainly."""
    value: JsonObject = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [*content],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": USAGE,
    }
    return value | others


def text(said: str, **others: JsonValue) -> JsonObject:
    block: JsonObject = {"type": "text", "text": said}
    return block | others


def tool_use(name: str, arguments: JsonValue, id: str = "toolu_1") -> JsonObject:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id: str, content: JsonValue, **others: JsonValue) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": id, "content": content}
    return block | others


def event(kind: str, **members: JsonValue) -> bytes:
    """One frame as the API sends it."""
    value: JsonObject = {"type": kind}
    return sse.frame(write(value | members), kind)


def start(**others: JsonValue) -> bytes:
    """The first event: nothing said yet, and counts that have only begun."""
    opened = body() | {"stop_reason": None, "usage": USAGE | {"output_tokens": 4}}
    return event("message_start", message=opened | others)


def begin(index: int, block: JsonValue) -> bytes:
    return event("content_block_start", index=index, content_block=block)


def delta(index: int, kind: str, **members: JsonValue) -> bytes:
    value: JsonObject = {"type": f"{kind}_delta"}
    return event("content_block_delta", index=index, delta=value | members)


def end(index: int) -> bytes:
    return event("content_block_stop", index=index)


def close(stop: str = "end_turn", output: int = 15, **usage: JsonValue) -> list[bytes]:
    """The last two events."""
    stopped: JsonObject = {"stop_reason": stop, "stop_sequence": None}
    counts: JsonObject = {"output_tokens": output}
    return [event("message_delta", delta=stopped, usage=counts | usage), event("message_stop")]


PING = event("ping")


def assemble(frames: Iterable[bytes]) -> Assembled:
    return assembled(MESSAGES, frames)


TEXT = [
    start(),
    begin(0, text("")),
    PING,
    delta(0, "text", text="Grüße"),
    delta(0, "text", text=" 👋"),
    end(0),
    *close(),
]
TEXT_BODY = body(text("Grüße 👋"))
