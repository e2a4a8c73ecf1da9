"""The text of a trace reads well and is the same value."""

from __future__ import annotations

from hypothesis import given

from flowproof.model.jsonvalue import JsonValue, parse, write
from flowproof.trace.layout import pretty
from tests.trace.samples import values


@given(values)
def test_it_is_the_same_json_with_its_key_order(value: JsonValue) -> None:
    text = pretty(value)
    assert write(parse(text.encode())) == write(value)
    assert text.endswith("\n") and not any(line.endswith(" ") for line in text.split("\n"))


def test_short_things_stand_on_one_line() -> None:
    value: JsonValue = {"a": {"b": [1, "é"], "c": {}}, "long": ["x" * 90, []]}
    assert pretty(value) == (
        "{\n"
        '  "a": {"b": [1, "é"], "c": {}},\n'
        '  "long": [\n'
        f'    "{"x" * 90}",\n'
        "    []\n"
        "  ]\n"
        "}\n"
    )
    assert all(len(line) <= 100 for line in pretty({"k": list("x" * 100)}).split("\n"))


def test_a_vector_stands_on_one_line() -> None:
    numbers: list[JsonValue] = [number / 1024 for number in range(1024)]
    assert len(pretty({"embedding": numbers}).split("\n")) == 4
    assert len(pretty({"flags": [True] * 50}).split("\n")) > 50


def test_what_cannot_be_seen_is_escaped() -> None:
    hidden = "\u202e\u200b\u2028\x7f\ufeff\xad\U000e0041"
    text = pretty(hidden)
    assert text.isascii()
    assert parse(text) == hidden
    assert pretty("naïve — 日本 👩\u200d💻") == '"naïve — 日本 👩\u200d💻"\n'


def test_nothing_in_a_container_with_a_long_name() -> None:
    value: JsonValue = {"k" * 120: {}, "l" * 120: [], "m" * 120: {"n": [1]}}
    assert write(parse(pretty(value))) == write(value)
