"""The Responses API as OpenAI answers it: items, and a stream of events about them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.support.upstream import Script, answer, stream
from tests.support.wire.openai_chat import refusal
from tests.support.wire.script import (
    Call,
    Json,
    Model,
    RefusedError,
    Request,
    Route,
    Say,
    Think,
    Turn,
    halves,
)

_USAGE = {
    "input_tokens": 36,
    "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
    "output_tokens": 12,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 48,
}


def _respond(request: Request, model: Model) -> Script:
    _check(request.body, model)
    turn = model.next()
    body = _response(request.body, turn)
    model.issued |= {body["id"]}
    for item in body["output"]:
        model.issued |= {item["id"], item.get("call_id", item["id"])}
    if not request.body.get("stream"):
        return answer(body)
    return stream(map(_frame, _numbered(_events(body))))


def _check(body: Json, model: Model) -> None:
    previous = body.get("previous_response_id")
    if previous is not None and previous not in model.issued:
        message = f"Previous response with id '{previous}' not found."
        raise RefusedError(400, message, "previous_response_not_found")
    items = body["input"] if isinstance(body["input"], list) else []
    for item in items:
        if item.get("type") == "function_call_output" and item["call_id"] not in model.issued:
            raise RefusedError(400, "No tool call found for function call output.")


def _response(asked: Json, turn: Turn) -> Json:
    return {
        "id": f"resp_{turn.number:04}",
        "object": "response",
        "created_at": 1764500000,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": asked.get("instructions"),
        "max_output_tokens": asked.get("max_output_tokens"),
        "max_tool_calls": None,
        "model": asked["model"],
        "output": list(_items(turn)),
        "parallel_tool_calls": asked.get("parallel_tool_calls", True),
        "previous_response_id": asked.get("previous_response_id"),
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": asked.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"} | asked.get("text", {}),
        "tool_choice": asked.get("tool_choice", "auto"),
        "tools": asked.get("tools", []),
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _USAGE,
        "user": None,
        "metadata": asked.get("metadata") or {},
    }


def _items(turn: Turn) -> Iterator[Json]:
    calls = iter(turn.calls)
    for index, part in enumerate(turn.parts):
        end = f"{turn.number}{index:03}"
        match part:
            case Think(text):
                summary = [{"type": "summary_text", "text": text}]
                yield {"id": f"rs_{end}", "type": "reasoning", "summary": summary}
            case Say(text):
                content = {
                    "type": "output_text",
                    "annotations": [],
                    "logprobs": [],
                    "text": text,
                }
                yield {
                    "id": f"msg_{end}",
                    "type": "message",
                    "status": "completed",
                    "content": [content],
                    "role": "assistant",
                }
            case Call(name):
                id, call = next(calls)
                yield {
                    "id": f"fc_{end}",
                    "type": "function_call",
                    "status": "completed",
                    "arguments": call.written(),
                    "call_id": f"call_{id}",
                    "name": name,
                }


def _events(body: Json) -> Iterator[Json]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(body["output"]):
        at = {"item_id": item["id"], "output_index": index}
        yield _item_event("added", index, _empty(item))
        match item["type"]:
            case "message":
                yield from _text_events(item["content"][0], {**at, "content_index": 0})
            case "function_call":
                yield from _argument_events(item, at)
            case _:
                yield from _summary_events(item["summary"][0], {**at, "summary_index": 0})
        yield _item_event("done", index, item)
    yield {"type": "response.completed", "response": body}


def _item_event(what: str, index: int, item: Json) -> Json:
    return {"type": f"response.output_item.{what}", "output_index": index, "item": item}


def _empty(item: Json) -> Json:
    """An item as it is announced, before anything of it is known."""
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "function_call":
            return {**item, "status": "in_progress", "arguments": ""}
        case _:
            return {**item, "summary": []}


def _text_events(part: Json, at: Json) -> Iterator[Json]:
    yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    for piece in halves(part["text"]):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": part}


def _argument_events(item: Json, at: Json) -> Iterator[Json]:
    for piece in halves(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
    ended = {"arguments": item["arguments"], "name": item["name"]}
    yield {"type": "response.function_call_arguments.done", **at, **ended}


def _summary_events(part: Json, at: Json) -> Iterator[Json]:
    yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
    for piece in halves(part["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
    yield {"type": "response.reasoning_summary_part.done", **at, "part": part}


def _numbered(events: Iterator[Json]) -> Iterator[Json]:
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _frame(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


ROUTES = (Route("POST", re.compile(r"/v1/responses"), _respond, refusal, needs=("model", "input")),)
