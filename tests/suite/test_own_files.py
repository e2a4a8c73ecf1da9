"""What flowproof left in a work tree is no change to it, and everything else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.cli.reporting import EVERY, Reporting, write_reports
from flowproof.suite.run_store import keep
from tests.report.evidence_runs import known_run
from tests.suite.test_source import git, known


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit of a repository that ignores nothing."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "bot.py").write_text("one\n", "utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def report(folder: Path, *kinds: str) -> None:
    write_reports(Reporting(dict.fromkeys(kinds, folder)), known_run(), folder.parent, {})


@pytest.mark.parametrize("kinds", [EVERY, *((kind,) for kind in EVERY)], ids=",".join)
def test_reports_change_nothing(repository: Path, kinds: tuple[str, ...]) -> None:
    report(repository / "reports", *kinds)
    report(repository / "deep/er", *kinds)
    assert "reports/" in git(repository, "status", "--porcelain")
    found = known(repository)
    assert (found.changed, found.changes) == (False, "")


def test_neither_do_state_blobs_and_files_on_their_way(repository: Path) -> None:
    keep(known_run(), repository / "flows", repository)
    for state in (".flowproof", "flows/.flowproof"):
        (repository / state / ".gitignore").unlink()
    (repository / "blobs").mkdir()
    (repository / "blobs/shard-1-of-3.flowproof-blob").write_bytes(b"x")
    (repository / "blobs/.flowproof-0123456789abcdef.tmp").write_bytes(b"x")
    assert ".flowproof/" in git(repository, "status", "--porcelain")
    assert not known(repository).changed


@pytest.mark.parametrize(
    "name",
    [
        "new.py",
        "reports/notes.txt",
        "reports/TEST-mine.xml",
        "reports/run.json",
        "reports/evidence.json",
        "reports/ctrf-report.json",
        "reports/index.html",
        "reports/SHA256SUMS",
        "flows/page.html",
        "shard.flowproof-blob.py",
        ".flowproof-mine.tmp",
    ],
)
def test_a_file_of_somebody_else_is_a_change(repository: Path, name: str) -> None:
    path = repository / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"schema": "somebody.else/1"}\n', "utf-8")
    assert known(repository).changed


@pytest.mark.parametrize("name", ["bot.py", "more.py", "reports/flows/mine.html"])
def test_a_change_beside_reports_is_told_alone(repository: Path, name: str) -> None:
    (repository / "reports/flows").mkdir(parents=True)
    (repository / name).write_text("two\n", "utf-8")
    before = known(repository)
    report(repository / "reports", *EVERY)
    after = known(repository)
    assert (after.changed, after.changes) == (True, before.changes)
    assert len(after.changes) == 64


def test_a_report_that_git_tracks_is_as_any_file(repository: Path) -> None:
    report(repository / "reports", "json")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "reports")
    assert not known(repository).changed
    (repository / "reports/run.json").write_text("{}", "utf-8")
    assert known(repository).changed


def test_a_link_in_the_place_of_a_report_is_a_change(repository: Path) -> None:
    report(repository / "reports", "html")
    (repository / "index.html").symlink_to("reports/index.html")
    assert known(repository).changed
