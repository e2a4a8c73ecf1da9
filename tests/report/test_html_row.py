"""A row of the index: what it says of assertions, warnings, and the end of a crashed agent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import (
    REFUSED,
    AssertionResult,
    Failed,
    Outcome,
    Passed,
    Unjudged,
    Verdict,
)
from flowproof.model.run_record import FlowRecord
from flowproof.report.html_row import LAST_LINES, FlowRow, flow_row
from tests.report.fixtures import agent_exit, flow_record, run_of
from tests.report.pages import index


def row(flow: FlowRecord) -> FlowRow:
    return flow_row(flow, 1, "a", diagnosed=True)


def asserting(*outcomes: Outcome, verdict: Verdict = Verdict.FAIL) -> FlowRecord:
    results = tuple(AssertionResult(f"claim {at}", at, one) for at, one in enumerate(outcomes, 1))
    return replace(flow_record(), verdict=verdict, assertions=results)


OPEN = Unjudged("the run broke off before this could be shown")


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        pytest.param(asserting(Passed(), Passed()), "2 of 2 hold", id="all hold"),
        pytest.param(asserting(Failed("no"), Passed()), "1 of 2 hold", id="one does not"),
        pytest.param(asserting(OPEN, OPEN), "2 not judged", id="none judged"),
        pytest.param(asserting(OPEN, Passed()), "1 of 2 hold", id="one not judged"),
        pytest.param(asserting(), "none", id="none asserted"),
        pytest.param(asserting(verdict=Verdict.SKIPPED), "–", id="skipped"),
    ],
)
def test_how_assertions_did(flow: FlowRecord, says: str) -> None:
    assert row(flow).held_says == says


def test_what_holds_least_sorts_first() -> None:
    flows = [
        asserting(Failed("no"), OPEN),
        asserting(Failed("no"), Passed()),
        asserting(Passed()),
        asserting(),
    ]
    assert sorted(flows, key=lambda flow: row(flow).standing) == flows
    assert row(asserting(Passed(), Passed())).standing == row(asserting(Passed())).standing


def test_what_was_not_judged_does_not_look_failed() -> None:
    page = index(run_of(asserting(OPEN, OPEN)))
    assert "! not judged" in page.words()
    assert "does not hold" not in page.words()
    assert "0 of 2 hold" not in page.words()
    mixed = index(run_of(asserting(OPEN, Passed(), Failed("no")))).words()
    assert "✗ does not hold" in mixed
    assert "1 of 3 hold" in mixed and "1 not judged" in mixed


LONG = "\n".join(f"line {at}" for at in range(40))


@pytest.mark.parametrize(
    ("agent", "title", "last"),
    [
        pytest.param(
            agent_exit(1, stdout="out", stderr="KeyError: 'x'\n"),
            "The agent exited with status 1. Its stderr:",
            "KeyError: 'x'",
            id="a crash",
        ),
        pytest.param(
            agent_exit(1, stdout="fatal: no key"),
            "The agent exited with status 1. Its stdout:",
            "fatal: no key",
            id="nothing on stderr",
        ),
        pytest.param(
            replace(agent_exit(-9, stderr="waiting for a lock"), timed_out=True),
            "The agent timed out and was ended by signal 9. Its stderr:",
            "waiting for a lock",
            id="a timeout",
        ),
        pytest.param(
            agent_exit(1, stderr=LONG),
            f"The agent exited with status 1. Its stderr, the last {LAST_LINES} lines:",
            "line 39",
            id="many lines",
        ),
        pytest.param(
            agent_exit(1, stderr=f"{REFUSED} at turn 1\n{LONG}"),
            f"The agent exited with status 1. Its stderr, the last {LAST_LINES} lines:",
            "line 39",
            id="a refusal long before",
        ),
    ],
)
def test_a_crash_is_told_where_it_is_seen(agent: AgentExit, title: str, last: str) -> None:
    flow = replace(flow_record(), verdict=Verdict.FAIL, agent=agent)
    why = row(flow).diagnosis
    assert why is not None and why.printed is not None
    assert why.printed.title == title
    lines = why.printed.text.splitlines()
    assert lines[-1] == last and len(lines) <= LAST_LINES
    words = index(run_of(flow)).words()
    assert title in words and last in words


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(agent_exit(0, stderr="DeprecationWarning"), id="no crash"),
        pytest.param(agent_exit(1), id="it printed nothing"),
        pytest.param(agent_exit(1, stderr=f"Traceback\nError: 400 {REFUSED}"), id="a refusal"),
        pytest.param(None, id="no agent"),
    ],
)
def test_what_says_nothing_new_is_not_shown(agent: AgentExit | None) -> None:
    why = row(replace(flow_record(), verdict=Verdict.FAIL, agent=agent)).diagnosis
    assert why is not None and why.printed is None


def test_a_long_line_is_cut() -> None:
    flow = replace(flow_record(), verdict=Verdict.FAIL, agent=agent_exit(1, stderr="x" * 90_000))
    why = row(flow).diagnosis
    assert why is not None and why.printed is not None
    assert len(why.printed.text) <= 400


WARNED = replace(flow_record(), warnings=("one", "two"))


def test_warnings_are_seen_on_the_index() -> None:
    failed = replace(WARNED, verdict=Verdict.FAIL, path="b.flow.yaml")
    page = index(run_of(flow_record(), WARNED, failed))
    assert "1 flow passed with warnings." in page.words()
    assert page.words().count("2 warnings") == 2
    assert sum("data-warned" in attrs for tag, attrs in page.elements if tag == "tr") == 2
    assert "with warnings 2" in page.words()


def test_a_run_without_warnings_speaks_of_none() -> None:
    page = index(run_of(flow_record()))
    assert "warning" not in page.words()
    assert not any("data-warned" in attrs for _, attrs in page.elements)
