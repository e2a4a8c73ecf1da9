"""Shards: each flow in exactly one, the same on every machine, and balanced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import UsageError
from flowproof.suite.sharding import Shard, parse_shard, part_of

NAMES = st.lists(st.text("abc/", min_size=1, max_size=6), unique=True, max_size=30)
SECONDS = st.dictionaries(st.text("abc/", min_size=1, max_size=6), st.floats(0, 1e4), max_size=30)


@given(NAMES, st.integers(1, 9), st.none() | SECONDS)
def test_every_flow_is_in_exactly_one_shard(
    names: list[str], count: int, durations: dict[str, float] | None
) -> None:
    parts = [part_of(names, Shard(index + 1, count), durations) for index in range(count)]
    assert sorted(name for part in parts for name in part) == sorted(names)


@given(NAMES, st.integers(1, 5), st.none() | SECONDS)
def test_the_order_of_arrival_does_not_matter(
    names: list[str], count: int, durations: dict[str, float] | None
) -> None:
    shard = Shard(1, count)
    assert part_of(names, shard, durations) == part_of(names[::-1], shard, durations)


def test_the_longest_go_first() -> None:
    durations = {"a": 9.0, "b": 5.0, "c": 4.0, "d": 1.0}
    parts = [part_of([*durations], Shard(index, 2), durations) for index in (1, 2)]
    assert parts == [{"a", "d"}, {"b", "c"}]


def test_a_flow_without_a_duration_counts_as_the_median() -> None:
    durations = {"a": 10.0, "b": 2.0, "c": 2.0}
    parts = [part_of([*durations, "new"], Shard(index, 2), durations) for index in (1, 2)]
    assert parts == [{"a"}, {"b", "c", "new"}]


def test_without_durations_they_take_turns() -> None:
    assert part_of(["d", "a", "c", "b"], Shard(1, 2), None) == {"a", "c"}


def test_reading() -> None:
    assert parse_shard("2/4") == Shard(2, 4)


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1 / 2"])
def test_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard"):
        parse_shard(text)


def test_flows_that_took_no_time_do_not_meet_in_one_shard() -> None:
    durations = dict.fromkeys("abcd", 0.0)
    parts = [part_of([*durations], Shard(index, 2), durations) for index in (1, 2)]
    assert [len(part) for part in parts] == [2, 2]
