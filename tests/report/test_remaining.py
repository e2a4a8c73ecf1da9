"""The estimate of the time that is left: with all durations known, some, and none."""

from __future__ import annotations

import pytest

from flowproof.report.remaining import ENOUGH, Remaining


def test_nothing_known_is_no_estimate() -> None:
    assert Remaining([], 10, 2).seconds([]) is None


def test_what_is_left_is_shared_by_the_flows_that_run_at_once() -> None:
    left = Remaining([(name, 10.0) for name in "abcd"], 4, 2)
    assert left.seconds([]) == 20.0
    left.begun("a")
    assert left.seconds([("a", 4.0)]) == pytest.approx(18.0)


def test_it_takes_at_least_as_long_as_the_longest_that_runs() -> None:
    left = Remaining([("a", 60.0), ("b", 1.0)], 2, 2)
    left.begun("a")
    left.begun("b")
    assert left.seconds([("a", 10.0), ("b", 0.0)]) == 50.0


def test_one_that_takes_longer_than_it_used_to_does_not_shorten_the_rest() -> None:
    left = Remaining([("a", 1.0), ("b", 10.0)], 2, 1)
    left.begun("a")
    assert left.seconds([("a", 500.0)]) == 10.0


def test_flows_that_nobody_timed_take_what_others_take() -> None:
    left = Remaining([("a", 10.0)], 3, 1)
    assert left.seconds([]) == 30.0
    for _ in range(ENOUGH):
        left.ended(2.0)
    assert left.seconds([]) == pytest.approx(14.0)


def test_repetitions_of_one_path_count_each() -> None:
    left = Remaining([("a", 10.0), ("a", 10.0)], 2, 1)
    left.begun("a")
    assert left.seconds([]) == 10.0


def test_the_engine_says_how_many_run_at_once() -> None:
    left = Remaining([("a", 10.0), ("b", 10.0), ("c", 10.0), ("d", 10.0)], 4, 1)
    assert left.seconds([]) == 40.0
    left.at_once(4)
    assert left.seconds([]) == 10.0


def test_the_end_needs_no_estimate() -> None:
    left = Remaining([("a", 10.0)], 1, 4)
    left.begun("a")
    left.ended(10.0)
    assert left.seconds([]) is None
