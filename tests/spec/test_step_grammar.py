"""The prose of assertions: what it means, what is wrong with it, and that the patterns agree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.model.flow_spec import Clause, Matcher, Scalar
from flowproof.spec.step_grammar import parse_reply_phrase, parse_tool_phrase
from flowproof.spec.step_patterns import REPLY_PHRASE, TOOL_PHRASE

ANOTHER_CLAUSE = "begins another clause, and clauses are joined by ` and ` only"
EQUALS, CONTAINS, MATCHES = Matcher.EQUALS, Matcher.CONTAINS, Matcher.MATCHES


def clause(path: str, matcher: Matcher, text: str | None = None, quoted: bool = False) -> Clause:
    value = None if text is None else Scalar(text, quoted)
    return Clause(tuple(path.split(".")), matcher, value)


@pytest.mark.parametrize(
    ("text", "tool", "clauses"),
    [
        pytest.param("search", "search", [], id="tool"),
        pytest.param("mcp:files/read.v2-x_1", "mcp:files/read.v2-x_1", [], id="odd-tool"),
        pytest.param(
            "t where a.0.b equals KQ311", "t", [clause("a.0.b", EQUALS, "KQ311")], id="eq"
        ),
        pytest.param("t where a is 1", "t", [clause("a", EQUALS, "1")], id="is"),
        pytest.param("t where a is  b   c ", "t", [clause("a", EQUALS, "b   c")], id="blanks-kept"),
        pytest.param(
            "t where a contains x and b matches ^[0-9]{4,}$",
            "t",
            [clause("a", CONTAINS, "x"), clause("b", MATCHES, "^[0-9]{4,}$")],
            id="two",
        ),
        pytest.param(
            "t where a exists and b is absent and c is missing",
            "t",
            [
                clause("a", Matcher.EXISTS),
                clause("b", Matcher.ABSENT),
                clause("c", Matcher.ABSENT),
            ],
            id="without-value",
        ),
        pytest.param(
            "t where a is absent today", "t", [clause("a", EQUALS, "absent today")], id="is-a-value"
        ),
        pytest.param(
            "t where a is 'absent'", "t", [clause("a", EQUALS, "absent", True)], id="quoted-absent"
        ),
        pytest.param(
            """t where a equals "Tom and Jerry" and b is 'it\\'s'""",
            "t",
            [clause("a", EQUALS, "Tom and Jerry", True), clause("b", EQUALS, "it's", True)],
            id="quoted-and",
        ),
        pytest.param(
            r't where a matches "\d+\\" and b equals ""',
            "t",
            [clause("a", MATCHES, r"\d+" + "\\", True), clause("b", EQUALS, "", True)],
            id="backslashes",
        ),
        pytest.param("t where a is it's", "t", [clause("a", EQUALS, "it's")], id="inner-quote"),
        pytest.param(
            "t where a is sandy and b is android",
            "t",
            [clause("a", EQUALS, "sandy"), clause("b", EQUALS, "android")],
            id="and-in-a-word",
        ),
        pytest.param("t\n where a\n is b", "t", [clause("a", EQUALS, "b")], id="lines"),
        pytest.param("t where a is ${X}", "t", [clause("a", EQUALS, "${X}")], id="variable"),
        *(
            pytest.param(f"t where a is {value}", "t", [clause("a", EQUALS, value)], id=value)
            for value in (
                *("Rio or Oslo", "Doe, Jane", "a,b,c", "now, or else", "x, y, z and-so"),
                *("Doe,", "this but not that", ", equals 3", "orb is", "a=1, b=2", "AND"),
            )
        ),
        pytest.param(
            "t where a is 'Rio or b is Oslo' and b is \"x, equals y\"",
            "t",
            [
                clause("a", EQUALS, "Rio or b is Oslo", True),
                clause("b", EQUALS, "x, equals y", True),
            ],
            id="quoted-or",
        ),
    ],
)
def test_tool_phrases(text: str, tool: str, clauses: list[Clause]) -> None:
    phrase = parse_tool_phrase(text)
    assert phrase.faults == ()
    assert (phrase.tool, list(phrase.clauses)) == (tool, clauses)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("to,ol", [(0, "found `to,ol`", "")], id="tool"),
        pytest.param(
            "t were a is b", [(2, "after the tool's name found `were`", "where")], id="where"
        ),
        pytest.param("t where", [(7, "a clause is missing here", "")], id="no-clause"),
        pytest.param("t where a", [(9, "the matcher is missing after `a`", "")], id="no-matcher"),
        pytest.param("t where a equal b", [(10, "unknown matcher `equal`", "equals")], id="equal"),
        pytest.param("t where a = b", [(10, "unknown matcher `=`", "equals")], id="sign"),
        pytest.param("t where a == b", [(10, "unknown matcher `==`", "equals")], id="signs"),
        pytest.param("t where a match b", [(10, "unknown matcher `match`", "matches")], id="match"),
        pytest.param(
            "t where a absent", [(10, "unknown matcher `absent`", "is absent")], id="absent"
        ),
        pytest.param(
            "t where a equals", [(16, "the value is missing after `equals`", "")], id="value"
        ),
        pytest.param(
            "t where a is and b is c",
            [(13, "the value is missing after `is`", "")],
            id="value-then-and",
        ),
        pytest.param("t where a is not b", [(10, "`is not` is no matcher", "")], id="is-not"),
        pytest.param(
            "t where a exists b", [(17, "after `exists` found `b`", "")], id="after-exists"
        ),
        pytest.param(
            "t where a[0].b is c", [(8, "`a[0].b` is not a path", "a.0.b")], id="brackets"
        ),
        pytest.param("t where a..b is c", [(8, "`a..b` is not a path", "")], id="dots"),
        pytest.param("t where a is 'x", [(13, "this quote is never closed", "")], id="open-quote"),
        pytest.param(
            "t where a is 'x' y", [(17, "after the quoted value found `y`", "")], id="after-quote"
        ),
        pytest.param(
            "t where a contains ''",
            [(20, "an empty text after `contains` holds for all", "")],
            id="vacuous",
        ),
        pytest.param(
            "t where a is Tom and Jerry",
            [(26, "the matcher is missing after `Jerry`", "")],
            id="unquoted-and",
        ),
        pytest.param(
            "t where a is b and", [(18, "a clause is missing here", "")], id="dangling-and"
        ),
        pytest.param(
            "t where a = 1 and b is c and d equal 2",
            [(10, "unknown matcher `=`", "equals"), (31, "unknown matcher `equal`", "equals")],
            id="every-fault",
        ),
        *(
            pytest.param(
                f"t where a is x{more} y",
                [(14 + more.startswith(" "), f"`{more.strip()}` {ANOTHER_CLAUSE}", "")],
                id=more.strip(),
            )
            for more in (
                *(" or b equals", " or b is", " or equals", " or is", ", b.0.c equals", ",b is"),
                *(" AND b contains", " OR b matches", " but b exists", "; b is", ", or b is"),
                *(", matches", " && b is", " || items[0].id equals"),
            )
        ),
        pytest.param(
            "t where a is x, and b is y", [(14, f"`, and` {ANOTHER_CLAUSE}", "")], id="comma-and"
        ),
        pytest.param(
            "t where a is x or b is y and c = z",
            [(15, f"`or b is` {ANOTHER_CLAUSE}", ""), (31, "unknown matcher `=`", "equals")],
            id="or-then-another-fault",
        ),
        pytest.param(
            "t where a is 'x' or b is y", [(17, "after the quoted value found `or`", "")], id="q-or"
        ),
        pytest.param(
            "t where a exists or b exists", [(17, "after `exists` found `or`", "")], id="exists-or"
        ),
    ],
)
def test_faults_of_tool_phrases(text: str, expected: list[tuple[int, str, str]]) -> None:
    faults = parse_tool_phrase(text).faults
    assert [(fault.offset, fault.message, fault.suggestion) for fault in faults] == expected


KEYWORDS = """t where a b.0 equals is contains matches exists absent missing and not does reply
contain equal match 'x' "y" '' "" 'a \\' "c\\" x[0] a..b and( it's or AND but , ; the x, ;y || n't
doesn't"""
WORDS = st.sampled_from(KEYWORDS.split())
GAPS = st.sampled_from([" ", "  ", "\n", ""])
PHRASES = st.lists(st.tuples(WORDS, GAPS), max_size=12).map(lambda w: "".join(a + b for a, b in w))


@settings(max_examples=400)
@given(st.one_of(PHRASES, PHRASES.map("t where a ".__add__), PHRASES.map("t where ".__add__)))
def test_the_pattern_of_tool_phrases_says_the_same(text: str) -> None:
    assert bool(re.fullmatch(TOOL_PHRASE, text)) == (not parse_tool_phrase(text).faults)


@settings(max_examples=400)
@given(st.one_of(PHRASES, PHRASES.map("reply ".__add__), PHRASES.map("reply is ".__add__)))
def test_the_pattern_of_reply_phrases_says_the_same(text: str) -> None:
    assert bool(re.fullmatch(REPLY_PHRASE, text)) == (not parse_reply_phrase(text).faults)


def faults(path: str) -> object:
    return parse_tool_phrase(f"book where {path} equals x").faults


@pytest.mark.parametrize("path", ["a.*", "*", "a.-1", "a.-1.b", "a..b"])
def test_a_path_that_can_match_nothing_is_refused(path: str) -> None:
    assert faults(path)


@pytest.mark.parametrize("path", ["a.0", "x-1", "a.b-2.c", "a.-x"])
def test_a_path_with_an_index_or_a_dash_is_one(path: str) -> None:
    assert not faults(path)
