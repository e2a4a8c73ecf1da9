"""JSON in, JSON out: nothing gets lost, nothing is taken for something else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import (
    MAX_DEPTH,
    MISSING,
    JsonError,
    JsonValue,
    NumberText,
    canonical,
    deeper_than,
    lookup,
    parse,
    same,
    scalar_text,
    write,
)
from tests.trace.samples import values

number_texts = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?\Z")


@given(values)
def test_a_written_value_is_read_back_the_same(value: JsonValue) -> None:
    assert same(parse(write(value)), value)
    assert same(parse(write(value, indent=2)), value)
    assert same(parse(write(value).encode()), value)


@given(number_texts)
def test_a_number_keeps_its_text(text: str) -> None:
    assert write(parse(text)) == text
    assert write(parse(f'[{{"a":{text}}},{text}]')) == f'[{{"a":{text}}},{text}]'
    assert scalar_text(parse(text)) == text


@given(number_texts, number_texts)
def test_numbers_are_the_same_exactly_if_their_texts_are(left: str, right: str) -> None:
    assert same(parse(left), parse(right)) is (left == right)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("-0", id="minus zero"),
        pytest.param("-0.0", id="real minus zero"),
        pytest.param("9" * 5000, id="more digits than Python prints"),
        pytest.param("1.0", id="a real that is whole"),
        pytest.param("1.10", id="a final zero"),
        pytest.param("1E+2", id="an exponent"),
        pytest.param("1e999", id="beyond all floats"),
        pytest.param("0.1000000000000000055511151231257827", id="more digits than a float"),
    ],
)
def test_unusual_numbers_survive(text: str) -> None:
    assert write(parse(text)) == text


@given(values, values)
def test_canonical_texts_are_equal_exactly_if_values_are_the_same(
    left: JsonValue, right: JsonValue
) -> None:
    assert (canonical(left) == canonical(right)) is same(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param("1", "true", id="number and boolean"),
        pytest.param("0", "false", id="zero and boolean"),
        pytest.param("1", "1.0", id="integer and real"),
        pytest.param('"1"', "1", id="text and number"),
        pytest.param("null", "false", id="null and boolean"),
        pytest.param("[]", "{}", id="list and object"),
        pytest.param("[1]", "[1,1]", id="lengths"),
        pytest.param('{"a":null}', "{}", id="null and absent"),
        pytest.param('["é"]', '["e\u0301"]', id="composed and combining"),
    ],
)
def test_what_python_takes_for_equal_is_not_the_same(left: str, right: str) -> None:
    assert not same(parse(left), parse(right))
    assert canonical(parse(left)) != canonical(parse(right))


def test_the_order_of_keys_is_kept_and_is_no_difference() -> None:
    text = '{"b":1,"a":{"d":2,"c":3}}'
    assert write(parse(text)) == text
    assert same(parse(text), parse('{"a":{"c":3,"d":2},"b":1}'))


def test_of_a_repeated_key_the_last_one_counts() -> None:
    assert parse('{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("NaN", "NaN is not a JSON value", id="NaN"),
        pytest.param("[-Infinity]", "-Infinity is not a JSON value", id="infinity"),
        pytest.param(b'"\xff"', "not UTF-8 at byte 1", id="no UTF-8"),
        pytest.param(b'"\xed\xa0\x80"', "not UTF-8", id="a surrogate as bytes"),
        pytest.param("", "at line 1, column 1", id="nothing"),
        pytest.param('{"a":1,\n"b"}', "at line 2, column 4", id="a missing value"),
        pytest.param("[1] 2", "column 5", id="more than one value"),
        pytest.param("'a'", "column 1", id="single quotes"),
        pytest.param("[01]", "column 3", id="a leading zero"),
        pytest.param("[" * 100_000, "", id="a tower of brackets"),
        pytest.param("[" * 201 + "]" * 201, "deeper than 200", id="one level too deep"),
        pytest.param('{"a":' * 201 + "1" + "}" * 201, "deeper than 200", id="objects too deep"),
    ],
)
def test_what_is_not_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse(text)
    assert reason in str(caught.value)


def test_the_deepest_nesting_allowed_is_read() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert write(parse(text)) == text
    assert not deeper_than(parse(text), MAX_DEPTH)
    assert deeper_than(parse(text), MAX_DEPTH - 1)


def test_a_byte_order_mark_is_no_part_of_the_value() -> None:
    assert parse(b"\xef\xbb\xbf[1]") == [1]


def test_a_lone_surrogate_is_written_as_an_escape_and_other_text_is_not() -> None:
    assert write(["\ud800"]) == '["\\ud800"]'
    assert write(["é🙂"]) == '["é🙂"]'
    assert parse('"\\ud83d\\ude42"') == "🙂"


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=["NaN", "infinity"])
def test_a_float_that_json_lacks_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write([value])


def test_a_text_that_looks_like_a_kept_number_stays_text() -> None:
    value: JsonValue = ["number-1.10", 'number-"1.10"', NumberText("1.10")]
    assert json.loads(write(value)) == ["number-1.10", 'number-"1.10"', 1.1]


VALUE = parse('{"a":[{"b":null},7],"1":"one"}')


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param((), VALUE, id="the value itself"),
        pytest.param(("a", "0", "b"), None, id="null is something"),
        pytest.param(("a", "1"), 7, id="an index"),
        pytest.param(("1",), "one", id="a key of digits"),
        pytest.param(("a", "2"), MISSING, id="beyond the list"),
        pytest.param(("a", "-1"), MISSING, id="a negative index"),
        pytest.param(("a", "٠"), MISSING, id="digits of another script"),
        pytest.param(("a", "1", "x"), MISSING, id="below a scalar"),
        pytest.param(("c",), MISSING, id="no such key"),
    ],
)
def test_lookup(path: tuple[str, ...], found: object) -> None:
    assert lookup(VALUE, path) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('"a"', "a", id="text"),
        pytest.param("true", "true", id="boolean"),
        pytest.param("null", "null", id="null"),
        pytest.param("1.10", "1.10", id="number"),
        pytest.param("[]", None, id="list"),
        pytest.param("{}", None, id="object"),
    ],
)
def test_scalar_text(text: str, expected: str | None) -> None:
    assert scalar_text(parse(text)) == expected
