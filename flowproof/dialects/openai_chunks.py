"""A body with choices told as chunks, as chat and legacy completions stream it.

`openai_chunk_assembly` is the way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flowproof.dialects import sse
from flowproof.dialects.values import ordered
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, write

DONE = sse.frame("[DONE]")
BODY_ORDER = ("id", "object", "created", "model", "choices", "usage")


def is_usage_chunk(chunk: JsonValue) -> bool:
    """Whether a chunk exists only to tell the usage, so that only who asked for it gets it."""
    return isinstance(chunk, dict) and chunk.get("choices") == [] and chunk.get("usage") is not None


def without_usage(frames: Iterable[bytes]) -> Iterator[bytes]:
    """The frames without those that only tell the usage."""
    for frame in frames:
        data = sse.data_of(frame)
        try:
            dropped = data is not None and is_usage_chunk(parse(data))
        except JsonError:
            dropped = False
        if not dropped:
            yield frame


def frames(
    body: JsonValue,
    choices: Sequence[Iterable[JsonObject]],
    *,
    usage: bool,
    kind: str | None = None,
) -> Iterator[bytes]:
    """The frames that say the same as a plain response body, `[DONE]` included.

    `choices` are the pieces of each of its choices; `kind` is what a chunk calls itself, None if
    that is what the body does. A body without choices, such as an error, is one frame of its own.
    """
    for chunk in _chunks(body, choices, usage, kind):
        yield sse.frame(write(chunk))
    yield DONE


def _chunks(
    body: JsonValue, choices: Sequence[Iterable[JsonObject]], usage: bool, kind: str | None
) -> Iterator[JsonValue]:
    if not isinstance(body, dict) or not choices:
        yield body
        return
    others = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    named: JsonObject = {} if kind is None else {"object": kind}
    head = ordered(others | named, BODY_ORDER)
    # The API gives every chunk a null usage where the last one tells it.
    tail: JsonObject = {"usage": None} if usage and "usage" in body else {}
    for pieces in choices:
        for piece in pieces:
            yield head | {"choices": [piece]} | tail
    if tail and body["usage"] is not None:
        yield head | {"choices": [], "usage": body["usage"]}
