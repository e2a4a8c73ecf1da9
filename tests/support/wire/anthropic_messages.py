"""The Messages API as Anthropic answers it: blocks, signatures, threads, token counts."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

from tests.support.upstream import Script, answer, stream
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

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}


def refusal(error: RefusedError) -> Json:
    """The body of an error of any Anthropic endpoint."""
    told: Json = {
        "type": _KINDS.get(error.status, "api_error"),
        "message": error.message,
    }
    if error.code is not None:
        told["details"] = {"error_code": error.code}
    return {"type": "error", "error": told, "request_id": "req_0001"}


def _respond(request: Request, model: Model) -> Script:
    _check(request.body, model)
    turn = model.next()
    body = _message(request.body, turn)
    model.issued |= {body["id"]}
    for block in body["content"]:
        model.issued |= {block.get("id", ""), block.get("signature", "")}
    if not request.body.get("stream"):
        return answer(body)
    return stream(map(_frame, _events(body)))


def _check(body: Json, model: Model) -> None:
    thread = body.get("thread") or {}
    previous = thread.get("previous_message_id")
    if thread.get("type") == "continue" and previous not in model.issued:
        raise RefusedError(404, f"No thread ends in {previous}.", "thread_not_found")
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            match block.get("type"):
                case "tool_result" if block["tool_use_id"] not in model.issued:
                    raise RefusedError(400, "unexpected `tool_use_id` found in `tool_result`")
                case "thinking" if block.get("signature") not in model.issued:
                    raise RefusedError(400, "Invalid `signature` in `thinking` block")
                case _:
                    pass


def _message(asked: Json, turn: Turn) -> Json:
    return {
        "id": f"msg_{turn.number:04}",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": list(_blocks(turn)),
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 41,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 17,
            "service_tier": "standard",
        },
    }


def _blocks(turn: Turn) -> Iterator[Json]:
    calls = iter(turn.calls)
    for index, part in enumerate(turn.parts):
        match part:
            case Think(text):
                signed = base64.b64encode(f"{turn.number}.{index} {text}".encode()).decode()
                yield {"type": "thinking", "thinking": text, "signature": signed}
            case Say(text):
                yield {"type": "text", "text": text, "citations": None}
            case Call(name, arguments):
                id, _ = next(calls)
                yield {
                    "type": "tool_use",
                    "id": f"toolu_{id}",
                    "name": name,
                    "input": dict(arguments),
                }


def _events(body: Json) -> Iterator[Json]:
    usage = body["usage"]
    begun = {**body, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        start, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {name: body[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    told = {name: usage[name] for name in usage if name.endswith("tokens")}
    yield {"type": "message_delta", "delta": ended, "usage": told}
    yield {"type": "message_stop"}


def _opened(block: Json) -> tuple[Json, list[Json]]:
    """A block as it starts, and what then fills it."""
    match block["type"]:
        case "text":
            pieces = halves(block["text"])
            return {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in pieces]
        case "thinking":
            filled = [{"type": "thinking_delta", "thinking": p} for p in halves(block["thinking"])]
            filled.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, filled
        case _:
            pieces = ["", *halves(json.dumps(block["input"]))]
            filled = [{"type": "input_json_delta", "partial_json": p} for p in pieces]
            return {**block, "input": {}}, filled


def _frame(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _count(_request: Request, _model: Model) -> Script:
    return answer({"input_tokens": 41})


_VERSION = ("anthropic-version",)
ROUTES = (
    Route(
        "POST",
        re.compile(r"/v1/messages"),
        _respond,
        refusal,
        needs=("model", "messages", "max_tokens"),
        headers=_VERSION,
    ),
    Route(
        "POST",
        re.compile(r"/v1/messages/count_tokens"),
        _count,
        refusal,
        needs=("model", "messages"),
        headers=_VERSION,
    ),
)
