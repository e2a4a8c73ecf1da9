"""Long streams of small pieces take time and memory that grow with their length."""

from __future__ import annotations

import tracemalloc
from time import perf_counter

import pytest

from flowproof.dialects import sse
from flowproof.dialects.google_generate_partial import PartialCall
from flowproof.dialects.merging import MergedObject, Rule
from flowproof.dialects.registry import by_name
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects import google_generate_tools as gemini
from tests.dialects.openai_chat_tools import CHAT, chunk, piece
from tests.dialects.tools import WITH_USAGE

_MANY = 200_000
_PIECES = 20_000
_SECONDS = 5.0


def test_a_name_in_many_pieces_joins_quickly() -> None:
    began = perf_counter()
    merged = MergedObject(lambda _key: Rule.ONCE)
    for number in range(_MANY):
        merged.add({"name": "ab"[number % 2]})
    assert merged.value() == {"name": "ab" * (_MANY // 2)}
    assert perf_counter() - began < _SECONDS


def test_a_name_beside_each_piece_of_a_text_is_compared_quickly() -> None:
    began = perf_counter()
    opening: JsonObject = {"index": 0, "function": {"name": "f", "arguments": '{"a": "'}}
    more: JsonObject = {"index": 0, "function": {"name": "f", "arguments": "{}"}}
    assembler = CHAT.assembler(WITH_USAGE)
    for calls in ([opening], *([more] for _ in range(_PIECES))):
        assembler.feed(chunk(piece({"tool_calls": [*calls]})))
    (message,) = CHAT.answer(assembler.result().body).messages
    (call,) = message.tool_calls
    assert call.text == '{"a": "' + "{}" * _PIECES
    assert perf_counter() - began < _SECONDS


def test_a_partial_call_with_many_members_joins_quickly() -> None:
    began = perf_counter()
    call = PartialCall({})
    for number in range(_MANY // 2):
        call.add({f"key{number}": number}, {"willContinue": True})
    assert len(call.part) == _MANY // 2
    assert perf_counter() - began < _SECONDS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("anthropic.messages", {}, id="anthropic"),
        pytest.param("anthropic.messages", {"type": "odd"}, id="anthropic, unknown"),
        pytest.param("openai.responses", {}, id="responses"),
        pytest.param("openai.chat", {}, id="chat"),
        pytest.param("google.generate", {}, id="google"),
    ],
)
def test_tiny_events_take_little_memory(name: str, value: JsonValue) -> None:
    kind = value.get("type") if isinstance(value, dict) else None
    frame = sse.frame(write(value), kind if isinstance(kind, str) else None)
    asked = gemini.EVENTS if name == "google.generate" else WITH_USAGE
    assembler = by_name(name).assembler(asked)
    tracemalloc.start()
    try:
        for _ in range(_PIECES):
            assembler.feed(frame)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4 * _PIECES * len(frame)
