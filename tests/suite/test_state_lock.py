"""Whoever writes to a folder of reports is alone there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from flowproof.errors import WorldError
from flowproof.suite.state_lock import alone_in


def test_two_take_turns(tmp_path: Path) -> None:
    entered, waited, done = threading.Event(), threading.Event(), []

    def other() -> None:
        entered.wait(10)
        with alone_in([tmp_path], lambda folder: waited.set()):
            done.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    with alone_in([tmp_path]):
        entered.set()
        assert waited.wait(10), "the other is told to wait"
        done.append("first")
    thread.join(10)
    assert done == ["first", "other"]
    assert [*tmp_path.iterdir()] == []


def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    with (
        alone_in([tmp_path]),
        pytest.raises(WorldError, match="another flowproof writes reports to"),
        alone_in([tmp_path], patience=0.05),
    ):
        raise AssertionError("both are in")


def test_one_folder_under_two_names_and_one_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(".")
    with alone_in([tmp_path, tmp_path / "link", tmp_path / "gone"]):
        pass


def test_other_folders_do_not_wait(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    with alone_in([tmp_path / "a"]), alone_in([tmp_path / "b"], patience=0):
        pass
