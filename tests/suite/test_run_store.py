"""The newest ten run records are kept, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.errors import ExitCode, UsageError
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import load
from flowproof.suite.run_store import KEPT, keep


def record(number: int) -> RunRecord:
    return RunRecord(
        id=f"20261130T0900{number:02}Z-00000a",
        suite="s",
        command="run",
        phase="replay",
        started="2026-11-30T09:00:00Z",
        duration=1.0,
        flowproof="0.1.0",
        python="3.11",
        platform="linux-x86_64",
        host="h",
        partial=False,
        exit_code=ExitCode.NOTHING_RAN,
        flows=(),
    )


def test_a_record_is_kept_whole_and_out_of_git(tmp_path: Path) -> None:
    path = keep(record(1), tmp_path)
    assert path == tmp_path / ".flowproof/runs/20261130T090001Z-00000a/report.json"
    assert load(path.read_text("utf-8")) == record(1)
    assert (tmp_path / ".flowproof/.gitignore").read_text() == "*\n"
    assert [child.name for child in path.parent.iterdir()] == ["report.json"]


def test_the_newest_ten_are_kept(tmp_path: Path) -> None:
    # Not in order: what counts is when a run began.
    for number in (5, 1, 12, 3, 2, 4, 6, 7, 8, 9, 10, 11):
        keep(record(number), tmp_path)
    runs = tmp_path / ".flowproof/runs"
    kept = sorted(child.name for child in runs.iterdir())
    assert kept == [record(number).id for number in range(3, 13)]
    assert len(kept) == KEPT


@pytest.mark.parametrize("own", [0, 20], ids=["a clock that was wrong", "a long run"])
def test_a_run_never_drops_its_own_record(tmp_path: Path, own: int) -> None:
    for number in range(30, 30 + KEPT):
        keep(record(number), tmp_path)
    path = keep(record(own), tmp_path)
    kept = sorted(child.name for child in path.parents[1].iterdir())
    assert load(path.read_text("utf-8")) == record(own)
    assert kept == [record(number).id for number in (own, *range(31, 30 + KEPT))]


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    state = tmp_path / ".flowproof"
    foreign = [
        "0",
        "notes",
        "20200101T000000Z",
        "20200101T000000Z-zzzzzz",
        "20200101T000000Z-00000a.bak",
    ]
    for name in foreign:
        (state / "runs" / name).mkdir(parents=True)
    (state / ".gitignore").write_text("mine\n")
    for number in range(KEPT + 2):
        keep(record(number), tmp_path)
    assert all((state / "runs" / name).is_dir() for name in foreign)
    assert (state / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("taken", [".flowproof", ".flowproof/runs"])
def test_a_folder_that_cannot_be_written(tmp_path: Path, taken: str) -> None:
    place = tmp_path / taken
    place.parent.mkdir(exist_ok=True)
    place.write_text("a file")
    with pytest.raises(UsageError, match="cannot keep the run record in") as caught:
        keep(record(1), tmp_path)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR
    assert place.read_text() == "a file"
