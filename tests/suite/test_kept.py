"""A kept run is found from the folder in which it was started, wherever its suite lies."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.errors import UsageError
from flowproof.suite.kept import MOST, find_kept, find_record, note_elsewhere
from flowproof.suite.run_store import keep
from tests.suite.test_run_store import record


def id_of(path: Path) -> str:
    return path.parent.name


def test_runs_that_were_started_here_are_found_wherever_they_are_kept(tmp_path: Path) -> None:
    here = tmp_path / "here"
    suites = [here / "flows", tmp_path / "beside", here]
    for number, suite in enumerate(suites):
        suite.mkdir(parents=True, exist_ok=True)
        keep(record(number), suite, here)
        assert id_of(find_kept(here)) == record(number).id
    assert find_kept(here, record(0).id).is_relative_to(here / "flows")
    with pytest.raises(UsageError, match="no run is kept in"):
        find_kept(tmp_path)


@pytest.mark.parametrize("noted", [True, False], ids=["started here", "started elsewhere"])
def test_a_run_that_was_not_started_here_is_not_found(tmp_path: Path, noted: bool) -> None:
    keep(record(1), tmp_path)
    keep(record(2), tmp_path / "flows", tmp_path if noted else None)
    assert id_of(find_kept(tmp_path)) == record(2 if noted else 1).id


def test_the_newest_by_its_start_wins(tmp_path: Path) -> None:
    keep(record(9), tmp_path / "a", tmp_path)
    keep(record(3), tmp_path / "b", tmp_path)
    assert id_of(find_kept(tmp_path)) == record(9).id
    # In one second, the one that was kept last.
    twin = replace(record(9), id="20261130T090009Z-000000")
    keep(twin, tmp_path / "b", tmp_path)
    assert id_of(find_kept(tmp_path)) == twin.id


def test_the_suite_of_a_folder_needs_no_note(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("name: x\n", "utf-8")
    below = tmp_path / "deep/er"
    below.mkdir(parents=True)
    keep(record(1), tmp_path, below)
    assert not (below / ".flowproof").exists()
    assert id_of(find_kept(below)) == record(1).id


def test_a_note_keeps_itself_out_of_git_and_survives_a_move(tmp_path: Path) -> None:
    here = tmp_path / "here"
    keep(record(1), here / "flows", here)
    assert (here / ".flowproof/.gitignore").read_text("utf-8") == "*\n"
    here.rename(tmp_path / "there")
    assert id_of(find_kept(tmp_path / "there")) == record(1).id


def test_the_oldest_notes_are_forgotten(tmp_path: Path) -> None:
    for number in range(MOST + 1):
        note_elsewhere(tmp_path, tmp_path / f"s{number}")
    note_elsewhere(tmp_path, tmp_path / "s3")
    keep(record(1), tmp_path / "s0")
    with pytest.raises(UsageError, match="no run is kept"):
        find_kept(tmp_path)
    keep(record(1), tmp_path / "s3")
    assert find_kept(tmp_path).is_relative_to(tmp_path / "s3")


@pytest.mark.parametrize(
    "text", ["{", "{}", '[1, null, "\\u0000", "../gone", "loop"]', "x" * 2_000_000], ids=len
)
def test_a_note_that_is_none_hides_nothing(tmp_path: Path, text: str) -> None:
    keep(record(1), tmp_path)
    (tmp_path / ".flowproof/elsewhere.json").write_text(text, "utf-8")
    (tmp_path / "loop").symlink_to("loop")
    assert id_of(find_kept(tmp_path)) == record(1).id


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_cannot_be_written_to_has_no_note(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir(mode=0o500)
    assert keep(record(1), tmp_path / "suite", here).is_file()
    assert list(here.iterdir()) == []


def test_a_place_that_can_hold_no_note_does_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / ".flowproof").write_text("a file", "utf-8")
    assert keep(record(1), tmp_path / "suite", tmp_path).is_file()


def test_what_is_no_run_is_passed_over(tmp_path: Path) -> None:
    runs = tmp_path / ".flowproof/runs"
    (runs / "20301130T090000Z-00000a").mkdir(parents=True)  # its record was never written
    (runs / "notes").mkdir()
    keep(record(1), tmp_path)
    assert id_of(find_kept(tmp_path)) == record(1).id


@pytest.mark.parametrize(
    ("named", "says"),
    [
        pytest.param("gone/run.json", "gone/run.json: no such file$", id="a path"),
        pytest.param("run.json", "run.json: no such file$", id="a file"),
        pytest.param("./20261130T090001Z-00000a", "no such file$", id="a path like an id"),
        pytest.param("reports", "it is a folder; name the run.json in it", id="a folder"),
        pytest.param("nonsense", "no run of this id is kept; there are 2026", id="an id"),
        pytest.param("x" * 5_000, "no run of this id", id="a name that no file can have"),
        pytest.param("a\0b", "no run of this id", id="a NUL"),
    ],
)
def test_what_is_not_there_is_told_for_what_it_is(tmp_path: Path, named: str, says: str) -> None:
    keep(record(1), tmp_path)
    (tmp_path / "reports").mkdir()
    with pytest.raises(UsageError, match=says):
        find_record(tmp_path, named)


def test_what_is_there_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = keep(record(1), tmp_path)
    (tmp_path / "run.json").write_text("{}", "utf-8")
    assert find_record(tmp_path, "run.json") == Path("run.json")
    assert find_record(tmp_path, record(1).id) == find_record(tmp_path, None) == kept
