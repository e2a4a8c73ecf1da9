"""What the tests of the chat dialect share: chunks as the API sends them, and a whole stream."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects.tools import WITH_USAGE, assembled

CHAT = OpenAIChat()
DONE = b"data: [DONE]\n\n"


def assemble(frames: Iterable[bytes], asked: Asked = WITH_USAGE) -> Assembled:
    return assembled(CHAT, frames, asked, all_passed=asked.stream_usage)


def chunk(*choices: JsonObject, **top: JsonValue) -> bytes:
    """One chunk as the API sends them, its choices and other top-level fields given."""
    value: JsonObject = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1764500000,
        "model": "gpt-4o-2024-08-06",
        "choices": [*choices],
    }
    return sse.frame(write(value | top))


def piece(
    delta: JsonObject, finish: str | None = None, index: int = 0, **other: JsonValue
) -> JsonObject:
    """One choice of a chunk."""
    value: JsonObject = {"index": index, "delta": delta}
    return value | other | {"finish_reason": finish}


USAGE: JsonObject = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
TOP: JsonObject = {"service_tier": "default", "system_fingerprint": "fp_1"}


def spoken(text: str) -> bytes:
    said = piece({"content": text}, logprobs=None)
    return chunk(said, **TOP, usage=None, obfuscation="x" * len(text))


OPENING: JsonObject = {"role": "assistant", "content": "", "refusal": None}
TEXT = [
    chunk(piece(OPENING, logprobs=None), **TOP, usage=None, obfuscation="abc"),
    spoken("Grüße"),
    spoken(" 👋"),
    chunk(piece({}, "stop", logprobs=None), **TOP, usage=None, obfuscation="d"),
    chunk(**TOP, usage=USAGE, obfuscation=""),
    DONE,
]
TEXT_BODY: JsonObject = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1764500000,
    "model": "gpt-4o-2024-08-06",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Grüße 👋", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
    **TOP,
}


def azure() -> list[bytes]:
    filters: JsonObject = {"hate": {"filtered": False, "severity": "safe"}}
    first: JsonObject = {
        "id": "",
        "object": "",
        "created": 0,
        "model": "",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": filters}],
        "choices": [],
    }
    return [
        sse.frame(write(first)),
        chunk(piece({"role": "assistant", "content": ""}, content_filter_results={})),
        chunk(piece({"content": "Hi"}, content_filter_results=filters)),
        chunk(piece({}, "stop", content_filter_results={})),
        chunk(usage=USAGE),
        DONE,
    ]
