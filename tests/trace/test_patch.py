"""JSON Patch: what `diff` makes, `apply` turns back, and nothing else is accepted."""

from __future__ import annotations

import copy
import json
from typing import cast

import jsonpatch
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flowproof.model.jsonvalue import JsonValue, parse, same, write
from flowproof.trace.patch import Budget, PatchError, apply, diff, pointer, tokens_of
from tests.trace.samples import strings, values

LONG = "a text so long that repeating it would not pay, " * 3


def op(op: str, path: str, *value: JsonValue) -> JsonValue:
    return {"op": op, "path": path, **({"value": value[0]} if value else {})}


@given(values, values)
def test_a_diff_leads_to_the_new_value_and_changes_neither(old: JsonValue, new: JsonValue) -> None:
    before = copy.deepcopy((old, new))
    operations = diff(old, new)
    assert same(apply(old, operations), new)
    assert same(list(before), [old, new])
    assert (operations == []) is same(old, new)


lists_of_few = st.lists(st.sampled_from([1, True, "1", None, [1], [True], {"a": 1}]), max_size=30)


@given(lists_of_few, lists_of_few)
def test_lists_that_share_elements(old: list[JsonValue], new: list[JsonValue]) -> None:
    assert same(apply(old, diff(old, new)), new)


@given(values, values)
def test_the_jsonpatch_library_reads_our_patches_alike(old: JsonValue, new: JsonValue) -> None:
    assume("NumberText" not in repr((old, new)))
    theirs = jsonpatch.apply_patch(copy.deepcopy(old), json.dumps(diff(old, new)))
    assert same(cast("JsonValue", theirs), new)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param([LONG], [LONG, 3, 4], [op("add", "/-", 3), op("add", "/-", 4)], id="append"),
        pytest.param([1, LONG], [0, 1, LONG], [op("add", "/0", 0)], id="insert"),
        pytest.param([LONG, 2, 3, 4], [LONG, 4], [op("remove", "/1")] * 2, id="drop"),
        pytest.param(
            [LONG, "a", "b", "c"],
            [LONG, "b", "c", "d"],
            [op("remove", "/1"), op("add", "/-", "d")],
            id="window",
        ),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, [op("add", "/b", 2)], id="new key"),
        pytest.param({"a/b": 1, "~": 2}, {"~": 2}, [op("remove", "/a~1b")], id="gone key"),
        pytest.param(
            {"m": [{"role": "user", "content": "a"}, 0]},
            {"m": [{"role": "user", "content": "b"}, 0]},
            [op("replace", "/m/0/content", "b")],
            id="one text",
        ),
        pytest.param([1], [True], [op("replace", "/0", True)], id="1 is not true"),
        pytest.param([parse("1.0")], [1], [op("replace", "/0", 1)], id="1.0 is not 1"),
        pytest.param([0], ["0"], [op("replace", "/0", "0")], id="0 is no text"),
        pytest.param(parse("1.10"), parse("1.1"), [op("replace", "", 1.1)], id="number text"),
        pytest.param(
            {"a": 1, "b": 2}, {"c": 3}, [op("replace", "", {"c": 3})], id="nothing in common"
        ),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, [], id="key order is no change"),
    ],
)
def test_a_diff_reads_well(old: JsonValue, new: JsonValue, expected: list[JsonValue]) -> None:
    assert same(diff(old, new), expected)


def test_long_lists_are_compared_in_linear_time() -> None:
    old: list[JsonValue] = list(range(20_000))
    new: list[JsonValue] = [-number for number in range(20_000)]
    # Quadratic would be 400 million comparisons, far beyond the timeout of a test.
    assert same(apply(old, diff(old, new)), new)


def test_the_deepest_values_do_not_exhaust_the_stack() -> None:
    old, new = parse("[" * 199 + "1" + "]" * 199), parse("[" * 200 + "1" + "]" * 200)
    assert same(apply(old, diff(old, new)), new)
    old, new = (parse('{"a":[' * 100 + leaf + "]}" * 100) for leaf in ("1", "2"))
    assert len(diff(old, new)) == 1
    assert same(apply(old, diff(old, new)), new)


def test_what_no_operation_reaches_into_is_shared() -> None:
    old: JsonValue = {"tools": [{"name": "a"}], "messages": [{"n": 0}, {"n": 1}]}
    added: JsonValue = {"n": 2}
    new = apply(old, [op("add", "/messages/-", added), op("replace", "/messages/0/n", 7)])
    assert isinstance(old, dict) and isinstance(new, dict)
    assert new["tools"] is old["tools"]
    before, after = old["messages"], new["messages"]
    assert isinstance(before, list) and isinstance(after, list)
    assert after[1] is before[1]
    assert after[2] is added
    assert same(before, [{"n": 0}, {"n": 1}])
    assert same(after, [{"n": 7}, {"n": 1}, {"n": 2}])


def test_a_value_that_a_patch_brings_in_is_not_changed_by_the_next_operation() -> None:
    brought: JsonValue = []
    operations = [op("add", "/a", brought), op("add", "/b", brought), op("add", "/a/-", 1)]
    assert same(apply({}, operations), {"a": [1], "b": []})
    assert brought == []


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        pytest.param("add", "an operation is an object", id="no object"),
        pytest.param(op("move", "/a"), "`op` is one of", id="move"),
        pytest.param({"op": ["add"], "path": "", "value": 1}, "`op` is one of", id="op a list"),
        pytest.param({"op": "add", "value": 1}, "`path` is a string", id="no path"),
        pytest.param(op("add", "/a"), "`value` is missing", id="no value"),
        pytest.param(op("add", "a", 1), "starts with `/`", id="no slash"),
        pytest.param(op("add", "/~2", 1), "`~0`", id="odd escape"),
        pytest.param(op("add", "/~", 1), "`~0`", id="bare tilde"),
        pytest.param(op("remove", ""), "whole document", id="remove all"),
        pytest.param(op("remove", "/x"), "no such key", id="remove nothing"),
        pytest.param(op("replace", "/x", 1), "no such key", id="replace nothing"),
        pytest.param(op("add", "/x/y", 1), "no key `x`", id="no way"),
        pytest.param(op("add", "/n/y", 1), "neither an object nor", id="through a number"),
        pytest.param(op("add", "/l/4", 1), "beyond the end", id="index too large"),
        pytest.param(op("replace", "/l/3", 1), "beyond the end", id="replace past the end"),
        pytest.param(op("remove", "/l/-", 1), "no index", id="remove the end"),
        pytest.param(op("replace", "/l/00", 1), "no index", id="leading zero"),
        pytest.param(op("replace", "/l/-1", 1), "no index", id="negative"),
        pytest.param(op("replace", "/l/²", 1), "no index", id="another digit"),
        pytest.param(op("replace", "/l/", 1), "no index", id="empty index"),
        pytest.param(op("replace", "/l/" + "9" * 5000, 1), "beyond the end", id="huge index"),
        pytest.param(op("add", "/a" * 201, 1), "deeper", id="deep pointer"),
        pytest.param(op("add", "/a/b", parse("[" * 200 + "]" * 200)), "deeper", id="deep value"),
    ],
)
def test_what_does_not_fit_is_refused(operation: JsonValue, reason: str) -> None:
    document: JsonValue = {"n": 1, "l": [1, 2, 3]}
    with pytest.raises(PatchError, match=reason) as caught:
        apply(document, [op("add", "/a", 1), operation])
    assert "operation 2" in str(caught.value)
    assert same(document, {"n": 1, "l": [1, 2, 3]})
    if isinstance(operation, dict) and isinstance(operation["op"], str) and "path" in operation:
        assert f"({operation['op']} {operation['path']})" in str(caught.value)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param(op("add", "", 5), 5, id="whole"),
        pytest.param(op("add", "/n", 2), {"n": 2, "l": [1]}, id="add over a key"),
        pytest.param(op("add", "/l/1", 2), {"n": 1, "l": [1, 2]}, id="index of the end"),
        pytest.param(op("add", "/", 2), {"n": 1, "l": [1], "": 2}, id="empty key"),
        pytest.param(op("add", "/~01", 2), {"n": 1, "l": [1], "~1": 2}, id="escaped tilde"),
        pytest.param(op("replace", "/n", None), {"n": None, "l": [1]}, id="null is a value"),
    ],
)
def test_what_fits_is_done(operation: JsonValue, expected: JsonValue) -> None:
    assert same(apply({"n": 1, "l": [1]}, [operation]), expected)


def test_a_spent_budget_refuses() -> None:
    long: JsonValue = [0] * 1000
    budget = Budget(2500)
    apply(long, [op("add", "/-", 1)], budget)
    apply(long, [op("add", "/-", 1)], budget)
    with pytest.raises(PatchError, match="costs more"):
        apply(long, [op("add", "/-", 1)], budget)
    with pytest.raises(PatchError, match="costs more"):
        apply(long, [op("add", "/0", 1)] * 10, Budget(9999))


@given(st.lists(strings, max_size=4))
def test_pointers_keep_their_parts(tokens: list[str]) -> None:
    assert tokens_of(pointer(tokens)) == tuple(tokens)


def test_patches_stay_small() -> None:
    old: JsonValue = {"messages": [{"role": "user", "content": "x" * 500}] * 50, "n": 1}
    assert isinstance(old, dict) and isinstance(old["messages"], list)
    new: JsonValue = {**old, "messages": [*old["messages"][10:], "end"], "n": 2}
    assert len(write(diff(old, new))) < 1000


def test_an_object_and_a_long_way_cost_more_than_a_list() -> None:
    wide: JsonValue = {str(number): 0 for number in range(1000)}
    with pytest.raises(PatchError, match="costs more"):
        apply(wide, [op("add", "/a", 1)], Budget(10_000))
    apply([0] * 1000, [op("add", "/-", 1)], Budget(10_000))
    deep: JsonValue = 1
    for _ in range(100):
        deep = {"a": deep}
    step = op("add", "/a" * 100, 2)
    apply(deep, [step] * 4, Budget(10_000))
    with pytest.raises(PatchError, match="costs more"):
        apply(deep, [step] * 8, Budget(10_000))
