"""What clients ask beside a conversation: embeddings and lists of models."""

from __future__ import annotations

import base64
import re
import struct

from tests.support.upstream import Script, answer, plain
from tests.support.wire import google_generate
from tests.support.wire.openai_chat import refusal
from tests.support.wire.script import Json, Model, RefusedError, Request, Route


def _embeddings(request: Request, _model: Model) -> Script:
    given = request.body["input"]
    texts = given if isinstance(given, list) else [given]
    if not texts:
        raise RefusedError(400, "'$.input' is invalid.")
    packed = request.body.get("encoding_format", "float") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _embedding(str(text), packed)}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    return answer({"object": "list", "data": data, "model": request.body["model"], "usage": usage})


def _embedding(text: str, packed: bool) -> Json:
    """Three numbers that depend on a text, as a list or as the bytes of 32-bit floats."""
    numbers = [len(text) / 64, sum(text.encode()) % 100 / 128, -0.5]
    if not packed:
        return numbers
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def _models(request: Request, _model: Model) -> Script:
    if "anthropic-version" in request.headers:
        listed = {"type": "model", "id": "small-1", "display_name": "Small", "created_at": "2026"}
        ids = {"first_id": "small-1", "last_id": "small-1"}
        return answer({"data": [listed], "has_more": False, **ids})
    one = {"id": "small-1", "object": "model", "created": 1764500000, "owned_by": "system"}
    return answer({"object": "list", "data": [one]})


def _google_models(_request: Request, _model: Model) -> Script:
    return answer({"models": [{"name": "models/small-1", "displayName": "Small"}]})


def _nothing(_request: Request, _model: Model) -> Script:
    return plain(b"")


ROUTES = (
    Route("POST", re.compile(r"/v1/embeddings"), _embeddings, refusal, needs=("model", "input")),
    Route("GET", re.compile(r"/v1/models"), _models, refusal),
    Route("GET", re.compile(r"/v1beta/models"), _google_models, google_generate.refusal),
    Route("HEAD", re.compile(r"/api/hello"), _nothing, refusal, keyed=False),
)
