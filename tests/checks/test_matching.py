"""Clauses hold for the arguments they should, and for no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.checks.explaining import closest, why_not
from flowproof.checks.matching import Fit, equal, fit, holds, locate
from flowproof.model.flow_spec import Clause, Expected, Matcher
from flowproof.model.jsonvalue import MISSING, JsonValue, scalar_text
from flowproof.model.trajectory import PlacedCall, ToolCall
from flowproof.spec.pattern import PatternError
from tests.checks.builders import bare, call, clause, equals, json, quoted

EQUALS, CONTAINS, MATCHES = Matcher.EQUALS, Matcher.CONTAINS, Matcher.MATCHES
EXISTS, ABSENT = Matcher.EXISTS, Matcher.ABSENT


@pytest.mark.parametrize(
    ("wanted", "actual", "same"),
    [
        pytest.param(bare("1"), "1", True, id="number"),
        pytest.param(bare("1"), '"1"', True, id="text-of-a-number"),
        pytest.param(bare("1"), "1.0", False, id="other-text-of-the-number"),
        pytest.param(bare("1"), "true", False, id="one-is-not-true"),
        pytest.param(bare("1.10"), "1.10", True, id="number-by-its-text"),
        pytest.param(bare("1.10"), "1.1", False, id="shorter-number"),
        pytest.param(bare("1e5"), "1e5", True, id="exponent"),
        pytest.param(bare("true"), "true", True, id="true"),
        pytest.param(bare("true"), '"true"', True, id="text-true"),
        pytest.param(bare("True"), "true", False, id="python-true"),
        pytest.param(bare("null"), "null", True, id="null"),
        pytest.param(bare("null"), '"null"', True, id="text-null"),
        pytest.param(bare(""), "null", False, id="null-is-not-empty"),
        pytest.param(quoted("1"), '"1"', True, id="quoted-is-text"),
        pytest.param(quoted("1"), "1", False, id="quoted-is-no-number"),
        pytest.param(quoted("null"), "null", False, id="quoted-is-no-null"),
        pytest.param(bare("a"), '["a"]', False, id="scalar-is-no-list"),
        pytest.param((bare("a"), bare("1")), '["a", 1]', True, id="list"),
        pytest.param((bare("a"),), '["a", 1]', False, id="shorter-list"),
        pytest.param((bare("1"), bare("a")), '["a", 1]', False, id="list-order"),
        pytest.param((), "{}", False, id="list-is-no-object"),
        pytest.param({"a": bare("1")}, '{"a": 1}', True, id="object"),
        pytest.param({"a": bare("1")}, '{"a": 1, "b": 2}', False, id="object-with-more-keys"),
        pytest.param({"a": bare("1")}, "{}", False, id="object-with-fewer-keys"),
        pytest.param({"a": {"b": (quoted("1"),)}}, '{"a": {"b": ["1"]}}', True, id="deep"),
        pytest.param({"a": {"b": (quoted("1"),)}}, '{"a": {"b": [1]}}', False, id="deep-quoted"),
    ],
)
def test_equality_goes_by_text_and_quotes(wanted: Expected, actual: str, same: bool) -> None:
    assert equal(wanted, json(actual)) is same


@pytest.mark.parametrize(
    ("arguments", "path", "found"),
    [
        pytest.param('{"a": {"b": 1}}', "a.b", 1, id="nested"),
        pytest.param('{"a": [{"b": 1}]}', "a.0.b", 1, id="list-index"),
        pytest.param('{"a": {"0": 1}}', "a.0", 1, id="digits-as-a-key"),
        pytest.param('{"a.b": 1}', "a.b", 1, id="key-with-a-dot"),
        pytest.param('{"x": {"a.b": {"c.d": 1}}}', "x.a.b.c.d", 1, id="keys-with-dots"),
        pytest.param('{"a": {"c": 2}, "a.b": 1}', "a.b", 1, id="dead-end-then-dotted-key"),
        pytest.param('{"a": {"b": 1}, "a.b": 2}', "a.b", 1, id="nested-before-dotted-key"),
        pytest.param('{"a": null}', "a", None, id="null-is-present"),
        pytest.param('{"a": [1]}', "a.1", MISSING, id="past-the-end"),
        pytest.param('{"a": [1]}', "a.-1", MISSING, id="negative-index"),
        pytest.param('{"a": [1]}', "a." + "9" * 5000, MISSING, id="huge-index"),
        pytest.param('{"a": [1, 2]}', "a.\u0661", MISSING, id="arabic-digit"),
        pytest.param('{"a": "text"}', "a.0", MISSING, id="into-a-string"),
        pytest.param("[1]", "a", MISSING, id="arguments-are-a-list"),
        pytest.param("null", "a", MISSING, id="arguments-are-null"),
    ],
)
def test_a_path_finds_what_stands_there(arguments: str, path: str, found: object) -> None:
    assert locate(json(arguments), tuple(path.split("."))) == found


ARGUMENTS = '{"city": "Nairobi", "n": 1042, "tags": ["new", 7], "at": {"x": null}, "ok": true}'


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param(clause("city", CONTAINS, bare("rob")), True, id="contains"),
        pytest.param(clause("city", CONTAINS, bare("ROB")), False, id="contains-minds-case"),
        pytest.param(clause("n", CONTAINS, bare("04")), True, id="number-contains"),
        pytest.param(clause("n", CONTAINS, quoted("04")), True, id="contains-quoted"),
        pytest.param(clause("tags", CONTAINS, bare("new")), True, id="list-contains"),
        pytest.param(clause("tags", CONTAINS, bare("ne")), False, id="list-contains-whole-items"),
        pytest.param(clause("tags", CONTAINS, bare("7")), True, id="list-contains-number"),
        pytest.param(clause("tags", CONTAINS, quoted("7")), False, id="list-contains-no-string"),
        pytest.param(clause("at", CONTAINS, bare("x")), False, id="object-contains-nothing"),
        pytest.param(clause("city", MATCHES, bare("^N.*i$")), True, id="matches"),
        pytest.param(clause("n", MATCHES, quoted("^[0-9]{4,}")), True, id="number-matches"),
        pytest.param(clause("ok", MATCHES, bare("^true$")), True, id="boolean-matches"),
        pytest.param(clause("tags", MATCHES, bare(".")), False, id="list-matches-nothing"),
        pytest.param(clause("at", MATCHES, bare(".")), False, id="object-matches-nothing"),
        pytest.param(clause("at.x", EXISTS), True, id="null-exists"),
        pytest.param(clause("at.y", EXISTS), False, id="exists-not"),
        pytest.param(clause("at.y", ABSENT), True, id="absent"),
        pytest.param(clause("at.x", ABSENT), False, id="null-is-not-absent"),
        pytest.param(clause("nowhere", EQUALS, bare("null")), False, id="absent-is-not-null"),
        pytest.param(clause("nowhere", CONTAINS, bare("a")), False, id="absent-contains"),
        pytest.param(clause("nowhere", MATCHES, bare(".*")), False, id="absent-matches"),
    ],
)
def test_a_clause_holds_or_explains_itself(condition: Clause, expected: bool) -> None:
    made = call("book", ARGUMENTS)
    assert holds(condition, made.arguments) is expected
    assert (fit("book", (condition,), made) is Fit.MATCHES) is expected
    if not expected:
        assert why_not((condition,), PlacedCall(1, made)).startswith("the closest call")


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        pytest.param(
            [equals("city", "Paris")],
            "the closest call's `city` is Nairobi, not Paris",
            id="equals",
        ),
        pytest.param(
            [equals("city", "Paris"), equals("n", "7")],
            "the closest call's `city` is Nairobi, not Paris; its `n` is 1042, not 7",
            id="two-clauses",
        ),
        pytest.param(
            [equals("town", "Paris"), clause("ok", ABSENT)],
            "the closest call has no `town`: it has `city`, `n`, `tags`, `at`, `ok`; "
            "its `ok` is true, where nothing should be",
            id="missing-and-absent",
        ),
        pytest.param(
            [clause("n", EQUALS, quoted("1042"))],
            'the closest call\'s `n` is 1042, not the string "1042"',
            id="quoted",
        ),
        pytest.param(
            [clause("city", EQUALS, quoted("Nairobi "))],
            'the closest call\'s `city` is Nairobi, not "Nairobi "',
            id="trailing-blank",
        ),
        pytest.param(
            [clause("city", EQUALS, bare("N\u0430irobi"))],
            "the closest call's `city` is Nairobi, not N\u0430irobi (character 2: "
            "U+0061 LATIN SMALL LETTER A, not U+0430 CYRILLIC SMALL LETTER A)",
            id="look-alike",
        ),
        pytest.param(
            [clause("city", EQUALS, bare("Nai\u200brobi"))],
            'the closest call\'s `city` is Nairobi, not "Nai\\u200brobi" (character 4: '
            "U+0072 LATIN SMALL LETTER R, not U+200B ZERO WIDTH SPACE)",
            id="invisible",
        ),
        pytest.param(
            [clause("city", MATCHES, bare("^P"))],
            "the closest call's `city` is Nairobi, which does not match ^P",
            id="matches",
        ),
        pytest.param(
            [clause("tags", CONTAINS, bare("old"))],
            'the closest call\'s `tags` is ["new",7], of which no item equals old',
            id="list-contains",
        ),
        pytest.param(
            [clause("at", EQUALS, {"y": bare("1")})],
            "the closest call has no `at.y`; it also has `at.x`, which is null",
            id="object",
        ),
        pytest.param(
            [clause("tags", EQUALS, (bare("new"),))],
            'the closest call\'s `tags` is ["new",7], not [new]',
            id="list-length",
        ),
        pytest.param(
            [Clause((), EQUALS, bare("x"))],
            "the closest call's arguments are {",
            id="the-whole",
        ),
    ],
)
def test_an_explanation_names_path_found_and_wanted(conditions: list[Clause], message: str) -> None:
    assert why_not(tuple(conditions), PlacedCall(1, call("book", ARGUMENTS))).startswith(message)


def test_long_texts_are_shown_around_their_difference() -> None:
    arguments = '{"body": "' + "x" * 5000 + "HERE" + "y" * 5000 + '"}'
    wanted = equals("body", "x" * 5000 + "THERE" + "y" * 5000)
    text = why_not((wanted,), PlacedCall(1, call("book", arguments)))
    assert "xHEREy" in text and "xTHEREy" in text and "from character 5,001 on" in text
    assert len(text) < 700


def test_arguments_that_are_not_json_satisfy_nothing_and_refute_nothing() -> None:
    broken = call("book", '{"city": "Nai')
    for condition in (equals("city", "Nai"), clause("town", ABSENT), clause("city", EXISTS)):
        assert fit("book", (condition,), broken) is Fit.UNKNOWN
    assert fit("book", (), broken) is Fit.MATCHES
    assert fit("other", (), broken) is Fit.DIFFERS
    assert "not JSON" in why_not((equals("city", "Nai"),), PlacedCall(1, broken))


def test_the_closest_call_satisfies_most_clauses_then_differs_least() -> None:
    wanted = (equals("city", "Paris"), equals("n", "7"))
    calls = [
        PlacedCall(1, call("book", "oops")),
        PlacedCall(2, call("book", '{"city": "Rome"}')),
        PlacedCall(3, call("book", '{"city": "Rome", "n": 8}')),
        PlacedCall(4, call("book", '{"city": "Rome", "n": 7}')),
        PlacedCall(5, call("book", '{"city": "Oslo", "n": 7}')),
    ]
    assert closest(wanted, calls).turn == 4
    assert closest(wanted, calls[:3]).turn == 3
    assert closest(wanted, calls[:2]).turn == 2


ANY_TEXT = st.text(st.characters(exclude_categories=()))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS.map(lambda value: json("1e999") if value in (float("inf"), -float("inf")) else value),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)


@given(SCALARS.filter(lambda value: not isinstance(value, float)))
def test_a_bare_scalar_equals_exactly_its_text(value: bool | int | str | None) -> None:
    text = scalar_text(value)
    assert text is not None
    assert equal(bare(text), value) and equal(bare(text), text)
    assert not equal(bare(text + "0"), value)
    assert equal(quoted(text), value) is isinstance(value, str)


def written(value: JsonValue) -> Expected:
    """The value as an author would write it."""
    if isinstance(value, dict):
        return {key: written(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(map(written, value))
    text = scalar_text(value)
    assert text is not None
    return quoted(text) if isinstance(value, str) else bare(text)


FEW: st.SearchStrategy[JsonValue] = st.recursive(
    st.sampled_from([1, "1", True, "true", None, "null", 1.5]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(FEW, FEW)
def test_structured_equality_is_equality_but_for_bare_scalars(
    left: JsonValue, right: JsonValue
) -> None:
    assert equal(written(left), left)
    assert equal(written(left), right) is (typed(left) == loosened(left, right))


def typed(value: JsonValue) -> object:
    """The value with the type of every scalar, since Python takes `1` for `True`."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return type(value).__name__, value


def loosened(left: JsonValue, right: JsonValue) -> object:
    """`right`, with each string that is the text of `left`'s scalar there replaced by it."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {k: loosened(left[k], v) if k in left else typed(v) for k, v in right.items()}
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [loosened(one, other) for one, other in zip(left, right, strict=True)]
    if isinstance(right, str) and not isinstance(left, dict | list) and scalar_text(left) == right:
        return typed(left)
    return typed(right)


@given(VALUES, ANY_TEXT, ANY_TEXT, st.sampled_from(Matcher))
def test_no_value_makes_a_clause_raise(
    value: JsonValue, text: str, path: str, matcher: Matcher
) -> None:
    arguments: JsonValue = {"a": value, path: value}
    for parts in (("a",), tuple(path.split("."))):
        condition = Clause(parts, matcher, bare(text))
        try:
            held = holds(condition, arguments)
        except PatternError:
            assert matcher is Matcher.MATCHES
        else:
            made = PlacedCall(1, ToolCall(None, "book", "", arguments))
            why = why_not((condition,), made)
            assert bool(why) is not held
            assert len(why) < 2000
