"""A build tool that fails or hangs fails its test soon, and says why."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from .tools import ToolFailed, once, run_tool


def test_a_tool_that_ends_well(tmp_path: Path) -> None:
    run_tool(["/bin/sh", "-c", "touch made"], tmp_path, seconds=30)
    assert (tmp_path / "made").exists()


def test_a_tool_that_fails(tmp_path: Path) -> None:
    script = "echo no such package >&2; exit 3"
    with pytest.raises(ToolFailed, match=r"(?s)ended with 3.*package index.*\nno such package\n"):
        run_tool(["/bin/sh", "-c", script], tmp_path, seconds=30)


def test_a_tool_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = "sleep 300 & echo $! > child; wait"
    with pytest.raises(ToolFailed, match=r"was not done after 0\.5 s"):
        run_tool(["/bin/sh", "-c", script], tmp_path, seconds=0.5)
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def test_a_folder_is_made_once_and_again_only_after_a_failure(tmp_path: Path) -> None:
    made: list[int] = []

    def make(folder: Path) -> None:
        made.append(len(list(folder.iterdir())))
        (folder / "file").touch()
        if len(made) == 1:
            raise ToolFailed("the first one")

    with pytest.raises(ToolFailed):
        once(tmp_path / "folder", make)
    for _ in range(2):
        assert [path.name for path in once(tmp_path / "folder", make).iterdir()] == ["file"]
    assert made == [0, 0]
