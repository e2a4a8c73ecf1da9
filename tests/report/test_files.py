"""Atomic writing, and reports that stay inside their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.errors import ExitCode, UsageError
from flowproof.files import write_atomic
from flowproof.report.write import write_files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"a longer text that was there before")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.json"]


def test_a_file_gets_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_atomic(tmp_path / "a.json", b"new")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failed_write_changes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "a.json"
    taken.mkdir()
    (taken / "inside").write_bytes(b"kept")
    with pytest.raises(OSError, match="directory"):
        write_atomic(taken, b"new")
    assert names(tmp_path) == ["a.json"]
    assert names(taken) == ["inside"]


def test_a_link_in_the_place_of_the_file_is_replaced(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    (tmp_path / "a.json").symlink_to(outside)
    write_atomic(tmp_path / "a.json", b"new")
    assert outside.read_bytes() == b"kept"
    assert not (tmp_path / "a.json").is_symlink()


def test_reports_are_written_with_their_folders(tmp_path: Path) -> None:
    files: list[tuple[str, bytes | str]] = [("index.html", "é"), ("flows/one.html", b"1")]
    written = write_files(tmp_path / "reports", files)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "reports/index.html",
        "reports/flows/one.html",
    ]
    assert written[0].read_bytes() == b"\xc3\xa9"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("../x", id="parent"),
        pytest.param("a/../../x", id="parent-inside"),
        pytest.param("/tmp/x", id="absolute"),
        pytest.param("//host/x", id="two-slashes"),
        pytest.param("a\\..\\x", id="backslash"),
        pytest.param("", id="empty"),
        pytest.param(".", id="dot"),
    ],
)
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="inside the reports folder"):
        write_files(tmp_path / "reports", [(name, b"x")])
    assert names(tmp_path) == ["reports"]


def test_a_linked_folder_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "flows").symlink_to(outside)
    with pytest.raises(UsageError, match="symbolic link"):
        write_files(reports, [("flows/one.html", b"x")])
    assert names(outside) == []


def test_what_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "reports").write_bytes(b"a file")
    with pytest.raises(UsageError, match="--reports-dir") as caught:
        write_files(tmp_path / "reports", [("index.html", b"x")])
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR
