"""What property tests of dialects draw: values an API may add, cuts, and hostile values."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText

TEXT = st.text(max_size=12)
ODD_NUMBERS: list[JsonValue] = [NumberText("1.10"), NumberText("1e5"), NumberText("-0"), 0.5]
SCALARS: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from(ODD_NUMBERS), TEXT
)
# `index` in a list of objects numbers its entries, so an unknown field must not hold it.
UNKNOWN_KEYS = st.text("abcxyz_é ", min_size=1, max_size=6).map(lambda key: f"x_{key}")
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(UNKNOWN_KEYS, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN: st.SearchStrategy[JsonObject] = st.dictionaries(UNKNOWN_KEYS, VALUES, max_size=3)
PLACES = st.lists(st.integers(0, 10_000), max_size=8)
"""Where `tools.cut` cuts a stream."""


def hostile(*spoken: JsonValue) -> st.SearchStrategy[JsonValue]:
    """Any value that is made of the members and words of those given, in any order."""
    keys: set[str] = set()
    words: set[str] = set()
    for inside in (inner for value in spoken for inner in _values(value)):
        keys.update(inside if isinstance(inside, dict) else ())
        words.update([inside] if isinstance(inside, str) else ())
    leaves = SCALARS | st.sampled_from(sorted(words))
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(sorted(keys)), inner, max_size=5)
        ),
        max_leaves=12,
    )


@st.composite
def broken(draw: st.DrawFn, value: JsonValue, odd: st.SearchStrategy[JsonValue]) -> JsonValue:
    """The value with odd ones at up to three places."""
    whole: list[JsonValue] = [deepcopy(value)]
    for _ in range(draw(st.integers(1, 3))):
        inner = draw(st.sampled_from([one for one in _values(whole) if one and _holds(one)]))
        match inner:
            case dict():
                inner[draw(st.sampled_from(sorted(inner)))] = draw(odd)
            case list():
                inner[draw(st.integers(0, len(inner) - 1))] = draw(odd)
            case _:
                pass
    return whole[0]


def _holds(value: JsonValue) -> bool:
    return isinstance(value, dict | list)


def _values(value: JsonValue) -> Iterator[JsonValue]:
    """The value and all that it holds."""
    yield value
    match value:
        case dict():
            for inner in value.values():
                yield from _values(inner)
        case list():
            for inner in value:
                yield from _values(inner)
        case _:
            pass
