"""`SHA256SUMS`: what `sha256sum` itself makes of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import UsageError
from flowproof.report.sums import (
    MOST,
    NotSums,
    file_digest,
    files_below,
    holds_more,
    read_sums,
    require_room,
    sums,
    withdraw,
    write_sums,
)
from flowproof.report.write import write_files

A = hashlib.sha256(b"a").hexdigest()
NAMES = ["plain.html", "with blank", " leading", "a\nb", "c\\d", "\\n", "é✓", "#hash", "-dash", "*"]
TOOL = shutil.which("sha256sum")
needs_tool = pytest.mark.skipif(TOOL is None, reason="there is no sha256sum here")


def check(folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sha256sum", "-c", *options, "SHA256SUMS"], cwd=folder, capture_output=True, check=False
    )


def put(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return folder


@needs_tool
def test_it_is_what_sha256sum_writes(tmp_path: Path) -> None:
    put(tmp_path, *NAMES)
    write_sums(tmp_path, {}, only_written=False)
    names = sorted(NAMES, key=os.fsencode)
    written = subprocess.run(
        ["sha256sum", "--", *names], cwd=tmp_path, capture_output=True, check=True
    )
    assert (tmp_path / "SHA256SUMS").read_bytes() == written.stdout


@needs_tool
def test_sha256sum_agrees_and_sees_a_change(tmp_path: Path) -> None:
    put(tmp_path, *NAMES, "flows/one.html", "flows/deep/two.html")
    write_sums(tmp_path, {}, only_written=False)
    assert check(tmp_path, "--strict").returncode == 0
    (tmp_path / "a\nb").write_bytes(b"other")
    assert check(tmp_path, "--quiet").returncode == 1


@needs_tool
def test_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe")).write_bytes(b"x")
    write_sums(tmp_path, {}, only_written=False)
    assert check(tmp_path, "--strict").returncode == 0
    assert [*read_sums((tmp_path / "SHA256SUMS").read_bytes())] == [os.fsdecode(b"\xff\xfe")]


@needs_tool
def test_only_what_was_written_is_listed_and_it_says_so(tmp_path: Path) -> None:
    digests: dict[str, str] = {}
    write_files(tmp_path, [("index.html", "a"), ("flows/x.html", ["a", "b"])], digests)
    put(tmp_path, "src/main.py")
    path = write_sums(tmp_path, digests, only_written=True)
    assert path.read_text("utf-8").startswith("# flowproof: this folder holds more than reports")
    assert [*read_sums(path.read_bytes())] == ["flows/x.html", "index.html"]
    assert check(tmp_path, "--strict").returncode == 0


def test_digests_are_taken_while_files_are_written(tmp_path: Path) -> None:
    digests: dict[str, str] = {}
    write_files(tmp_path, [("a", b"a"), ("./b/c", "é"), ("d", ["x", "y"])], digests)
    assert digests == {name: file_digest(tmp_path / name) for name in ("a", "b/c", "d")}


def test_what_is_covered(tmp_path: Path) -> None:
    put(tmp_path, "a", "flows/b", ".hidden/c", "sample/run.json", "flows/inner/d", "SHA256SUMS")
    put(tmp_path, "sample/SHA256SUMS", ".flowproof-0123456789abcdef.tmp", ".flowproof-mine.tmp")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "folder").symlink_to(tmp_path / "flows")
    os.mkfifo(tmp_path / "pipe")
    covered = ["a", "flows/b", ".hidden/c", "flows/inner/d", ".flowproof-mine.tmp"]
    assert sorted(files_below(tmp_path)) == sorted(covered)


def test_a_written_file_in_a_folder_with_its_own_list_is_left_to_it(tmp_path: Path) -> None:
    digests: dict[str, str] = {}
    write_files(tmp_path, [("a", "a"), ("inner/b", "b")], digests)
    write_sums(tmp_path / "inner", {}, only_written=False)
    path = write_sums(tmp_path, digests, only_written=False)
    assert read_sums(path.read_bytes()) == {"a": A}


def test_the_folder_of_pages_is_listed_whatever_it_holds(tmp_path: Path) -> None:
    put(tmp_path, "flows/b", "flows/SHA256SUMS", "inner/flows/c", "inner/flows/SHA256SUMS")
    left_out: list[str] = []
    assert sorted(files_below(tmp_path, left_out=left_out)) == ["flows/SHA256SUMS", "flows/b"]
    assert left_out == ["inner/flows/"]


def test_there_are_bounds(tmp_path: Path) -> None:
    put(tmp_path, "a", "b/c")
    assert len([*files_below(tmp_path, 3)]) == 2
    put(tmp_path, "d")
    with pytest.raises(UsageError, match="holds more than 3 files and folders"):
        write_sums(tmp_path, {}, only_written=False, most=3)
    assert not (tmp_path / "SHA256SUMS").exists()
    (tmp_path / "large").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="more than 10 bytes"):
        file_digest(tmp_path / "large", 10)
    assert MOST == 300_000


@pytest.mark.parametrize("name", ["link", "pipe", "folder"])
def test_only_regular_files_are_digested(tmp_path: Path, name: str) -> None:
    put(tmp_path, "a", "folder/b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"regular file|symbolic links"):
        file_digest(tmp_path / name)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(TEXT.filter(lambda name: not name.startswith("/")), st.just(A), min_size=1))
def test_any_names_come_back_the_same(digests: dict[str, str]) -> None:
    assert read_sums(sums(digests)) == digests
    assert read_sums(sums(digests, only_written=True)) == digests


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"", "lists no file", id="nothing"),
        pytest.param(b"# only a comment\n", "lists no file", id="a comment"),
        pytest.param(b"hello\n", "line 1 is not a digest", id="no digest"),
        pytest.param(f"{A}  a\n{A[:-1]}  b\n".encode(), "line 2 is not", id="a short digest"),
        pytest.param(f"{A}  a\n{'0' * 64}  a\n".encode(), "line 2 names a file", id="twice"),
        pytest.param(f"{A}  \n".encode(), "line 1 is not", id="no name"),
    ],
)
def test_what_is_no_list(data: bytes, says: str) -> None:
    with pytest.raises(NotSums, match=says):
        read_sums(data)


def test_a_binary_mark_is_read(tmp_path: Path) -> None:
    assert read_sums(f"{A} *a\r\n".replace("\r", "").encode()) == {"a": A}


def test_which_folders_hold_more_than_reports(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    (suite / "reports").mkdir(parents=True)
    (tmp_path / "link").symlink_to(suite)
    assert holds_more(suite, [suite]) and holds_more(tmp_path, [suite])
    assert holds_more(tmp_path / "link", [suite])
    assert not holds_more(suite / "reports", [suite, tmp_path])


def test_a_list_is_taken_away_before_its_files_change(tmp_path: Path) -> None:
    put(tmp_path, "a")
    write_sums(tmp_path, {}, only_written=False)
    withdraw(tmp_path, only_written=False)
    withdraw(tmp_path, only_written=False)
    assert not (tmp_path / "SHA256SUMS").exists()


def test_a_list_of_somebody_else_stays(tmp_path: Path) -> None:
    release = put(tmp_path, "SHA256SUMS") / "SHA256SUMS"
    with pytest.raises(UsageError, match="is not flowproof's"):
        withdraw(tmp_path, only_written=True)
    assert release.exists()
    write_sums(tmp_path, {"a": A}, only_written=True)
    withdraw(tmp_path, only_written=True)
    assert not release.exists()


def test_a_list_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").mkdir()
    with pytest.raises(UsageError, match="digests of the reports"):
        withdraw(tmp_path, only_written=False)


def test_room_is_looked_for_before_pages_are_made(tmp_path: Path) -> None:
    put(tmp_path, "a", *(f"flows/{at}.html" for at in range(20)))
    require_room(tmp_path, 20, only_written=False, most=40)
    require_room(tmp_path / "none", 30, only_written=False, most=40)
    with pytest.raises(UsageError, match="30 pages of flows are more than"):
        require_room(tmp_path, 30, only_written=False, most=40)
    require_room(tmp_path, 30, only_written=True, most=40)
    with pytest.raises(UsageError, match="31 pages of flows are more than"):
        require_room(tmp_path, 31, only_written=True, most=40)


def test_a_list_of_very_many_files_is_read(tmp_path: Path) -> None:
    names = {f"flows/{'x' * 40}{at}.html": A for at in range(120_000)}
    assert len(read_sums(sums(names))) == 120_000
