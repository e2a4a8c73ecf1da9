"""What a clause would find only where it does not look is unknown: it clears no call of a guard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.checks.explaining import why_not, why_unknown
from flowproof.checks.matching import MAX_STEPS, Fit, fit, holds, inside, locate
from flowproof.model.flow_spec import Assertion, Clause, Matcher
from flowproof.model.jsonvalue import JsonValue, scalar_text
from flowproof.model.outcome import Failed, Passed, Unjudged
from flowproof.model.trajectory import PlacedCall
from flowproof.spec.pattern import MAX_PROGRAM, PatternError, compile_pattern
from tests.checks.builders import (
    bare,
    call,
    called,
    clause,
    equals,
    failure,
    never,
    outcomes,
    passed,
    quoted,
    reply,
    trajectory,
)

CONTAINS, MATCHES = Matcher.CONTAINS, Matcher.MATCHES


def evil(path: str, matcher: Matcher = CONTAINS) -> Clause:
    return clause(path, matcher, bare("evil"))


@pytest.mark.parametrize(
    ("arguments", "condition", "expected"),
    [
        pytest.param('{"to": ["a@evil.com"]}', evil("to"), Fit.UNKNOWN, id="part-of-an-item"),
        pytest.param('{"to": ["evil"]}', evil("to"), Fit.MATCHES, id="an-item"),
        pytest.param('{"to": ["a@good.com"]}', evil("to"), Fit.DIFFERS, id="no-item"),
        pytest.param('{"to": ["evil", "x"]}', evil("to.1"), Fit.DIFFERS, id="another-item"),
        pytest.param('{"to": ["a@evil.com"]}', evil("to.0"), Fit.MATCHES, id="the-item"),
        pytest.param('{"to": [["x", "evil"]]}', evil("to"), Fit.UNKNOWN, id="an-item-of-an-item"),
        pytest.param('{"to": [{"a": "evil"}]}', evil("to"), Fit.UNKNOWN, id="inside-an-item"),
        pytest.param('{"to": {"a": "x-evil"}}', evil("to"), Fit.UNKNOWN, id="inside-an-object"),
        pytest.param('{"to": {"evil": 1}}', evil("to"), Fit.UNKNOWN, id="a-key"),
        pytest.param('{"to": {"a": 1}}', evil("to"), Fit.DIFFERS, id="nowhere-in-an-object"),
        pytest.param('{"to": []}', evil("to"), Fit.DIFFERS, id="empty-list"),
        pytest.param('{"to": ["evil"]}', evil("to", MATCHES), Fit.UNKNOWN, id="list-matches"),
        pytest.param('{"to": ["good"]}', evil("to", MATCHES), Fit.DIFFERS, id="list-matches-not"),
        pytest.param(
            '{"to": {"a": "evil"}}', evil("to", MATCHES), Fit.UNKNOWN, id="object-matches"
        ),
        pytest.param('{"to": {"a": 1}}', evil("to", MATCHES), Fit.DIFFERS, id="object-matches-not"),
        pytest.param(
            '{"to": [7]}', clause("to", CONTAINS, quoted("7")), Fit.UNKNOWN, id="quoted-number"
        ),
        pytest.param('[{"to": "evil"}]', evil("to"), Fit.UNKNOWN, id="a-list-of-arguments"),
        pytest.param('[{"to": "evil"}]', evil("0.to"), Fit.MATCHES, id="a-list-by-index"),
        pytest.param('"{\\"to\\": \\"evil\\"}"', evil("to"), Fit.UNKNOWN, id="encoded-twice"),
        pytest.param('"rm -rf"', evil("to"), Fit.UNKNOWN, id="a-text"),
        pytest.param('"rm"', clause("to", Matcher.ABSENT), Fit.UNKNOWN, id="absent-from-a-text"),
        pytest.param("null", evil("to"), Fit.DIFFERS, id="null"),
        pytest.param("[]", evil("to"), Fit.DIFFERS, id="no-arguments-as-a-list"),
        pytest.param("null", clause("to", Matcher.ABSENT), Fit.MATCHES, id="absent-from-null"),
        pytest.param('{"to": [{"at": "x"}]}', equals("to.at", "x"), Fit.UNKNOWN, id="no-index"),
        pytest.param('{"to": ["x"]}', equals("to.at", "x"), Fit.DIFFERS, id="items-without-keys"),
        pytest.param('{"to": [{"at": 1}]}', equals("to.1.at", "1"), Fit.DIFFERS, id="out-of-range"),
        pytest.param(
            '{"to": "{\\"at\\": 1}"}', equals("to.at", "1"), Fit.UNKNOWN, id="nested-text"
        ),
        pytest.param('{"to": "all"}', equals("to.at", "1"), Fit.DIFFERS, id="a-plain-text"),
    ],
)
def test_a_clause_is_unknown_only_where_it_could_hold(
    arguments: str, condition: Clause, expected: Fit
) -> None:
    made = call("send", arguments)
    assert fit("send", (condition,), made) is expected
    assert holds(condition, made.arguments) is (expected is Fit.MATCHES)
    seen = trajectory(made)
    assert passed(seen, never("send", condition)) == [expected is Fit.DIFFERS]
    assert passed(seen, called("send", condition)) == [expected is Fit.MATCHES]
    assert passed(seen, called("send", condition, times=(0, 0))) == [expected is Fit.DIFFERS]


def test_a_clause_that_does_not_hold_clears_a_call_whatever_the_others_say() -> None:
    made = call("send", '{"to": ["a@evil.com"], "n": 1}')
    assert fit("send", (evil("to"), equals("n", "1")), made) is Fit.UNKNOWN
    assert fit("send", (evil("to"), equals("n", "2")), made) is Fit.DIFFERS
    assert fit("send", (equals("n", "2"), evil("to")), made) is Fit.DIFFERS


@pytest.mark.parametrize(
    ("arguments", "condition", "unknown", "missing"),
    [
        pytest.param(
            '{"to": ["x", "a@evil.com"]}',
            evil("to"),
            "its `to` is a list, in which `to.1` contains it",
            '\'s `to` is ["x","a@evil.com"], of which no item equals evil (`to.1` contains it: '
            "name that path)",
            id="list",
        ),
        pytest.param(
            '{"to": {"a": "evil"}}',
            evil("to", MATCHES),
            "its `to` is an object, in which `to.a` matches it",
            '\'s `to` is {"a":"evil"}, an object, of which only a path inside can be compared with '
            "a text (`to.a` matches it: name that path)",
            id="object",
        ),
        pytest.param(
            '{"to": {"evil": 1}}',
            evil("to"),
            "its `to` is an object, in which the key `to.evil` contains it",
            '\'s `to` is {"evil":1}, an object, of which only a path inside can be compared with a '
            "text (the key `to.evil` contains it: name that path)",
            id="key",
        ),
        pytest.param(
            '[{"to": "evil"}]',
            evil("to"),
            "its arguments are a list, of which a path names an item by its index, such as `0.to`",
            "'s arguments are a list, of which a path names an item by its index, such as `0.to`: "
            'it is [{"to":"evil"}]',
            id="no-object",
        ),
        pytest.param(
            '"{}"',
            evil("to"),
            "its arguments are a text, in which no path leads to `to`",
            '\'s arguments are a text, in which no path leads to `to`: it is "{}"',
            id="encoded-twice",
        ),
        pytest.param(
            '{"to": [{"at": 1}]}',
            equals("to.at", "1"),
            "its `to` is a list, of which a path names an item by its index, such as `to.0.at`",
            "'s `to` is a list, of which a path names an item by its index, such as `to.0.at`: "
            'it is {"to":[{"at":1}]}',
            id="no-index",
        ),
    ],
)
def test_what_is_unknown_names_the_place_and_the_path_to_write(
    arguments: str, condition: Clause, unknown: str, missing: str
) -> None:
    placed = PlacedCall(1, call("send", arguments))
    assert why_unknown((condition,), placed) == unknown
    assert why_not((condition,), placed) == f"the closest call{missing}"
    found = failure(trajectory(placed.call), never("send", condition)).message
    assert f"in turn 1; {unknown}, so it cannot be shown that they differ: " in found


# With (?s) and an end that never comes, every place of the pattern stays possible.
HEAVY = "(?s)(?:(?:.?.?.?.?.?.?.?.?.?.?){100}){10}Z"


def test_a_search_that_could_take_minutes_is_not_begun_and_not_green() -> None:
    size = compile_pattern(HEAVY).size
    assert size <= MAX_PROGRAM
    long = "x" * (MAX_STEPS // size + 1)
    seen = trajectory(call("send", f'{{"body": "{long}", "all": ["{long}"]}}'), text=long)
    body = clause("body", MATCHES, bare(HEAVY))
    steps: list[Assertion] = [
        never("send", body),
        never("send", clause("all", MATCHES, bare(HEAVY))),
        reply(MATCHES, HEAVY, negated=True),
    ]
    for outcome in outcomes(seen, *steps):
        assert isinstance(outcome, Unjudged)
        assert outcome.reason.startswith("the pattern cannot be used: it is too large to search a")
    with pytest.raises(PatternError, match="repeat less"):
        holds(body, {"body": long})


def test_a_small_pattern_searches_a_megabyte_and_a_large_one_a_page() -> None:
    text = "ab " * 350_000
    assert passed(trajectory(text=text), reply(MATCHES, "[0-9]{4,}", negated=True)) == [True]
    assert passed(trajectory(text=text + "1234"), reply(MATCHES, "[0-9]{4,}")) == [True]
    seen = trajectory(text="x" * 500)
    assert outcomes(seen, reply(MATCHES, HEAVY, negated=True)) == (Passed(),)
    assert isinstance(outcomes(seen, reply(MATCHES, HEAVY))[0], Failed)


# Keys without dots, which a path could not tell from two keys.
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.sampled_from(["a", "b1", 1, True, None]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "c", "1e"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, st.sampled_from(["", "a", "1", "e"]))
def test_the_place_that_is_named_is_one_where_the_text_stands(value: JsonValue, text: str) -> None:
    place = inside(Clause(("x",), CONTAINS, bare(text)), value)
    listed = list(_leaves(value))
    assert (place is None) is not any(text in leaf for leaf in listed)
    if place is not None:
        assert text in place.text
        parent = locate({"x": value}, place.path[:-1]) if place.is_key else None
        assert parent is None or (isinstance(parent, dict) and place.path[-1] in parent)


def _leaves(value: JsonValue) -> Iterator[str]:
    match value:
        case dict():
            yield from value
            yield from (leaf for item in value.values() for leaf in _leaves(item))
        case list():
            yield from (leaf for item in value for leaf in _leaves(item))
        case _:
            yield scalar_text(value) or ""
