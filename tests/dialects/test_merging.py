"""Pieces join by their rule, and whatever is overwritten is noticed."""

from __future__ import annotations

import pytest

from flowproof.dialects.merging import MergedObject, Rule
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText


def merge(rule: Rule, *values: JsonValue) -> tuple[JsonValue, bool]:
    merged = MergedObject(lambda _key: rule)
    for value in values:
        merged.add({"k": value})
    return merged.value()["k"], merged.lossy


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        pytest.param(Rule.LAST, ["a", "a"], "a", id="last, repeated"),
        pytest.param(Rule.LAST, [None, "a", None, ""], "a", id="last, empty says nothing"),
        pytest.param(Rule.LAST, ["", None], "", id="last, only empty"),
        pytest.param(Rule.LAST, [[1], [1]], [1], id="last, list repeated"),
        pytest.param(Rule.JOIN, ["a", "", "b", None], "ab", id="join, text"),
        pytest.param(Rule.JOIN, [None], None, id="join, null"),
        pytest.param(Rule.JOIN, [[1], [2, 3]], [1, 2, 3], id="join, list"),
        pytest.param(Rule.ONCE, ["a", "a", ""], "a", id="once, repeated"),
        pytest.param(Rule.ONCE, ["get_", "weather"], "get_weather", id="once, pieces"),
        pytest.param(Rule.MERGE, [{"a": 1}, {"b": 2}, {"a": 1}], {"a": 1, "b": 2}, id="objects"),
        pytest.param(Rule.MERGE, [[], [1], []], [1], id="merge, one list"),
        pytest.param(
            Rule.MERGE,
            [[{"index": 1, "b": 1}], [{"index": 0, "a": 1}], [{"index": 1, "c": None}]],
            [{"index": 0, "a": 1}, {"index": 1, "b": 1, "c": None}],
            id="numbered entries",
        ),
        pytest.param(
            Rule.JOIN,
            [[{"index": 0, "t": "a"}], [{"index": 0, "t": "b"}]],
            [{"index": 0, "t": "ab"}],
            id="numbered entries, texts",
        ),
    ],
)
def test_nothing_is_lost(rule: Rule, values: list[JsonValue], expected: JsonValue) -> None:
    assert merge(rule, *values) == (expected, False)


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        pytest.param(Rule.LAST, ["a", "b"], "b", id="last, other text"),
        pytest.param(Rule.LAST, [1, True], True, id="last, other type"),
        pytest.param(Rule.LAST, [1, NumberText("1.10")], NumberText("1.10"), id="last, number"),
        pytest.param(Rule.LAST, [{"a": 1}, {"b": 1}], {"b": 1}, id="last, other object"),
        pytest.param(Rule.JOIN, ["a", {"b": 1}], {"b": 1}, id="join, type changes"),
        pytest.param(Rule.MERGE, [{"a": [{"b": 1}]}, {"a": 2}], {"a": 2}, id="inside"),
        pytest.param(Rule.MERGE, [[1], [1]], [1, 1], id="repeats or continues"),
        pytest.param(
            Rule.MERGE,
            [[{"index": 0, "id": "x"}], [{"index": 0, "id": "y"}]],
            [{"index": 0, "id": "x"}, {"index": 0, "id": "y"}],
            id="one number, two ids",
        ),
        pytest.param(
            Rule.MERGE,
            [[{"index": 0, "a": 1}], [{"index": 0, "a": 2}]],
            [{"index": 0, "a": 2}],
            id="inside an entry",
        ),
        pytest.param(Rule.JOIN, [[{"index": 0}], [1]], [{"index": 0}, 1], id="mixed entries"),
    ],
)
def test_a_loss_is_noticed(rule: Rule, values: list[JsonValue], expected: JsonValue) -> None:
    assert merge(rule, *values) == (expected, True)


def test_pieces_are_not_changed() -> None:
    pieces: list[JsonObject] = [{"k": {"a": [1]}}, {"k": {"a": [2]}}]
    merged = MergedObject(lambda _key: Rule.JOIN)
    for piece in pieces:
        merged.add(piece)
    assert merged.value() == {"k": {"a": [1, 2]}}
    assert pieces == [{"k": {"a": [1]}}, {"k": {"a": [2]}}]


def test_text_so_far() -> None:
    merged = MergedObject(lambda _key: Rule.JOIN)
    merged.add({"a": "x", "b": 1})
    merged.add({"a": "y"})
    assert [merged.text(key) for key in ("a", "b", "c")] == ["xy", "", ""]


def test_a_hundred_thousand_pieces_of_text_join_quickly() -> None:
    merged = MergedObject(lambda _key: Rule.JOIN)
    for _ in range(100_000):
        merged.add({"k": "0123456789"})
    assert merged.text("k") == "0123456789" * 100_000
