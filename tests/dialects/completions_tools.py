"""What the tests of the legacy completions dialect share: writing and assembling chunks."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_completions import OpenAICompletions
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects.tools import WITH_USAGE

COMPLETIONS = OpenAICompletions()


def assemble(frames: Iterable[bytes], asked: Asked = WITH_USAGE) -> Assembled:
    assembler = COMPLETIONS.assembler(asked)
    for frame in frames:
        assembler.feed(frame)
    return assembler.result()


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
