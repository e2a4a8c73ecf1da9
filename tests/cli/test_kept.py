"""Reports of the run that somebody just did, and what failed in it, from where they did it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from flowproof.cli.reporting import EVERY
from tests.cli.support import SPEC, Shell

COUNTS = "1 flow: 1 error"


@pytest.fixture
def below(shell: Shell) -> Shell:
    """A suite in `flows`, and one in `ops` without a suite.yaml; an older run of this folder."""
    shell.write("flows/suite.yaml", "name: flows\n")
    shell.write("flows/deep/a.flow.yaml", SPEC)
    shell.write("ops/b.flow.yaml", SPEC)
    shell("suite", "run", "-q", "--no-reports", "--allow-empty")
    return shell


def started(shell: Shell, path: str, *options: str) -> str:
    """A run of flows that cannot be judged, started in the current folder; its id."""
    told = shell("suite", "run", path, "--strict", "--json", "--no-reports", *options)
    assert told.code == 2
    id: str = told.json["id"]
    return id


@pytest.mark.parametrize("kind", EVERY)
def test_the_report_is_of_the_run_that_was_last(below: Shell, kind: str) -> None:
    for path in ("flows", "ops", "flows/deep/a.flow.yaml"):
        id = started(below, path)
        told = below("report", kind, "--reports-dir", "out")
        assert told.code == 0
        assert told.err.startswith(f"report of run {id}, started ")
        assert f" UTC, {COUNTS}\nreport: out/" in told.err
    named = below("report", kind, id, "--reports-dir", "out")
    assert named.err == told.err


def test_a_single_run_is_found_too(below: Shell) -> None:
    started(below, "flows")
    below("run", "ops/b.flow.yaml", "-q")
    assert "1 flow: 1 error" in below("report", "html").err
    page = below("report", "open", "--print").out
    assert "index.html" in page


def test_a_path_that_is_not_there_is_no_id(below: Shell) -> None:
    told = below("report", "html", "reports/run.json")
    assert (told.code, told.err) == (2, "error: reports/run.json: no such file\n")
    told = below("report", "open", "reports/run.json")
    assert (told.code, told.err) == (2, "error: reports/run.json: no such file\n")


def page(shell: Shell, *arguments: str) -> tuple[str, str]:
    told = shell("report", "open", "--print", *arguments)
    assert told.code == 0
    return told.out.strip(), told.err


def test_the_page_that_is_opened_is_of_the_last_run(below: Shell) -> None:
    below("suite", "run", "flows", "-q", "--strict")
    shown, said = page(below)
    assert (shown, COUNTS in said) == ("reports/index.html", True)
    # A later run that wrote its reports elsewhere, or none.
    id = started(below, "ops")
    shown, said = page(below)
    assert id in shown and said.startswith(f"report of run {id}, started ")
    assert page(below, id) == (shown, said)
    assert page(below, "--reports-dir", "reports")[0] == "reports/index.html"
    # Made again where people look, it is what they want to see.
    below("report", "html", id)
    assert page(below)[0] == "reports/index.html"


def test_a_page_alone_is_opened(below: Shell) -> None:
    below("suite", "run", "flows", "-q", "--strict", "--report", "html")
    shutil.rmtree(below.folder / ".flowproof")
    shutil.rmtree(below.folder / "flows/.flowproof")
    assert page(below) == ("reports/index.html", "")


def test_a_record_of_somebody_else_beside_a_page_says_nothing(below: Shell) -> None:
    below("suite", "run", "flows", "-q", "--strict", "--report", "html")
    for text in ("", "[]", "{", '{\n  "flows": [', '{\n  "schema": 1,\n  "flows": ['):
        below.write("reports/run.json", text)
        assert page(below, "reports") == ("reports/index.html", "")


def test_a_run_below_is_not_what_failed_here(below: Shell) -> None:
    shutil.rmtree(below.folder / ".flowproof")
    started(below, "flows")
    started(below, "ops")
    told = below("suite", "list", "--last-failed")
    assert told.code == 2
    assert "no earlier run is known here; run the suite once; failures are known in" in told.err
    assert "flows (1), ops (1): flowproof suite run --last-failed flows\n" in told.err
    assert below("suite", "list", "--last-failed", "flows").code == 0


def test_that_none_failed_here_is_not_all_there_is_to_say(below: Shell) -> None:
    below.write(".flowproof/last-failed.json", "[]")
    told = below("suite", "run", "--last-failed", "--no-reports")
    assert (told.code, "no flow failed when they last ran\n" in told.err) == (5, True)
    started(below, "ops")
    told = below("suite", "run", "--last-failed", "--no-reports")
    assert told.code == 5
    assert "no flow failed when they last ran; failures are known in ops (1): " in told.err


def test_what_is_known_above_is_enough(below: Shell) -> None:
    assert started(below, ".")
    started(below, "flows")
    assert below("suite", "list", "--last-failed").err == ""


def test_a_message_names_where_the_durations_are(below: Shell) -> None:
    missing = ("suite", "list", "--shard", "1/2", "--durations-file", "none.json")
    assert "cp flows/.flowproof/durations.json durations.json" in below(*missing, "flows").err
    assert "cp .flowproof/durations.json durations.json" in below(*missing).err
    assert started(below, "flows")
    assert Path(below.folder, "flows/.flowproof/durations.json").is_file()


def test_a_run_leaves_a_note_only_where_it_is_needed(below: Shell) -> None:
    note = below.folder / ".flowproof/elsewhere.json"
    started(below, ".")
    assert not note.exists()
    started(below, "flows")
    assert note.exists()
    os.chdir(below.folder / "flows/deep")
    started(below, ".")
    assert not Path(".flowproof").exists()
