"""generateContent, streamGenerateContent and countTokens as Google answers them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator

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

_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}
_USAGE = {
    "promptTokenCount": 23,
    "candidatesTokenCount": 6,
    "totalTokenCount": 29,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 23}],
}


def refusal(error: RefusedError) -> Json:
    """The body of an error of any Google endpoint."""
    status = _STATUS.get(error.status, "INTERNAL")
    return {"error": {"code": error.status, "message": error.message, "status": status}}


def _generate(request: Request, model: Model) -> Script:
    _check(request.body, model)
    turn = model.next()
    return answer(_response(request, turn, _parts(turn, model), "STOP"))


def _stream(request: Request, model: Model) -> Script:
    _check(request.body, model)
    turn = model.next()
    pieces = [piece for part in _parts(turn, model) for piece in _pieces(part)]
    chunks = [_response(request, turn, [piece], None) for piece in pieces]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    if "alt=sse" not in request.query.split("&"):
        return answer(chunks)
    return stream(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def _check(body: Json, model: Model) -> None:
    for content in body["contents"]:
        for part in content["parts"]:
            # The spelling of a client is accepted, as the endpoint takes both.
            signed = part.get("thoughtSignature", part.get("thought_signature"))
            if signed is not None and _canonical(signed) not in model.issued:
                raise RefusedError(400, "Thought signature is not valid.")


def _canonical(signature: str) -> str:
    """Base64 in one alphabet: a client may write the URL-safe one."""
    return signature.replace("-", "+").replace("_", "/").rstrip("=")


def _parts(turn: Turn, model: Model) -> list[Json]:
    calls = iter(turn.calls)
    parts: list[Json] = []
    for part in turn.parts:
        match part:
            case Think(text):
                parts.append({"text": text, "thought": True})
            case Say(text):
                parts.append({"text": text})
            case Call(name, arguments):
                id, _ = next(calls)
                signed = base64.b64encode(f"call {id} of {name}?>".encode()).decode()
                model.issued |= {_canonical(signed)}
                call = {"name": name, "args": dict(arguments), "id": f"fc-{id}"}
                parts.append({"functionCall": call, "thoughtSignature": signed})
    return parts


def _pieces(part: Json) -> Iterator[Json]:
    if "text" not in part:
        yield part
        return
    for piece in halves(part["text"]):
        yield {**part, "text": piece}


def _response(request: Request, turn: Turn, parts: list[Json], finish: str | None) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": _USAGE,
        "modelVersion": request.path.rpartition("/")[2].partition(":")[0],
        "responseId": f"response{turn.number:04}",
    }


def _count(_request: Request, _model: Model) -> Script:
    return answer({"totalTokens": 23, "promptTokensDetails": _USAGE["promptTokensDetails"]})


def _route(operation: str, handle: Callable[[Request, Model], Script]) -> Route:
    path = re.compile(rf"/v1(?:beta)?/models/[^/:]+:{operation}")
    return Route("POST", path, handle, refusal, needs=("contents",))


ROUTES = (
    _route("generateContent", _generate),
    _route("streamGenerateContent", _stream),
    _route("countTokens", _count),
)
