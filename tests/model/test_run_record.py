"""What several flows together return, and how verdicts are counted."""

from __future__ import annotations

from itertools import permutations

import pytest

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, RunRecord, combined_exit_code

PASSED, FAILED, AUTHOR, INTERNAL, WORLD, INTERRUPTED = (
    ExitCode(number) for number in (0, 1, 2, 3, 4, 130)
)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        pytest.param((), ExitCode.NOTHING_RAN, id="none"),
        pytest.param((PASSED,), PASSED, id="passed"),
        pytest.param((PASSED, WORLD), WORLD, id="the world"),
        pytest.param((WORLD, FAILED), FAILED, id="1 before 4"),
        pytest.param((FAILED, AUTHOR), AUTHOR, id="2 before 1"),
        pytest.param((WORLD, FAILED, AUTHOR, PASSED), AUTHOR, id="2 before 1 before 4"),
        pytest.param((AUTHOR, INTERNAL), INTERNAL, id="internal before 2"),
        pytest.param((INTERNAL, INTERRUPTED, AUTHOR), INTERRUPTED, id="interrupted before all"),
    ],
)
def test_the_worst_counts_in_any_order(codes: tuple[ExitCode, ...], expected: ExitCode) -> None:
    assert {combined_exit_code(order) for order in permutations(codes)} == {expected}


def test_counts_add_up() -> None:
    verdicts = [Verdict.PASS, Verdict.PASS, Verdict.SKIPPED]
    flows = tuple(
        FlowRecord(f"flow {at}", "a.flow.yaml", 1, "replay", verdict, PASSED, 0.0)
        for at, verdict in enumerate(verdicts)
    )
    record = RunRecord(
        "id",
        "suite",
        "run",
        "replay",
        "",
        0.0,
        "0.1",
        "3.11",
        "linux",
        "host",
        False,
        PASSED,
        flows,
    )
    counts = record.counts()
    assert set(counts) == set(Verdict)
    assert sum(counts.values()) == 3
    assert (counts[Verdict.PASS], counts[Verdict.SKIPPED]) == (2, 1)


def test_green_is_all_but_what_failed_or_could_not_be_judged() -> None:
    red = {verdict for verdict in Verdict if not verdict.green}
    assert red == {Verdict.FAIL, Verdict.ERROR, Verdict.CAPABILITY_ERROR}
