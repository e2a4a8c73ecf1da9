"""Streams that say what a server might say by mistake: no call that a client would make is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects import registry
from flowproof.dialects.interface import Asked, Dialect
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse, write
from tests.dialects import anthropic_messages_tools as anthropic
from tests.dialects import google_generate_tools as gemini
from tests.dialects import ollama_tools as ollama
from tests.dialects import openai_responses_tools as responses
from tests.dialects.sdk import CLIENTS, served_stream
from tests.dialects.tools import WITH_USAGE, assembled

_TOOLS: list[JsonValue] = [{"type": "function", "function": {"name": one}} for one in ("f", "g")]
_CHAT_CALLS: list[JsonValue] = [
    {"id": f"c{name}", "type": "function", "function": {"name": name, "arguments": '{"a": 1}'}}
    for name in ("f", "g")
]
_OLLAMA_CALLS: list[JsonValue] = [
    {"function": {"name": name, "arguments": {"a": 1}}} for name in ("f", "g")
]


def _chat(events: Any) -> Iterator[object]:
    for event in events:
        for choice in event.choices or ():
            for call in choice.delta.tool_calls or ():
                yield call.function.name


def _responses(events: Any) -> Iterator[object]:
    for event in events:
        if event.type == "response.output_item.done" and event.item.type == "function_call":
            yield event.item.name
        elif event.type == "response.completed":
            yield from (one.name for one in event.response.output if one.type == "function_call")


def _anthropic(events: Any) -> Iterator[object]:
    for event in events:
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            yield event.content_block.name


def _gemini(chunks: Any) -> Iterator[object]:
    for chunk in chunks:
        for candidate in chunk.candidates or ():
            for part in (candidate.content and candidate.content.parts) or ():
                if part.function_call:
                    yield part.function_call.name


def _ollama(chunks: Any) -> Iterator[object]:
    for chunk in chunks:
        for call in chunk.message.tool_calls or ():
            yield call.function.name


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer with two calls, and the names that its client would call, of what it read."""

    body: JsonObject
    acts: Callable[[Any], Iterator[object]]
    asked: Asked = WITH_USAGE


SPOKEN: dict[str, Spoken] = {
    "openai.chat": Spoken(
        {
            "id": "x",
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Hi", "tool_calls": _CHAT_CALLS},
                    "finish_reason": "tool_calls",
                }
            ],
        },
        _chat,
        Asked({"tools": _TOOLS}, stream=True, stream_usage=True),
    ),
    "openai.responses": Spoken(
        responses.response(
            responses.said(responses.text_part("Hi")),
            responses.call("f", call_id="cf"),
            responses.call("g", call_id="cg"),
        ),
        _responses,
    ),
    "anthropic.messages": Spoken(
        anthropic.body(
            anthropic.text("Hi"),
            anthropic.tool_use("f", {"a": 1}, "cf"),
            anthropic.tool_use("g", {"a": 1}, "cg"),
            stop="tool_use",
        ),
        _anthropic,
    ),
    "google.generate": Spoken(
        gemini.body(
            gemini.candidate(
                gemini.text("Hi"), gemini.call("f", a=1), gemini.call("g", a=1), finish="STOP"
            )
        ),
        _gemini,
        gemini.EVENTS,
    ),
    "ollama.chat": Spoken(
        {
            **ollama.head(9),
            **ollama.END,
            "message": {"role": "assistant", "content": "Hi", "tool_calls": _OLLAMA_CALLS},
        },
        _ollama,
    ),
}
_WORDS: list[JsonValue] = [None, "", "f", "g", "cf", 0, 1, {}, [], "stop", "tool_use", "message"]
_KEYS = ["message", "delta", "name", "id", "index", "finish_reason", "tool_calls", "output", "type"]


def _containers(value: JsonValue) -> Iterator[JsonObject | list[JsonValue]]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


@st.composite
def _changed(draw: st.DrawFn, value: JsonValue) -> JsonValue:
    """The value with one place in it left out, taken from elsewhere, or said twice."""
    whole = deepcopy(value)
    places = [one for one in _containers(whole) if one]
    if not places:
        return whole
    inner = draw(st.sampled_from(places))
    if isinstance(inner, list):
        at = draw(st.integers(0, len(inner) - 1))
        inner[at:] = draw(
            st.sampled_from([inner[at + 1 :], [inner[at], *inner[at:]], inner[at:][::-1]])
        )
        return whole
    key = draw(st.sampled_from(sorted(inner)))
    match draw(st.sampled_from(["out", "other", "renamed"])):
        case "out":
            del inner[key]
        case "renamed":
            inner[draw(st.sampled_from(_KEYS))] = inner.pop(key)
        case _:
            inner[key] = draw(st.sampled_from([*_WORDS, *map(deepcopy, places)]))
    return whole


def _inside(frame: bytes) -> JsonValue:
    return parse(frame[frame.index(b"{") : frame.rindex(b"}") + 1])


def _with(frame: bytes, value: JsonValue) -> bytes:
    return frame[: frame.index(b"{")] + write(value).encode() + frame[frame.rindex(b"}") + 1 :]


@st.composite
def mutated(draw: st.DrawFn, frames: Sequence[bytes]) -> list[bytes]:
    """The frames, at up to four places left out, said twice, exchanged or said otherwise."""
    told = list(frames)
    for _ in range(draw(st.integers(1, 4))):
        if not told:
            break
        at = draw(st.integers(0, len(told) - 1))
        frame = told[at]
        match draw(st.sampled_from(["out", "twice", "exchanged", "changed", "changed"])):
            case "out":
                del told[at]
            case "twice":
                told.insert(at, frame)
            case "exchanged":
                other = draw(st.integers(0, len(told) - 1))
                told[at], told[other] = told[other], frame
            case _ if b"{" in frame:
                told[at] = _with(frame, draw(_changed(_inside(frame))))
            case _:
                pass
    return told


def acted(name: str, frames: Sequence[bytes]) -> set[str]:
    """What an agent calls that acts on all that the official client tells it, until that fails."""
    spoken, client, found = SPOKEN[name], CLIENTS[name], set[str]()
    dialect = registry.by_name(name)
    try:
        events = client.call(served_stream(dialect, frames, spoken.asked, client.http), True)
        for one in spoken.acts(events):
            found.update([one] if isinstance(one, str) and one else ())
    except Exception:
        # The client, or who reads what it made, cannot: whatever it does, it does not go on.
        pass
    return found


def called(dialect: Dialect, body: JsonValue) -> set[str] | None:
    """The names of all calls in an answer; None where it cannot be read."""
    messages = dialect.answer(body).messages
    return {call.name for one in messages for call in one.tool_calls} if messages else None


@pytest.mark.parametrize("name", SPOKEN)
@given(data=st.data())
def test_no_call_is_lost(name: str, data: st.DataObject) -> None:
    dialect, spoken = registry.by_name(name), SPOKEN[name]
    frames = list(dialect.stream(spoken.body, spoken.asked))
    frames = data.draw(mutated(frames))
    assembler = dialect.assembler(spoken.asked)
    for frame in frames:
        assembler.feed(frame)
    told = assembler.result()
    if told.lossless:
        again = assembled(dialect, dialect.stream(told.body, spoken.asked), spoken.asked)
        assert dialect.answer(again.body) == dialect.answer(told.body)
    if not told.complete or told.failed or assembler.unread is not None:
        return
    seen = called(dialect, told.body)
    assert seen is None or acted(name, frames) <= seen


@pytest.mark.parametrize("name", SPOKEN)
def test_what_is_told_well_is_acted_on_and_seen(name: str) -> None:
    dialect, spoken = registry.by_name(name), SPOKEN[name]
    frames = list(dialect.stream(spoken.body, spoken.asked))
    told = assembled(dialect, frames, spoken.asked)
    assert told.lossless
    assert acted(name, frames) == called(dialect, told.body) == {"f", "g"}
