"""The live view: what is drawn of few flows and of very many, and what it may cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from flowproof.model.outcome import Verdict
from flowproof.report.console import Style
from flowproof.report.live_view import MANY, SHOWN, LiveView
from tests.report.fixtures import diverged, flow_record
from tests.report.hostile import hostile_run
from tests.report.test_console import Terminal


class StoppedClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 9, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds


class Watched:
    """A live view whose last picture can be read."""

    def __init__(
        self, total: int, *, jobs: int = 1, known: Sequence[tuple[str, float]] = ()
    ) -> None:
        self.stream, self.clock = Terminal(), StoppedClock()
        self.view = LiveView(self.stream, total=total, jobs=jobs, known=known, clock=self.clock)

    def start(self, *names: str) -> None:
        for name in names:
            self.view.flow_started(name, f"{name}.flow.yaml")

    def end(self, *names: str, verdict: Verdict = Verdict.PASS, took: float = 1.0) -> None:
        for name in names:
            record = replace(flow_record(name), path=f"{name}.flow.yaml", duration=took)
            self.view.flow_ended(replace(record, verdict=verdict))

    def picture(self) -> list[str]:
        self.view.refresh()
        drawn = self.stream.getvalue().rpartition("\x1b[2K")[2]
        return [line.rstrip() for line in re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", drawn).split("\n")]


def test_running_flows_are_shown_and_finished_ones_are_kept() -> None:
    watched = Watched(3)
    with watched.view as view:
        record = diverged()
        view.flow_started("Refund\x1b[2J asks", record.path)
        watched.clock.seconds += 7.5
        view.refresh()
        view.flow_ended(flow_record())
        view.flow_ended(replace(record, name="Other"))
        view.refresh()
    written = watched.stream.getvalue()
    assert "Refund␛[2J asks  7.50 s" in written
    assert "0 of 3 done, 1 running" in written
    assert "2 of 3 done, 1 running" in written
    assert "1 pass, 1 fail" in written
    assert "✓ pass" in written
    assert "- the customer asked politely." in written
    # The cursor that was hidden is back.
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")


def test_hostile_text_does_not_drive_the_live_view() -> None:
    stream = Terminal()
    with LiveView(stream, total=1, style=Style(color=True), clock=StoppedClock()) as view:
        view.flow_started(hostile_run().flows[0].name, "x")
        view.refresh()
        view.flow_ended(hostile_run().flows[0])
    assert "\x1b[2J" not in stream.getvalue()
    assert "\x1b]" not in stream.getvalue()


def test_a_flow_that_is_tried_again_runs_once() -> None:
    watched = Watched(2)
    with watched.view:
        watched.start("a", "a")
        watched.clock.seconds += 3
        assert watched.picture()[0] == "… a  3.00 s  try 2"
        watched.end("a", verdict=Verdict.FLAKY)
        assert "1 of 2 done, 0 running" in "\n".join(watched.picture())


@pytest.mark.usefixtures("tall")
def test_many_running_flows_take_few_lines_and_the_longest_come_first() -> None:
    watched = Watched(10_000, jobs=64)
    with watched.view:
        for number in range(64):
            watched.start(f"flow {number}")
            watched.clock.seconds += 1
        picture = watched.picture()
    assert picture[0].startswith("… flow 0  ")
    assert picture[SHOWN] == f"… and {64 - SHOWN} more running"
    assert len(picture) <= SHOWN + 4


@pytest.mark.usefixtures("low")
def test_a_low_terminal_is_not_filled() -> None:
    watched = Watched(100, jobs=64)
    with watched.view:
        watched.start(*(f"flow {number}" for number in range(64)))
        assert len(watched.picture()) <= 7


@pytest.fixture
def tall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "50")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "8")
    monkeypatch.setenv("COLUMNS", "60")


def test_of_very_many_flows_those_that_are_simply_green_get_no_line() -> None:
    watched = Watched(MANY + 1)
    with watched.view as view:
        watched.end("green")
        watched.end("quiet", verdict=Verdict.SKIPPED)
        view.flow_ended(replace(flow_record("warned"), warnings=("odd",)))
        watched.end("shaky", verdict=Verdict.FLAKY)
        view.flow_ended(diverged())
    written = watched.stream.getvalue()
    for shown in ("warning: odd", "≈ flaky", "✗ fail"):
        assert shown in written
    assert "green" not in written and "quiet" not in written


def test_verbose_gives_every_flow_a_line() -> None:
    stream = Terminal()
    with LiveView(stream, total=MANY + 1, clock=StoppedClock(), verbose=True) as view:
        view.flow_ended(flow_record("green"))
    assert "green" in stream.getvalue()


def test_the_engine_says_how_many_run_at_once() -> None:
    """A cluster has other slots than the machine where the run began."""
    watched = Watched(8, jobs=2, known=[(f"{at}.flow.yaml", 20.0) for at in range(8)])
    with watched.view as view:
        assert "about 1 min left" in "\n".join(watched.picture())
        view.engine_opened(8)
        assert "about 20 s left" in "\n".join(watched.picture())


def test_known_durations_give_an_estimate() -> None:
    known = [("a.flow.yaml", 40.0), ("b.flow.yaml", 20.0), ("c.flow.yaml", 20.0)]
    watched = Watched(3, jobs=2, known=known)
    with watched.view:
        watched.start("a", "b")
        watched.clock.seconds += 5
        picture = watched.picture()
        assert picture[0] == "… a  5.00 s of about 40.0 s"
        assert picture[2].endswith("0 of 3 done, 2 running, about 35 s left")


def test_without_any_there_is_none_until_flows_have_ended() -> None:
    watched = Watched(10)
    with watched.view:
        watched.start("x")
        assert "left" not in "\n".join(watched.picture())
        watched.end(*"abcde", took=30.0)
        assert "about 2 min left" in "\n".join(watched.picture())


def test_a_terminal_that_is_gone_ends_no_run() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

        def flush(self) -> None:
            raise OSError(5, "Input/output error")

    with LiveView(Gone(), total=2, clock=StoppedClock()) as view:
        view.flow_started("a", "a")
        view.refresh()
        view.flow_ended(flow_record())
