"""Boolean expressions of `-k` and `--tag`: what they mean, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import UsageError
from flowproof.suite.expression import parse_expression


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        pytest.param("a", "a", True, id="word"),
        pytest.param("a", "b", False, id="other word"),
        pytest.param("a and b", "ab", True, id="and"),
        pytest.param("a and b", "a", False, id="and, one missing"),
        pytest.param("a or b", "b", True, id="or"),
        pytest.param("a or b", "c", False, id="or, none"),
        pytest.param("not a", "b", True, id="not"),
        pytest.param("not not a", "a", True, id="not not"),
        pytest.param("a or b and c", "a", True, id="and binds closer"),
        pytest.param("(a or b) and c", "a", False, id="parentheses"),
        pytest.param("not a and b", "b", True, id="not binds closest"),
        pytest.param("not(a)", "a", False, id="no blank needed"),
        pytest.param('"a" or "b"', "b", True, id="quoted"),
    ],
)
def test_meaning(text: str, words: str, expected: bool) -> None:
    assert parse_expression(text, "-k")(words.__contains__) is expected


@pytest.mark.parametrize("text", ["'and'", '"not"', "'two words'", "'(x)'"])
def test_a_quoted_text_is_a_word(text: str) -> None:
    assert parse_expression(text, "-k")(text[1:-1].__eq__)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "it ends where a word is expected", id="empty"),
        pytest.param("a and", "it ends where a word is expected", id="cut off"),
        pytest.param("a b", "column 3: found `b`, expected `and`, `or` or the end", id="no join"),
        pytest.param("or a", "column 1: found `or`, expected a word", id="begins with or"),
        pytest.param("(a", "it ends where `)` is expected", id="not closed"),
        pytest.param("a)", "column 2: found `)`", id="not opened"),
        pytest.param('a and "b', "the quotation mark in column 7 has no counterpart", id="quote"),
        pytest.param('""', "matches everything", id="empty text"),
        pytest.param("(" * 60 + "a" + ")" * 60, "deeper than 50 levels", id="deep"),
        pytest.param("a" * 3000, "at most 2000 characters", id="long"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_expression(text, "--tag")
    assert "--tag" in str(caught.value) and reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "option", "advice"),
    [
        pytest.param("two words", "-k", """: -k "'two words'\"""", id="a text with blanks"),
        pytest.param("a b", "--tag", "; such as `a and b`, or `a or b`", id="tags"),
        pytest.param("a b and c", "-k", "", id="a missing word"),
        pytest.param("'a b' c", "-k", "", id="quotes are known"),
        pytest.param("$(a) b", "-k", "", id="marks"),
        pytest.param("a " * 50, "-k", "", id="many words"),
    ],
)
def test_words_without_anything_between(text: str, option: str, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_expression(text, option)
    assert str(caught.value).endswith(advice or "expected `and`, `or` or the end")


@given(st.text("ab()'\" notrd", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expression = parse_expression(text, "-k")
    except UsageError:
        return
    assert expression(lambda word: True) in (True, False)
