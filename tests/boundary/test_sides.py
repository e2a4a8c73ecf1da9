"""Both sides of a difference, for reading side by side: whole where short, windows where long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.boundary.cassette import Cassette
from flowproof.boundary.change import Change, first_change
from flowproof.boundary.change import sides as sides_of
from flowproof.model.jsonvalue import MISSING, JsonValue, Missing
from flowproof.model.outcome import Divergence, Sides
from tests.boundary.tools import BY_NAME, chat_request, pinned, turn

SHORT = 10_000


def texts(old: str, new: str) -> Sides:
    return sides_of(Change("$", old, new))


@pytest.mark.parametrize(
    ("old", "new", "left", "right"),
    [
        pytest.param("a\nb", "a\nc", "a\nb", "a\nc", id="texts-as-they-are"),
        pytest.param("1", 1, '"1"', "1", id="a-text-beside-a-number-is-quoted"),
        pytest.param(MISSING, {"a": 1}, None, '{\n  "a": 1\n}', id="nothing-and-an-object"),
        pytest.param("a", MISSING, "a", None, id="a-text-and-nothing"),
        pytest.param(True, 1, "true", "1", id="kinds-that-python-mixes"),
        pytest.param([], {}, "[]", "{}", id="kinds-of-containers"),
    ],
)
def test_each_kind_of_value(
    old: JsonValue | Missing, new: JsonValue | Missing, left: str | None, right: str | None
) -> None:
    assert sides_of(Change("$", old, new)) == Sides(left, right)


def test_a_divergence_has_them_and_the_excerpt_stays_short() -> None:
    old = "".join(f"Line {n} of the instructions.\n" for n in range(500))
    new = old.replace("Line 250 of", "Line 250 with")
    found = Cassette([turn(chat_request(old))], BY_NAME).take(
        turn(chat_request(new)).operation, pinned(chat_request(new))
    )
    assert isinstance(found, Divergence)
    assert all(len(line.text) < 130 for line in found.excerpt)
    sides = found.sides
    assert sides is not None
    assert sides.recorded is not None
    assert sides.replayed is not None
    # Whole lines around the change, the same ones on both sides.
    left, right = sides.recorded.split("\n"), sides.replayed.split("\n")
    at = left.index("Line 250 of the instructions.")
    assert right[at] == "Line 250 with the instructions."
    assert left[:at] + left[at + 1 :] == right[:at] + right[at + 1 :]
    assert all(line.startswith("Line ") and line.endswith(".") for line in left)
    assert 5 < at < len(left) - 5
    assert old[: sides.above] + sides.recorded == old[: len(old) - sides.below[0]]
    assert sides.below[0] == sides.below[1] > 0


def test_what_differs_at_length_is_cut() -> None:
    sides = texts("a" * 1_000_000, "b" * 2_000_000)
    assert sides.recorded is not None
    assert sides.replayed is not None
    assert len(sides.recorded) == len(sides.replayed) == 3_000
    assert sides.below == (997_000, 1_997_000)
    only = sides_of(Change("$", MISSING, "b" * 10_000))
    assert only.recorded is None
    assert only.replayed == "b" * 3_000
    assert only.below == (0, 7_000)


@given(st.text("ab\n"), st.text("ab\n"), st.text("ab\n"), st.text("ab\n"))
def test_windows_are_parts_of_both_texts_and_hold_the_difference(
    head: str, old: str, new: str, tail: str
) -> None:
    left, right = (head * 300 + text + tail * 300 for text in (old, new))
    if left == right:
        return
    sides = texts(left, right)
    assert sides.recorded is not None
    assert sides.replayed is not None
    assert left[: sides.above] == right[: sides.above]
    assert left[sides.above :].startswith(sides.recorded)
    assert right[sides.above :].startswith(sides.replayed)
    assert sides.above + len(sides.recorded) + sides.below[0] == len(left)
    assert sides.above + len(sides.replayed) + sides.below[1] == len(right)
    assert sides.recorded != sides.replayed
    assert max(len(sides.recorded), len(sides.replayed)) < SHORT


def test_inside_of_json_texts_the_leaf_is_shown() -> None:
    change = first_change("$", {"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]})
    assert sides_of(change) == Sides("x", "y")
