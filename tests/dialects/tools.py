"""What the tests of all dialects share: streams cut anywhere and put together, and served calls."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from flowproof.dialects.interface import Asked, Assembled, Dialect, Framing
from flowproof.dialects.sse import EVENT_STREAM
from flowproof.model.jsonvalue import JsonValue, same, write
from flowproof.model.trajectory import ToolCall

WITH_USAGE = Asked({}, stream=True, stream_usage=True)
WITHOUT_USAGE = Asked({}, stream=True, stream_usage=False)


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def split(chunks: Iterable[bytes], framing: Framing = EVENT_STREAM) -> tuple[list[bytes], bytes]:
    splitter = framing.splitter()
    frames = [frame for chunk in chunks for frame in splitter.feed(chunk)]
    return frames, splitter.rest()


def assembled(
    dialect: Dialect, frames: Iterable[bytes], asked: Asked = WITH_USAGE, *, all_passed: bool = True
) -> Assembled:
    """What frames amount to; the agent gets all of them, unless that is not asked."""
    assembler = dialect.assembler(asked)
    passed = [assembler.feed(frame) for frame in frames]
    assert all(passed) or not all_passed
    return assembler.result()


def survives(
    dialect: Dialect, body: JsonValue, places: Iterable[int], asked: Asked = WITH_USAGE
) -> JsonValue:
    """The body after a way through its stream, cut at those places: it must be the same."""
    data = b"".join(dialect.stream(body, asked))
    frames, rest = split(cut(data, places), dialect.framing(asked))
    assert rest == b""
    told = assembled(dialect, frames, asked)
    assert told.complete and told.lossless and not told.failed
    assert same(told.body, body)
    return told.body


def served(name: str, arguments: JsonValue, id: str | None = None) -> ToolCall:
    """A call that the provider ran itself."""
    return ToolCall(id, name, write(arguments), arguments, served=True)


def untold(name: str, id: str | None = None) -> ToolCall:
    """One of which the provider does not tell the arguments."""
    return ToolCall(id, name, "", None, malformed=True, served=True)
