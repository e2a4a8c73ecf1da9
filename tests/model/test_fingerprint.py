"""Digests are equal exactly if the values are the same."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given

from flowproof.model.fingerprint import Fingerprints, fingerprint
from flowproof.model.jsonvalue import JsonValue, parse, same
from tests.trace.samples import values


@given(values, values)
def test_equal_exactly_if_the_same(left: JsonValue, right: JsonValue) -> None:
    assert (fingerprint(left) == fingerprint(right)) is same(left, right)


@given(values)
def test_memory_changes_no_digest(value: JsonValue) -> None:
    known = Fingerprints()
    expected = fingerprint(copy.deepcopy(value))
    assert [known.of(value), known.of(value), known.of(copy.deepcopy(value))] == [expected] * 3


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param("1", "1.0", id="integer and real"),
        pytest.param("1", "true", id="number and boolean"),
        pytest.param("0.0", "-0.0", id="sign of zero"),
        pytest.param("1.10", "1.1", id="number text"),
        pytest.param('"1"', "1", id="text and number"),
        pytest.param("[]", "{}", id="list and object"),
        pytest.param("[[]]", '["[]"]', id="list and its text"),
        pytest.param('{"a":[1,2]}', '{"a":[[1,2]]}', id="nesting"),
        pytest.param('{"a":["1","2"]}', '{"a":["1,2"]}', id="joined texts"),
        pytest.param('{"a":{"b":1}}', '{"a":1,"b":1}', id="lifted key"),
        pytest.param('{"a":null}', "{}", id="null and nothing"),
        pytest.param('["é"]', '["e\u0301"]', id="composed and combining"),
    ],
)
def test_different_values_differ(left: str, right: str) -> None:
    assert not same(parse(left), parse(right))
    assert fingerprint(parse(left)) != fingerprint(parse(right))


def test_key_order_is_no_difference() -> None:
    left, right = parse('{"a":[{"x":1,"y":2}],"b":2}'), parse('{"b":2,"a":[{"y":2,"x":1}]}')
    assert fingerprint(left) == fingerprint(right)


def test_shared_parts_are_read_once_and_stay_alive() -> None:
    class Counting(dict[str, JsonValue]):
        read = 0

        def items(self):  # type: ignore[no-untyped-def]
            Counting.read += 1
            return super().items()

    # The encoder reads members through `items` for a subclass, which makes reads countable.
    shared: list[JsonValue] = [Counting(n=number) for number in range(10)]
    known = Fingerprints()
    for length in range(1, 11):
        known.of({"messages": shared[:length]})
    assert Counting.read == 10
    digests = {known.of({"messages": [{"n": number}]}) for number in range(1000)}
    assert len(digests) == 1000
