"""The prose of assertions on the reply; `test_step_grammar` has that of tool calls."""

from __future__ import annotations

import pytest

from flowproof.model.flow_spec import Matcher, Scalar
from flowproof.spec.step_grammar import parse_reply_phrase

EQUALS, CONTAINS, MATCHES = Matcher.EQUALS, Matcher.CONTAINS, Matcher.MATCHES
STARTS = "an assertion on the reply starts with `reply`, found "
ANOTHER_TEXT = "begins another condition, and a step looks for one text"


@pytest.mark.parametrize(
    ("text", "matcher", "value", "negated"),
    [
        pytest.param(
            "reply contains booked", CONTAINS, Scalar("booked", False), False, id="contains"
        ),
        pytest.param(
            "reply is booked and paid", CONTAINS, Scalar("booked and paid", False), False, id="is"
        ),
        pytest.param('reply equals "a b"', EQUALS, Scalar("a b", True), False, id="equals"),
        pytest.param("reply matches ^a.*b$", MATCHES, Scalar("^a.*b$", False), False, id="matches"),
        pytest.param(
            "reply does not contain x", CONTAINS, Scalar("x", False), True, id="not-contain"
        ),
        pytest.param("reply does not equal x", EQUALS, Scalar("x", False), True, id="not-equal"),
        pytest.param("reply does not match x", MATCHES, Scalar("x", False), True, id="not-match"),
        *(
            pytest.param(f"reply contains {text}", CONTAINS, Scalar(text, False), False, id=text)
            for text in (
                *(
                    "Tom and Jerry",
                    "a and isn't b",
                    "Dear Casey, is this it",
                    "call and reply soon",
                ),
                *("sand contains gold", "it and does not work", "and contains x", "a or b, c; d"),
            )
        ),
        pytest.param(
            "reply does not contain 'a and contains b'",
            CONTAINS,
            Scalar("a and contains b", True),
            True,
            id="quoted-and",
        ),
    ],
)
def test_reply_phrases(text: str, matcher: Matcher, value: Scalar, negated: bool) -> None:
    phrase = parse_reply_phrase(text)
    assert phrase.faults == ()
    assert (phrase.matcher, phrase.value, phrase.negated) == (matcher, value, negated)


@pytest.mark.parametrize(
    ("text", "offset", "message", "suggestion"),
    [
        pytest.param(
            "replies contain x", 0, f"{STARTS}`replies`", "reply contains x", id="subject"
        ),
        *(
            pytest.param(text, 0, f"{STARTS}`{text.split()[0]}`", meant, id=text)
            for text, meant in (
                ("answer contains x", "reply contains x"),
                ("the answer includes x y", "reply contains x y"),
                ("the reply does not mention x", "reply does not contain x"),
                ("it doesn't contain x", "reply does not contain x"),
                ("The answer is not x", "reply does not contain x"),
                ("the answer is nothing", "reply contains nothing"),
                ("output must match ^x", "reply matches ^x"),
                ("output never equals 4", "reply does not equal 4"),
                ("the flight was booked", "reply contains …"),
                ("it says " + "x" * 99, "reply contains …"),
            )
        ),
        *(
            pytest.param(
                f"reply {first} A {more} B",
                9 + len(first),
                f"`{more}` {ANOTHER_TEXT}",
                "",
                id=f"{first} {more}",
            )
            for first in ("contains", "does not contain", "matches", "equals", "is")
            for more in (
                *("and contains", "and does not contain", "and is", "and reply contains"),
                *("or the reply is", "AND matches", "but does not match", "and contain"),
                "&& doesn't contain",
            )
        ),
        pytest.param(
            "reply contains A, does not contain B",
            16,
            f"`, does not contain` {ANOTHER_TEXT}",
            "",
            id="comma",
        ),
        pytest.param(
            'reply contains "A"  and contains "B"', 20, f"`and contains` {ANOTHER_TEXT}", "", id="q"
        ),
        pytest.param(
            'reply contains "A" b and contains "B"',
            18,
            "found more text after the closing quote",
            "",
            id="q-rest",
        ),
        pytest.param("reply", 5, "the matcher is missing", "", id="nothing"),
        pytest.param("reply contain x", 6, "unknown matcher `contain`", "contains", id="contain"),
        pytest.param(
            "reply does not contains x", 15, "unknown matcher `contains`", "contain", id="not"
        ),
        pytest.param("reply does contain x", 6, "unknown matcher `does`", "", id="does"),
        pytest.param("reply is not empty", 6, "`is not` is no matcher", "", id="is-not"),
        pytest.param("reply contains", 14, "the value is missing after `contains`", "", id="value"),
        pytest.param(
            'reply contains "a" b', 18, "found more text after the closing quote", "", id="rest"
        ),
        pytest.param("reply exists", 6, "unknown matcher `exists`", "", id="exists"),
    ],
)
def test_faults_of_reply_phrases(text: str, offset: int, message: str, suggestion: str) -> None:
    (fault,) = parse_reply_phrase(text).faults
    assert (fault.offset, fault.message, fault.suggestion) == (offset, message, suggestion)
