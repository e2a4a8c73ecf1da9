"""Progress while flows run, on a terminal and elsewhere."""

from __future__ import annotations

import io
import subprocess
import sys
from datetime import UTC, datetime

from flowproof.report.console import Style
from flowproof.report.live import LiveView, PlainLines, Progress, progress
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


def tell(view: Progress) -> None:
    with view as told:
        told.flow_started("Refund asks for approval")
        told.flow_started(flow_record().name)
        told.flow_ended(flow_record())
        told.flow_ended(diverged())


def test_plain_lines_move_no_cursor() -> None:
    stream = io.StringIO()
    tell(PlainLines(stream))
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("✓ pass")
    assert lines[1].startswith("✗ fail")
    assert "\x1b" not in stream.getvalue()


def test_the_live_view_shows_running_flows_and_keeps_finished_ones() -> None:
    stream, clock = Terminal(), StoppedClock()
    view = LiveView(stream, total=3, clock=clock)
    with view:
        view.flow_started("Refund\x1b[2J asks")
        clock.seconds += 7.5
        view.refresh()
        view.flow_ended(flow_record())
        view.flow_ended(diverged())
        view.refresh()
    written = stream.getvalue()
    assert "Refund␛[2J asks  7.50 s" in written
    assert "0 of 3 done, 1 running" in written
    assert "2 of 3 done, 1 running, 1 not green" in written
    assert "✓ pass" in written
    assert "- the customer asked politely." in written
    # The cursor that was hidden is back.
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")


def test_hostile_text_does_not_drive_the_live_view() -> None:
    stream = Terminal()
    with LiveView(stream, total=1, style=Style(color=True), clock=StoppedClock()) as view:
        view.flow_ended(hostile_run().flows[0])
    assert "\x1b[2J" not in stream.getvalue()
    assert "\x1b]" not in stream.getvalue()


def test_the_stream_decides() -> None:
    assert isinstance(progress(Terminal(), {}, total=1), LiveView)
    assert isinstance(progress(Terminal(), {"CI": "1"}, total=1), PlainLines)
    assert isinstance(progress(io.StringIO(), {"FORCE_COLOR": "1"}, total=1), PlainLines)


def test_colour_can_be_decided_by_the_caller() -> None:
    stream = io.StringIO()
    tell(progress(stream, {}, total=2, color=True))
    assert "\x1b[32m✓ pass" in stream.getvalue()


def test_plain_lines_do_not_import_rich() -> None:
    code = (
        "import sys; from flowproof.report.live import progress; "
        "progress(sys.stderr, {'CI': '1'}, total=1).flow_started('x'); "
        "sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
