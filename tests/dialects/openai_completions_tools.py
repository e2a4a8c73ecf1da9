"""What the tests of the legacy completions dialect share: writing and assembling chunks."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_completions import OpenAICompletions
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects.tools import WITH_USAGE, assembled

COMPLETIONS = OpenAICompletions()
DONE = b"data: [DONE]\n\n"


def assemble(frames: Iterable[bytes], asked: Asked = WITH_USAGE) -> Assembled:
    return assembled(COMPLETIONS, frames, asked, all_passed=asked.stream_usage)


def chunk(*choices: JsonObject, **top: JsonValue) -> bytes:
    """One chunk as the API sends them, its choices and other top-level fields given."""
    value: JsonObject = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1764500000,
        "model": "gpt-3.5-turbo-instruct:20230824-v2",
        "choices": [*choices],
    }
    return sse.frame(write(value | top))


def piece(text: str, finish: str | None = None, index: int = 0, **other: JsonValue) -> JsonObject:
    """One choice of a chunk."""
    value: JsonObject = {"text": text, "index": index, "logprobs": None, "finish_reason": finish}
    return value | other


USAGE: JsonObject = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
TEXT = [
    chunk(piece("Grü"), usage=None),
    chunk(piece("ße"), usage=None),
    chunk(piece(" 👋"), usage=None),
    chunk(piece("", "stop"), usage=None),
    chunk(usage=USAGE),
    DONE,
]
TEXT_BODY: JsonObject = {
    "id": "cmpl-1",
    "object": "text_completion",
    "created": 1764500000,
    "model": "gpt-3.5-turbo-instruct:20230824-v2",
    "choices": [{"text": "Grüße 👋", "index": 0, "logprobs": None, "finish_reason": "stop"}],
    "usage": USAGE,
}
