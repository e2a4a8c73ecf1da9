"""Chat completions, and the completions before them, as OpenAI answers them."""

from __future__ import annotations

import re

from tests.support.upstream import Script, answer, completion, frame, frames, stream
from tests.support.upstream import call as tool_call
from tests.support.wire.script import Json, Model, RefusedError, Request, Route, halves


def refusal(error: RefusedError) -> Json:
    """The body of an error of any OpenAI endpoint."""
    return {
        "error": {
            "message": error.message,
            "type": "invalid_request_error",
            "param": None,
            "code": error.code,
        }
    }


def _chat(request: Request, model: Model) -> Script:
    _known_calls(request.body["messages"], model)
    turn = model.next()
    made = [tool_call(call.name, call.arguments, f"call_{id}") for id, call in turn.calls]
    model.issued |= {one["id"] for one in made}
    extra = {"tool_calls": made} if made else {}
    body = completion(turn.text or None, refusal=None, annotations=[], **extra)
    body |= {"id": f"chatcmpl-{turn.number}", "model": request.body["model"]}
    if not request.body.get("stream"):
        return answer(body)
    usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
    return stream(frames(body, usage=usage))


def _known_calls(messages: Json, model: Model) -> None:
    """Refuse results of calls that nobody made.

    :raises RefusedError: as the endpoint does.
    """
    if not isinstance(messages, list) or not messages:
        raise RefusedError(400, "Invalid 'messages': expected a non-empty array.")
    for message in messages:
        if message["role"] == "tool" and message.get("tool_call_id") not in model.issued:
            raise RefusedError(400, "messages with role 'tool' must answer a tool call")


def _completion(request: Request, model: Model) -> Script:
    turn = model.next()
    shared = {
        "id": f"cmpl-{turn.number}",
        "object": "text_completion",
        "created": 1764500000,
        "model": request.body["model"],
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9}

    def choice(text: str, finish: str | None) -> Json:
        return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}

    if not request.body.get("stream"):
        return answer({**shared, "choices": [choice(turn.text, "stop")], "usage": usage})
    choices = [*(choice(piece, None) for piece in halves(turn.text)), choice("", "stop")]
    told = [frame({**shared, "choices": [one]}) for one in choices]
    if (request.body.get("stream_options") or {}).get("include_usage"):
        told.append(frame({**shared, "choices": [], "usage": usage}))
    return stream([*told, b"data: [DONE]\n\n"])


ROUTES = (
    Route("POST", re.compile(r"/v1/chat/completions"), _chat, refusal, needs=("model", "messages")),
    Route("POST", re.compile(r"/v1/completions"), _completion, refusal, needs=("model", "prompt")),
)
