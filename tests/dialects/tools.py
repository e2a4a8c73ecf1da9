"""What the tests of dialects share: cutting bytes, assembling streams, writing chunks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.dialects.sse import FrameSplitter
from flowproof.model.jsonvalue import JsonObject, JsonValue, write

CHAT = OpenAIChat()
WITH_USAGE = Asked({}, stream=True, stream_usage=True)
WITHOUT_USAGE = Asked({}, stream=True, stream_usage=False)
DONE = b"data: [DONE]\n\n"


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def split(chunks: Iterable[bytes]) -> tuple[list[bytes], bytes]:
    splitter = FrameSplitter()
    frames = [frame for chunk in chunks for frame in splitter.feed(chunk)]
    return frames, splitter.rest()


def assemble(frames: Iterable[bytes], asked: Asked = WITH_USAGE) -> Assembled:
    assembler = CHAT.assembler(asked)
    for frame in frames:
        assembler.feed(frame)
    return assembler.result()


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
