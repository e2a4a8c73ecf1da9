from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.equality import Equality
from flowproof.model.jsonvalue import JsonValue, NumberText, same

SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 2, 1.0, 0.5, NumberText("1.10"), NumberText("-0"), "", "1", "a"]),
)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_it_says_what_same_says(left: JsonValue, right: JsonValue) -> None:
    equality = Equality()
    for _ in range(2):
        assert equality.same(left, right) is same(left, right)
        assert equality.same(left, copy.deepcopy(left))


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        pytest.param({"a": 1}, {"a": True}, id="boolean"),
        pytest.param({"a": [1]}, {"a": [1.0]}, id="float in list"),
        pytest.param({"a": [{"b": [0]}]}, {"a": [{"b": [False]}]}, id="deep"),
        pytest.param({"a": NumberText("1.10")}, {"a": 1.1}, id="number text"),
        pytest.param({"a": "x "}, {"a": "x"}, id="blank"),
        pytest.param({"a": None}, {}, id="null is not absence"),
    ],
)
def test_near_misses_differ(recorded: JsonValue, sent: JsonValue) -> None:
    assert not Equality().same(recorded, sent)
    assert not Equality().same(sent, recorded)


def test_the_order_of_keys_does_not_count() -> None:
    assert Equality().same({"a": 1, "b": [True]}, {"b": [True], "a": 1})
