"""A chat completion body told as stream chunks; the way back is `openai_chat_assembly`."""

from __future__ import annotations

from collections.abc import Iterator

from flowproof.dialects import openai_chunks
from flowproof.dialects.values import list_of, member_of, number_of, only_objects
from flowproof.model.jsonvalue import JsonObject, JsonValue

CHUNK = "chat.completion.chunk"

ARGUMENTS = (("function", "arguments"), ("custom", "input"))
"""The kinds of calls, each with the member that comes in pieces."""


def frames(body: JsonValue, *, usage: bool) -> Iterator[bytes]:
    """The frames that say the same as a plain response body, `[DONE]` included.

    A body that is no chat completion, such as an error, is one frame of its own.
    """
    pieces = [
        _choice_pieces(position, choice, message)
        for position, (choice, message) in enumerate(_choices(body))
    ]
    return openai_chunks.frames(body, pieces, usage=usage, kind=CHUNK)


def _choices(body: JsonValue) -> list[tuple[JsonObject, JsonObject]]:
    """Each choice with its message; empty where the body is no chat completion."""
    found: list[tuple[JsonObject, JsonObject]] = []
    for choice in list_of(member_of(body, "choices")):
        message = member_of(choice, "message")
        if not isinstance(choice, dict) or not isinstance(message, dict):
            return []
        found.append((choice, message))
    return found


def _choice_pieces(position: int, choice: JsonObject, message: JsonObject) -> Iterator[JsonObject]:
    """The pieces of one choice; log probabilities go with the text that they are about."""
    index = number_of(choice.get("index"), position)
    silent: JsonObject = {"logprobs": None} if "logprobs" in choice else {}
    spoken: JsonObject = {"logprobs": choice["logprobs"]} if silent else {}
    for delta in _deltas(message):
        beside = silent
        if delta.get("content") or delta.get("refusal"):
            beside, spoken = spoken, silent
        piece: JsonObject = {"index": index, "delta": delta}
        yield piece | beside | {"finish_reason": None}
    apart = ("index", "message", "delta", "logprobs", "finish_reason")
    others = {key: value for key, value in choice.items() if key not in apart}
    finish: JsonObject = {"finish_reason": choice.get("finish_reason")}
    last: JsonObject = {"index": index, "delta": {}}
    yield last | spoken | finish | others


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    """The role first, then fields without a known form, then text, then tool calls."""
    rest = dict(message)
    opening: JsonObject = {"role": rest.pop("role", "assistant")}
    texts: JsonObject = {}
    for key, empty in (("content", ""), ("refusal", None)):
        text = rest.get(key)
        if key in rest and (text is None or isinstance(text, str)):
            del rest[key]
            opening[key] = None if text is None else empty
            if text is not None and text != empty:
                texts[key] = text
    calls = only_objects(rest.get("tool_calls"))
    if calls:
        del rest["tool_calls"]
    yield opening
    if rest:
        yield rest
    for key, text in texts.items():
        yield {key: text}
    for index, call in enumerate(calls):
        for piece in _call_pieces({"index": index} | call | {"index": index}):
            yield {"tool_calls": [piece]}


def _call_pieces(call: JsonObject) -> Iterator[JsonObject]:
    for kind, key in ARGUMENTS:
        inner = call.get(kind)
        if isinstance(inner, dict) and isinstance(text := inner.get(key), str):
            yield call | {kind: inner | {key: ""}}
            if text:
                yield {"index": call["index"], kind: {key: text}}
            return
    yield call
