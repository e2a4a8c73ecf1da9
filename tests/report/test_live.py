"""Progress while flows run: which kind suits a stream, and the lines of those that ended."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import pytest

from flowproof.report.live import PlainLines, Progress, progress
from flowproof.report.live_view import LiveView
from tests.report.fixtures import diverged, flow_record
from tests.report.test_console import Terminal


def tell(view: Progress) -> None:
    with view as told:
        for record in (diverged(), flow_record()):
            told.flow_started(record.name, record.path)
        told.flow_ended(flow_record())
        told.flow_ended(diverged())


def test_plain_lines_move_no_cursor() -> None:
    stream = io.StringIO()
    tell(PlainLines(stream))
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("✓ pass")
    assert lines[1].startswith("✗ fail")
    assert "\x1b" not in stream.getvalue()


def test_what_ended_is_written_in_one_piece() -> None:
    pieces: list[str] = []

    class Pieces(io.StringIO):
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    tell(PlainLines(Pieces()))
    assert len(pieces) == 2
    assert all(piece.endswith("\n") for piece in pieces)


def test_the_stream_decides() -> None:
    assert isinstance(progress(Terminal(), {}, total=1), LiveView)
    assert isinstance(progress(Terminal(), {"CI": "1"}, total=1), PlainLines)
    assert isinstance(progress(io.StringIO(), {"FORCE_COLOR": "1"}, total=1), PlainLines)


def test_colour_can_be_decided_by_the_caller() -> None:
    stream = io.StringIO()
    tell(progress(stream, {}, total=2, color=True))
    assert "\x1b[32m✓ pass" in stream.getvalue()


@pytest.mark.parametrize(
    ("environ", "obeyed"),
    [
        pytest.param({"GITHUB_ACTIONS": "true", "CI": "true"}, False, id="github"),
        pytest.param({"TF_BUILD": "True"}, False, id="azure"),
        pytest.param({"TEAMCITY_VERSION": "2026.1"}, False, id="teamcity"),
        pytest.param({}, True, id="a log that nobody obeys"),
    ],
)
def test_an_agent_gives_no_commands_to_a_service(environ: dict[str, str], obeyed: bool) -> None:
    stream = io.StringIO()
    reason = "said\n::add-mask::a\nand ##[add-mask]b ##vso[task.x]c ##teamcity[d]"
    progress(stream, environ, total=1).flow_ended(replace(diverged(), reason=reason))
    lines = stream.getvalue().splitlines()
    assert any(line.lstrip().startswith("::") for line in lines) is obeyed
    assert ("##[" in stream.getvalue()) is obeyed
    assert ("##vso[" in stream.getvalue()) is obeyed
    assert ("##teamcity[" in stream.getvalue()) is obeyed
    assert "add-mask" in stream.getvalue()


def test_plain_lines_do_not_import_rich() -> None:
    code = (
        "import sys; from flowproof.report.live import progress; "
        "progress(sys.stderr, {'CI': '1'}, total=1).flow_started('x', 'y'); "
        "sys.exit('rich' in sys.modules or 'flowproof.report.live_view' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
