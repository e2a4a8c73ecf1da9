"""What is printed of a text: one line, nothing unseen, and never the same for two texts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonValue, same
from flowproof.model.visible import (
    compact,
    describe_character,
    difference,
    first_difference,
    member_path,
    printable,
    visible,
)
from tests.trace.samples import values

ODD = "a b\\nn\n\r\tu00e9\u0000\u001b\u007f\u00a0\u00ad\u200b\u200d\u202e\u2066\u2028\u3000\ufeff"
ODD += "e\u0301é\ud800\U000e0041\U0001f642\u115f\u2800"
texts = st.text(alphabet=ODD, max_size=12) | st.text(st.characters(), max_size=8)


@given(texts, texts)
def test_two_texts_never_look_the_same(left: str, right: str) -> None:
    assert (visible(left) == visible(right)) is (left == right)


@given(texts)
def test_nothing_unseen_is_left(text: str) -> None:
    for char in visible(text):
        assert char == " " or unicodedata.category(char)[0] not in "CZ"
        assert not unicodedata.combining(char)


@given(texts)
def test_printable_keeps_lines_and_tabs_and_nothing_else_unseen(text: str) -> None:
    for char in printable(text):
        assert char in "\n\t " or unicodedata.category(char)[0] not in "CZ"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Hello, Wörld 🙂!", "Hello, Wörld 🙂!", id="plain"),
        pytest.param("a\nb\tc\r", "a\\nb\\tc\\r", id="controls"),
        pytest.param("a\\nb", "a\\\\nb", id="a backslash that was there"),
        pytest.param("\x1b[31m", "\\u001b[31m", id="a terminal escape"),
        pytest.param("a\u202eb", "a\\u202eb", id="right to left"),
        pytest.param("a\u200bb", "a\\u200bb", id="zero width"),
        pytest.param("a\u00a0b", "a\\u00a0b", id="another blank"),
        pytest.param("\U000e0041", "\\U000e0041", id="a tag beyond the first plane"),
        pytest.param("\ud800", "\\ud800", id="a lone surrogate"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(texts, texts)
def test_a_difference_always_shows(left: str, right: str) -> None:
    pair = difference(left, right, width=6)
    assert (pair.recorded == pair.replayed) is (left == right)


@given(st.integers(0, 300), st.sampled_from(["", "b", "ba"]), st.sampled_from(["c", "b "]))
def test_a_difference_is_found_far_into_a_text(before: int, left: str, right: str) -> None:
    one, other = "a" * before + left + "z" * 300, "a" * before + right + "z" * 300
    at = first_difference(one, other)
    assert one[:at] == other[:at]
    assert one[at] != other[at]
    pair = difference(one, other)
    assert pair.recorded != pair.replayed
    assert max(map(len, pair)) <= 110 + len('…""…')


def test_where_one_text_ends_is_a_difference() -> None:
    assert first_difference("abc", "abcd") == 3
    assert first_difference("abc", "abc") == 3
    assert difference("a", "a ") == ('"a"', '"a "')


def test_a_character_is_named() -> None:
    assert describe_character("a\u200b", 1) == "U+200B ZERO WIDTH SPACE"
    assert describe_character("\x00", 0) == "U+0000"
    assert describe_character("a", 1) == "end of text"


@given(values, values)
def test_compact_values_look_the_same_only_if_they_are_written_the_same(
    left: JsonValue, right: JsonValue
) -> None:
    one, other = compact(left, limit=10_000), compact(right, limit=10_000)
    if one == other:
        assert same(left, right)
    assert "\n" not in one


def test_compact_is_bounded() -> None:
    assert compact(["x" * 500], limit=20) == '["xxxxxxxxxxxxxxxxx…'


@pytest.mark.parametrize(
    ("key", "path"),
    [
        pytest.param("model", "$.model", id="an identifier"),
        pytest.param("a.b", '$["a.b"]', id="a dot"),
        pytest.param("", '$[""]', id="nothing"),
        pytest.param("ключ", '$["ключ"]', id="another script"),
        pytest.param("a\u202e", '$["a\\u202e"]', id="hidden"),
    ],
)
def test_member_path(key: str, path: str) -> None:
    assert member_path("$", key) == path
