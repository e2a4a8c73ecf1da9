"""How similar two values read, within bounds."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given

from flowproof.boundary.similarity import sample, similarity
from flowproof.model.jsonvalue import JsonValue
from tests.trace.samples import values


def alike(left: Any, right: Any) -> float:
    return similarity(sample(left), sample(right))


def test_one_changed_word_is_nearer_than_another_text() -> None:
    recorded = {"input": "How is the weather in Oslo today?"}
    near = {"input": "How is the weather in Rome today?"}
    assert alike(recorded, near) > 0.5 > alike(recorded, {"input": "Invoice number 4711"})


def test_a_conversation_is_told_from_a_shorter_one_by_its_end() -> None:
    said = [f"message {at}: {'x' * 200}" for at in range(40)]
    assert alike(said, [*said[:-1], "message 39: y"]) < 1.0
    longer, other = [*said, "and how is Oslo?"], [*said, "and now, Rome?"]
    assert alike(longer, [*said, "and how is Oslo!"]) > alike(longer, other)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("a", "a", 1.0, id="equal"),
        pytest.param("a", "b", 0.0, id="nothing in common"),
        pytest.param(None, None, 1.0, id="no body"),
        pytest.param([1, 2], {"x": [1, 2]}, 1.0, id="the same scalars"),
    ],
)
def test_bounds(left: Any, right: Any, expected: float) -> None:
    assert alike(left, right) == expected


@given(values, values)
def test_any_two_values_can_be_compared(left: Any, right: Any) -> None:
    assert 0.0 <= alike(left, right) == alike(right, left) <= 1.0


def test_a_huge_value_costs_no_more_than_its_ends() -> None:
    huge: list[JsonValue] = ["x" * 1_000_000] * 5_000
    before = time.monotonic()
    assert len(sample(huge)) == 1
    assert time.monotonic() - before < 1.0
