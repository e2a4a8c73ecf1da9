"""What the model endpoint of these tests answers; `tests.support.upstream` serves it.

It is closed before anything is replayed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.upstream import (
    FakeUpstream,
    Pause,
    Received,
    Script,
    Silence,
    answer,
    stream,
)

USAGE = {"prompt_tokens": 31, "completion_tokens": 5, "total_tokens": 36}


@dataclass(frozen=True, slots=True)
class Answer:
    """A body, with the status and headers it is sent with after some seconds."""

    body: Mapping[str, Any]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


NEVER = Answer({}, status=0)
"""The request is read, and nothing is ever said."""


def message(text: str | None, **more: Any) -> dict[str, Any]:
    """What the assistant says."""
    return {"role": "assistant", "content": text, "refusal": None, **more}


def call(name: str, arguments: str, id: str = "call_1") -> dict[str, Any]:
    """A tool call, its arguments as they are written on the wire."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(*messages: Mapping[str, Any], finish: str = "stop", id: str = "1") -> Answer:
    """A chat completion with a choice per message."""
    choices = [
        {"index": index, "message": said, "logprobs": None, "finish_reason": finish}
        for index, said in enumerate(messages)
    ]
    return Answer(
        {
            "id": f"chatcmpl-{id}",
            "object": "chat.completion",
            "created": 1764500000,
            "model": "small-1-2026-01-01",
            "choices": choices,
            "usage": USAGE,
            "system_fingerprint": "fp_7",
        }
    )


def calling(*calls: Mapping[str, Any]) -> Answer:
    """The model wants these tools called."""
    return completion(message(None, tool_calls=list(calls)), finish="tool_calls")


def saying(text: str) -> Answer:
    """The model replies."""
    return completion(message(text))


def failing(status: int, **headers: str) -> Answer:
    """The endpoint refuses or breaks."""
    error = {"message": f"status {status}", "type": "server_error", "param": None, "code": None}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": error}, status, names)


def model(*answers: Answer) -> FakeUpstream:
    """An endpoint that gives one answer after another, and the last one from then on."""
    left = list(answers)
    lock = threading.Lock()

    def respond(request: Received) -> Script:
        with lock:
            given = left.pop(0) if len(left) > 1 else left[0]
        if given is NEVER:
            return [Silence()]
        asked = request.json()
        if given.status == 200 and asked.get("stream"):
            usage = bool((asked.get("stream_options") or {}).get("include_usage"))
            sent = stream(frames(given.body, usage=usage))
        else:
            sent = answer(given.body, given.status, list(given.headers.items()))
        return [Pause(given.seconds), *sent]

    return FakeUpstream(respond)


def frames(body: Mapping[str, Any], *, usage: bool) -> Iterator[bytes]:
    """An answer as an endpoint streams it, with every choice, refusals, and texts in pieces."""
    ends = [_chunk(body, usage=body["usage"])] if usage else []
    for piece in [*_deltas(body), *_finishes(body), *ends]:
        yield b"data: " + json.dumps(piece).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _chunk(body: Mapping[str, Any], *choices: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    kept = {key: body[key] for key in ("id", "created", "model", "system_fingerprint")}
    return kept | {"object": "chat.completion.chunk", "choices": list(choices), **more}


def _deltas(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for choice in body["choices"]:
        said, index = choice["message"], choice["index"]
        first = {"role": "assistant", "content": None if said["content"] is None else ""}
        for delta in (first, *_pieces(said)):
            yield _chunk(body, {"index": index, "delta": delta, "finish_reason": None})


def _pieces(said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("content", "refusal"):
        if text := said.get(key):
            yield {key: text[:3]}
            yield {key: text[3:]}
    for index, made in enumerate(said.get("tool_calls", ())):
        function = made["function"]
        start = {**made, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [start]}
        for piece in (function["arguments"][:3], function["arguments"][3:]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _finishes(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for choice in body["choices"]:
        end = {"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}
        yield _chunk(body, end)
