"""A chat completion body told as stream chunks; the way back is `openai_chat_assembly`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flowproof.dialects import sse
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, write

CHUNK = "chat.completion.chunk"
DONE = sse.frame("[DONE]")
BODY_ORDER = ("id", "object", "created", "model", "choices", "usage")

_ARGUMENTS = (("function", "arguments"), ("custom", "input"))


def ordered(value: JsonObject, order: tuple[str, ...]) -> JsonObject:
    """The same object with the keys that `order` names first."""
    first = {key: value[key] for key in order if key in value}
    return first | {key: item for key, item in value.items() if key not in first}


def number_of(value: JsonValue, otherwise: int) -> int:
    """A JSON integer, else the number given; `true` is no integer here."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


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


def frames(body: JsonValue, *, usage: bool) -> Iterator[bytes]:
    """The frames that say the same as a plain response body, `[DONE]` included.

    A body that is no chat completion, such as an error, is one frame of its own.
    """
    for chunk in _chunks(body, usage):
        yield sse.frame(write(chunk))
    yield DONE


def _chunks(body: JsonValue, usage: bool) -> Iterator[JsonValue]:
    choices = _choices(body)
    if not isinstance(body, dict) or not choices:
        yield body
        return
    apart = ("choices", "usage", "object")
    others = {key: value for key, value in body.items() if key not in apart}
    marked: JsonObject = {"object": CHUNK}
    head = ordered(marked | others, BODY_ORDER)
    # The API gives every chunk a null usage where the last one tells it.
    tail: JsonObject = {"usage": None} if usage and "usage" in body else {}
    for position, (choice, message) in enumerate(choices):
        for piece in _choice_pieces(position, choice, message):
            yield head | {"choices": [piece]} | tail
    if tail and body["usage"] is not None:
        yield head | {"choices": [], "usage": body["usage"]}


def _choices(body: JsonValue) -> list[tuple[JsonObject, JsonObject]]:
    """Each choice with its message; empty where the body is no chat completion."""
    choices = body.get("choices") if isinstance(body, dict) else None
    found: list[tuple[JsonObject, JsonObject]] = []
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
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
    calls = _calls(rest)
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


def _calls(message: JsonObject) -> list[JsonObject]:
    """The tool calls of a message; empty where they are not a list of objects."""
    calls = message.get("tool_calls")
    found = calls if isinstance(calls, list) else []
    objects = [call for call in found if isinstance(call, dict)]
    return objects if len(objects) == len(found) else []


def _call_pieces(call: JsonObject) -> Iterator[JsonObject]:
    for kind, key in _ARGUMENTS:
        inner = call.get(kind)
        if isinstance(inner, dict) and isinstance(text := inner.get(key), str):
            yield call | {kind: inner | {key: ""}}
            if text:
                yield {"index": call["index"], kind: {key: text}}
            return
    yield call
