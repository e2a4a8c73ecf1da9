"""Patterns match as documented, in linear time, and every refusal names the construct."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.spec.pattern import MAX_LENGTH, PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        pytest.param("rob", "Nairobi", True, id="anywhere"),
        pytest.param("^rob", "Nairobi", False, id="start-of-text"),
        pytest.param("^[0-9]+[A-F]$", "12C", True, id="whole-text"),
        pytest.param("^a.b$", "aéb", True, id="dot-is-one-code-point"),
        pytest.param("^a.b$", "a\U0001f600b", True, id="dot-is-one-astral-code-point"),
        pytest.param("^a.b$", "a\nb", False, id="dot-is-no-newline"),
        pytest.param("(?s)^a.b$", "a\nb", True, id="dot-is-a-newline-with-s"),
        pytest.param("^b", "a\nb", False, id="caret-is-not-a-line-start"),
        pytest.param("(?m)^b$", "a\nb\nc", True, id="caret-is-a-line-start-with-m"),
        pytest.param("b$", "b\n", False, id="a-final-newline-counts"),
        pytest.param("(?i)zürich", "ZÜRICH", True, id="ignoring-case-beyond-ascii"),
        pytest.param("zürich", "ZÜRICH", False, id="minding-case"),
        pytest.param(r"^\p{L}+$", "Ναϊρόμπι", True, id="unicode-letters"),
        pytest.param(r"^\w+$", "Zürich", False, id="word-characters-are-ascii"),
        pytest.param("a\0b", "xa\0bx", True, id="nul"),
        pytest.param("b", "a\0b", True, id="behind-a-nul"),
        pytest.param("^a\ufffdb$", "a\ud800b", True, id="a-lone-surrogate-is-u+fffd"),
        pytest.param("", "", True, id="empty"),
        pytest.param("[{,5}]", "{", True, id="braces-in-a-class"),
        pytest.param(r"\{,5\}", "{,5}", True, id="escaped-braces"),
        pytest.param(r"\Q{,5}\E", "{,5}", True, id="quoted-braces"),
        pytest.param(r"\0", "\0", True, id="escaped-nul"),
    ],
)
def test_a_search_follows_the_documented_rules(pattern: str, text: str, matches: bool) -> None:
    assert compile_pattern(pattern).search(text) is matches


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        pytest.param("a(?=b)", "look-ahead, (?=…)", id="look-ahead"),
        pytest.param("a(?!b)", "negative look-ahead, (?!…)", id="negative-look-ahead"),
        pytest.param("(?<=a)b", "look-behind, (?<=…)", id="look-behind"),
        pytest.param("(?<!a)b", "negative look-behind, (?<!…)", id="negative-look-behind"),
        pytest.param(r"(a)\1", r"backreference, \1,", id="backreference"),
        pytest.param("(a)" * 10 + r"\10", r"backreference, \10,", id="backreference-10"),
        pytest.param("(?P<q>a)(?P=q)", "backreference, (?P=…)", id="named-backreference"),
        pytest.param(r"(?<q>a)\k<q>", r"backreference, \k,", id="k-backreference"),
        pytest.param("(?>a)", "atomic group", id="atomic-group"),
        pytest.param("a++", "possessive quantifier, ++,", id="possessive"),
        pytest.param(
            "a{2}+", "possessive quantifier, {2}+, is not supported; write {2},", id="{}+"
        ),
        pytest.param("a**", "two repetitions in a row, **", id="two-repetitions"),
        pytest.param("(a)?(?(1)b|c)", "conditional", id="conditional"),
        pytest.param(r"\((?R)?\)", "recursion, (?R)", id="recursion"),
        pytest.param("(a)(?1)", "recursion, (?1)", id="numbered-recursion"),
        pytest.param("(?P<a>x)(?P>a)", "recursion, (?P>…)", id="named-recursion"),
        pytest.param("(?#why)a", "comment", id="comment"),
        pytest.param("(?x) a b", "verbose mode", id="verbose"),
        pytest.param("(?u)a", "unknown flag; known are i, m, s and U", id="flag"),
        pytest.param("(*FAIL)", "backtracking verb", id="verb"),
        pytest.param("a{1001}", "{1001} is over 1000", id="over-1000"),
        pytest.param("a{99999999999}", "is over 1000", id="far-over-1000"),
        pytest.param("a{5,99999999999}", "is over 1000", id="far-over-1000-high"),
        pytest.param("(a{500}){3}", "come to over 1000", id="nested-over-1000"),
        pytest.param("a{2,1}", "{2,1} ends before it starts", id="backwards"),
        pytest.param("a{,3}", "write {0,3}", id="open-repetition"),
        pytest.param("(a", "a ( is never closed", id="open-group"),
        pytest.param("a)", "a ) closes nothing", id="closed-group"),
        pytest.param("[a", "a [ is never closed: [a", id="open-class"),
        pytest.param("[z-a]", "z-a is not a range", id="range"),
        pytest.param("[[:foo:]]", "[:foo:] is not a range or class", id="posix-class"),
        pytest.param("*a", r"* has nothing before it to repeat; a literal one is \*", id="star"),
        pytest.param("a\\", "at the end with nothing after it", id="trailing-backslash"),
        pytest.param(r"a\Z", r"the end of the text is \z", id="Z"),
        pytest.param(r"\u0041", r"write \x{…}", id="u"),
        pytest.param(r"\C", "single byte", id="byte"),
        pytest.param(r"\é", r"\é is not a known escape", id="escape"),
        pytest.param(r"\p{Foo}", r"\p{Foo} names no Unicode class", id="unicode-class"),
        pytest.param("(?P<a b>x)", "(?P<a b> does not name a group", id="group-name"),
        pytest.param("(?P", "(?P must go on as", id="unfinished-name"),
        pytest.param("(?", "is not supported", id="unfinished-group"),
        pytest.param(".{900}" * 20, "too large", id="too-large"),
        pytest.param(r"\p{L}{1000}", "too large", id="too-large-for-re2"),
        pytest.param("a" * (MAX_LENGTH + 1), "10,001 characters; at most 10,000", id="too-long"),
        pytest.param("\ud800", "surrogate pair", id="surrogate"),
    ],
)
def test_a_refusal_names_the_construct(pattern: str, named: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        *("", ".*", "a*", "(?:)", "x|", "[0-9]{0,3}", "^", "$", "^.*", ".*$", "(?m)^", r"\A|x"),
        *(r"(?:x|y\z|\z)", r"\Q\E", "(x^)?", "[$^]?", r"\^?", "(?s).*", r"\Q^$\E|", "(?i)b?"),
    ],
)
def test_a_pattern_that_every_text_matches_is_known(pattern: str) -> None:
    assert compile_pattern(pattern).matches_every_text


@pytest.mark.parametrize(
    "pattern",
    [
        *("a", ".", ".+", "a*b", "^$", "^a*$", "^[^@]*$", r"\A\z", r"^\d*$", "(?m)^$", "^a|b*$"),
        *(r"\b", r"\B", r"\Ba*", r"\^", r"[$^]", r"[\s\S]", "(?s)^.+$", r"^(?:\w+\s?)*$"),
    ],
)
def test_a_pattern_that_some_text_does_not_match_is_no_such(pattern: str) -> None:
    assert not compile_pattern(pattern).matches_every_text


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"^(\w+\s?)*$", id="nested-star"),
        pytest.param("(a|a)*b", id="ambiguous"),
        pytest.param("(x+x+)+y", id="polynomial"),
    ],
)
def test_a_pattern_that_hangs_other_engines_takes_linear_time(pattern: str) -> None:
    text = "aaa xx " * 14_300 + "!"
    started = perf_counter()
    assert not compile_pattern(pattern).search(text)
    assert perf_counter() - started < 0.5


def test_refusing_is_fast_too() -> None:
    started = perf_counter()
    for pattern in (r"\Q" + "[" * 9_900, "[" * 9_900, "(" * 9_900, "{" * 9_900):
        try:
            compile_pattern(pattern)
        except PatternError:
            continue
    assert perf_counter() - started < 1.0


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_nothing_but_a_pattern_error_is_ever_raised(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        assert str(error)
    else:
        assert compiled.search(text) in (True, False)


_FRAGMENTS = st.lists(
    st.sampled_from([*r"()[]{}?*+|\^$.,:<>=!#&'-PRQEZkgxpuC019ab", "(?", "(?P", "\\Q"]), max_size=12
).map("".join)


@given(_FRAGMENTS)
def test_every_malformed_pattern_gets_a_message(pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        assert not str(error).startswith("not a regular expression"), str(error)


_SELECTIVE = st.lists(
    st.sampled_from(["^", "$", "a", "b?", "|", "(", ")", "*", r"\b", r"\B", r"\A", r"\z", "[^a$]"]),
    max_size=8,
).map("".join)


@given(_SELECTIVE, st.text("ab$^\n é", max_size=6))
def test_what_is_said_to_match_every_text_does(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except PatternError:
        return
    assert compiled.search(text) or not compiled.matches_every_text
