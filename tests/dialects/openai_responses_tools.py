"""What the tests of `openai.responses` share: bodies, events, streams put together."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_responses import OpenAIResponses
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, write
from tests.dialects.tools import WITH_USAGE, assembled

RESPONSES = OpenAIResponses()
STREAMING = WITH_USAGE
USAGE: JsonObject = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 2,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 11,
}


def response(*output: JsonValue, **others: JsonValue) -> JsonObject:
    """A response as the API answers without streaming, its items and other members given."""
    value: JsonObject = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1764500000,
        "status": "completed",
        "completed_at": 1764500001,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": "gpt-5-2025-08-07",
        "output": [*output],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "service_tier": "default",
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "usage": USAGE,
    }
    return value | others


def text_part(text: str, **others: JsonValue) -> JsonObject:
    part: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return part | others


def said(*parts: JsonValue, id: str = "msg_1", **others: JsonValue) -> JsonObject:
    """A message of the model's."""
    item: JsonObject = {"id": id, "type": "message", "status": "completed", "role": "assistant"}
    return item | {"content": [*parts]} | others


def call(name: str, arguments: str = "{}", call_id: str = "call_1") -> JsonObject:
    """A function call of the model's."""
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "status": "completed",
        "arguments": arguments,
        "call_id": call_id,
        "name": name,
    }


def result(call_id: str, output: JsonValue, kind: str = "function_call_output") -> JsonObject:
    """What an agent sends for a call."""
    return {"type": kind, "call_id": call_id, "output": output}


def reasoning(*summary: str, **others: JsonValue) -> JsonObject:
    parts: list[JsonValue] = [{"type": "summary_text", "text": text} for text in summary]
    item: JsonObject = {"id": "rs_1", "type": "reasoning", "summary": parts}
    return item | others


def event(kind: str, **members: JsonValue) -> bytes:
    """One frame as the API sends it."""
    value: JsonObject = {"type": kind}
    return sse.frame(write(value | members), kind)


def values(frames: Iterable[bytes]) -> list[JsonObject]:
    """The events that frames carry."""
    found: list[JsonObject] = []
    for frame in frames:
        value = parse(sse.data_of(frame) or "")
        assert isinstance(value, dict)
        found.append(value)
    return found


def assemble(frames: Iterable[bytes], asked: Asked = STREAMING) -> Assembled:
    return assembled(RESPONSES, frames, asked)


AT: JsonObject = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
BODY = response(said(text_part("Grüße 👋")))
BEGUN = BODY | {
    "status": "in_progress",
    "completed_at": None,
    "output": [],
    "service_tier": "auto",
    "usage": None,
}


def piece(text: str, **members: JsonValue) -> bytes:
    told: JsonObject = {**AT, "delta": text, "logprobs": [], "obfuscation": "x" * len(text)}
    return event("response.output_text.delta", **told | members)


OPENING = [
    event("response.created", sequence_number=0, response=BEGUN),
    event("response.in_progress", sequence_number=1, response=BEGUN),
    event(
        "response.output_item.added",
        sequence_number=2,
        output_index=0,
        item=said(status="in_progress"),
    ),
    event("response.content_part.added", sequence_number=3, **AT, part=text_part("")),
]
CLOSING = [
    event("response.output_text.done", **AT, text="Grüße 👋", logprobs=[]),
    event("response.content_part.done", **AT, part=text_part("Grüße 👋")),
    event("response.output_item.done", output_index=0, item=said(text_part("Grüße 👋"))),
]
END = event("response.completed", sequence_number=9, response=BODY)
TEXT = [*OPENING, piece("Grüße"), piece(" 👋", sequence_number=5), *CLOSING, END]
