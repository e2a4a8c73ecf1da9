"""Pieces joined into one object, and streams compared whatever their pieces were."""

from __future__ import annotations

import pytest

from flowproof.dialects.pieces import Joined, Members, Piece, Told
from flowproof.model.jsonvalue import JsonObject

MEMBERS = Members(frozenset(("text",)), frozenset(("list",)))


@pytest.mark.parametrize(
    ("pieces", "value"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([{"text": "a"}, {"text": ""}, {"text": "b"}], {"text": "ab"}, id="text"),
        pytest.param([{"list": [1]}, {"list": []}, {"list": [1]}], {"list": [1, 1]}, id="list"),
        pytest.param([{"x": "a"}, {"x": "b"}], {"x": "b"}, id="the last counts"),
        pytest.param([{"x": 1}, {"x": None}], {"x": 1}, id="null replaces nothing"),
        pytest.param([{"x": None}], {"x": None}, id="only null"),
        pytest.param([{"text": None}, {"text": "a"}], {"text": "a"}, id="null, then text"),
        pytest.param([{"list": [1]}, {"list": None}], {"list": [1]}, id="list, then null"),
        pytest.param([{"text": "a"}, {"text": 3}, {"text": "b"}], {"text": 3}, id="no text"),
        pytest.param([{"list": "f()"}, {"list": [1]}], {"list": "f()"}, id="no list"),
    ],
)
def test_pieces_are_joined(pieces: list[JsonObject], value: JsonObject) -> None:
    joined = Joined(MEMBERS)
    for piece in pieces:
        joined.add(piece)
    assert joined.value() == value


def told(*steps: tuple[JsonObject, dict[str, Piece]]) -> Told:
    found = Told()
    for around, said in steps:
        found.add(around, said)
    return found


AROUND: JsonObject = {"model": "m"}
WHOLE = told((AROUND, {"text": "abc", "list": [1, 2]}))


def test_how_a_step_was_cut_makes_no_difference() -> None:
    first: JsonObject = {"model": "m"}
    assert told((AROUND, {"text": "ab", "list": [1]}), (first, {"text": "c", "list": [2]})).same_as(
        WHOLE
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(told((AROUND, {"text": "abd", "list": [1, 2]})), id="another text"),
        pytest.param(told((AROUND, {"text": "abc", "list": [1, 2.0]})), id="another number"),
        pytest.param(told(({}, {"text": "abc", "list": [1, 2]})), id="something else around"),
        pytest.param(
            told((AROUND, {"text": "abc"}), (AROUND, {"list": [1, 2]})), id="one after another"
        ),
        pytest.param(told((AROUND, {"text": "abc", "list": [1, 2]}), (AROUND, {})), id="one more"),
        pytest.param(told(), id="nothing"),
    ],
)
def test_anything_else_does(other: Told) -> None:
    assert not other.same_as(WHOLE)


def test_a_text_is_no_list_of_its_pieces() -> None:
    assert not told((AROUND, {"text": "ab"})).same_as(told((AROUND, {"text": ["ab"]})))


def test_steps_that_say_nothing_are_counted() -> None:
    assert not told((AROUND, {}), (AROUND, {})).same_as(told((AROUND, {})))
