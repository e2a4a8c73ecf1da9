"""Which flows took longer or less than when their suite last ran."""

from __future__ import annotations

import pytest

from flowproof.report.diagram.changes import duration_changes
from tests.report.diagram.rows import Row


def took(id: str, now: float, usual: float | None) -> Row:
    return Row(id, offset=0.0, duration=now, usual=usual)


def test_the_largest_difference_comes_first() -> None:
    rows = [took("a", 3, 1), took("b", 1, 10), took("c", 4, 2), took("d", 2, 2.1)]
    found = duration_changes(rows)
    assert [one.flow.id for one in found] == ["b", "a", "c"]
    assert [one.symbol for one in found] == ["▼", "▲", "▲"]
    assert (found[0].usual, found[0].now, found[0].change) == (
        "10.0 s",
        "1.00 s",
        "10 % of the time",
    )
    assert found[1].change == "3.0 times as long"
    assert [one.tone for one in found] == ["quiet", "warn", "warn"]


@pytest.mark.parametrize(
    ("row", "listed"),
    [
        pytest.param(took("a", 1.5, 1), True, id="just-longer"),
        pytest.param(took("a", 1.49, 1), False, id="not-half-a-second"),
        pytest.param(took("a", 14.9, 10), False, id="not-half-as-long-again"),
        pytest.param(took("a", 0.3, 0.1), False, id="brief"),
        pytest.param(took("a", 2, None), False, id="unknown"),
        pytest.param(took("a", 2, float("nan")), False, id="no-time"),
        pytest.param(Row("a", duration=0.0, usual=9.0), False, id="did-not-run"),
    ],
)
def test_small_differences_are_not_listed(row: Row, listed: bool) -> None:
    assert bool(duration_changes([row])) == listed


@pytest.mark.parametrize(
    ("now", "usual", "said"),
    [
        pytest.param(1.0, 0.0, "over 100 times as long", id="from-nothing"),
        pytest.param(1e9, 1.0, "over 100 times as long", id="hugely"),
        pytest.param(0.0, 1.0, "under 1 % of the time", id="to-nothing"),
    ],
)
def test_extremes_are_told_in_words(now: float, usual: float, said: str) -> None:
    (change,) = duration_changes([took("a", now, usual)])
    assert change.change == said


def test_only_the_largest_are_listed() -> None:
    rows = [took(str(n), 100 + n, 1) for n in range(10_000)]
    found = duration_changes(rows, limit=5)
    assert [one.flow.id for one in found] == ["9999", "9998", "9997", "9996", "9995"]
