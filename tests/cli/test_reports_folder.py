"""The folder that reports go to: what is in it already, and who else writes there."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.cli.reporting import Reporting, write_reports
from flowproof.model.run_record import FlowRecord, LazyFlows
from flowproof.report.verify import verify
from tests.cli.support import SPEC, Shell
from tests.report.fixtures import flow_record, run_of

MINE = "<!doctype html><title>my site</title>"


@pytest.fixture
def suite(shell: Shell) -> Shell:
    shell.write("a.flow.yaml", SPEC)
    return shell


@pytest.mark.parametrize("name", ["index.html", "run.json", "evidence.json", "SHA256SUMS"])
def test_a_file_of_somebody_else_is_refused_before_the_run(name: str, suite: Shell) -> None:
    mine = suite.write(f"dist/{name}", MINE)
    told = suite("suite", "run", "--strict", "--reports-dir", "dist")
    assert told.code == 2
    assert f"dist/{name} is not flowproof's" in told.err
    assert mine.read_text("utf-8") == MINE
    assert [path.name for path in mine.parent.iterdir()] == [name]
    assert not (suite.folder / ".flowproof").exists(), "nothing ran"


def test_a_file_of_somebody_else_is_refused_before_a_report_is_made_again(suite: Shell) -> None:
    assert suite("suite", "run", "--allow-empty").code == 0
    mine = suite.write("dist/index.html", MINE)
    told = suite("report", "html", "reports/run.json", "--reports-dir", "dist")
    assert (told.code, mine.read_text("utf-8")) == (2, MINE)
    assert suite("report", "json", "reports/run.json", "--reports-dir", "dist").code == 0


def test_earlier_reports_and_other_files_are_no_obstacle(suite: Shell) -> None:
    suite.write("reports/README.md", "mine")
    suite.write("reports/sample/index.html", MINE)
    for _ in range(2):
        assert suite("suite", "run", "--allow-empty").code == 0
    assert suite("report", "html", "--reports-dir", "reports").code == 0
    assert suite("report", "verify", "reports").code == 0


def test_two_that_write_to_one_folder_leave_the_reports_of_one(tmp_path: Path) -> None:
    begun, other_done = threading.Event(), threading.Event()
    flows = [replace(flow_record(), path=f"x{at}.flow.yaml") for at in range(3)]
    others = [replace(flow_record(), path=f"y{at}.flow.yaml") for at in range(3)]

    def read(at: int) -> FlowRecord:
        begun.set()
        if at == 1:
            other_done.wait(0.5)
        return flows[at]

    reporting = Reporting({"html": tmp_path, "json": tmp_path, "evidence": tmp_path})
    first = replace(run_of(*flows), flows=LazyFlows([one.verdict for one in flows], read))

    def write_others() -> None:
        begun.wait(10)
        write_reports(reporting, run_of(*others), tmp_path / "here", {})
        other_done.set()

    thread = threading.Thread(target=write_others)
    thread.start()
    write_reports(reporting, first, tmp_path / "here", {})
    thread.join(30)
    pages = {path.name for path in (tmp_path / "flows").iterdir()}
    assert pages == {"y0.html", "y1.html", "y2.html"}
    assert verify(tmp_path).findings == ()
