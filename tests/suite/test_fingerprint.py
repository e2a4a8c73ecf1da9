"""The digest of a suite: it changes with every file that counts, and with nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flowproof.suite.discover import discover
from flowproof.suite.fingerprint import suite_digest


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def suite(folder: Path) -> Path:
    write(folder, "suite.yaml", "name: shop\n")
    write(folder, "a.flow.yaml", "name: a\n")
    write(folder, "a.trace.json", "{}\n")
    write(folder, "deep/suite.yaml", "name: deep\n")
    write(folder, "deep/b.flow.yaml", "name: b\n")
    write(folder, "deep/b.trace.jsonl", "{}\n")
    return folder


def digest(folder: Path) -> str:
    return suite_digest(discover([folder]), folder)


def test_two_checkouts_agree(tmp_path: Path) -> None:
    assert digest(suite(tmp_path / "one")) == digest(suite(tmp_path / "another/place"))


def test_a_checkout_that_is_reached_through_a_link_agrees(tmp_path: Path) -> None:
    folder = suite(tmp_path / "one")
    (tmp_path / "link").symlink_to(folder)
    assert digest(tmp_path / "link") == digest(folder)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda at: write(at, "a.flow.yaml", "name: A\n"), id="a spec"),
        pytest.param(lambda at: write(at, "a.trace.json", "[]\n"), id="a trace"),
        pytest.param(lambda at: write(at, "deep/b.trace.jsonl", "[]\n"), id="an old trace"),
        pytest.param(lambda at: write(at, "deep/b.trace.json", "{}\n"), id="a newer trace"),
        pytest.param(lambda at: write(at, "suite.yaml", "name: shop \n"), id="a suite"),
        pytest.param(lambda at: write(at, "deep/suite.yaml", "name: d\n"), id="an inner suite"),
        pytest.param(lambda at: (at / "a.trace.json").unlink(), id="a trace that is gone"),
        pytest.param(lambda at: write(at, "c.flow.yaml", "name: c\n"), id="one flow more"),
        pytest.param(lambda at: (at / "deep/b.flow.yaml").unlink(), id="one flow less"),
        pytest.param(
            lambda at: (at / "a.flow.yaml").rename(at / "deep/a.flow.yaml"), id="a flow elsewhere"
        ),
    ],
)
def test_what_changes_it(tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = suite(tmp_path)
    before = digest(folder)
    change(folder)
    assert digest(folder) != before


@pytest.mark.parametrize(
    "name",
    ["notes.md", ".flowproof/durations.json", "deep/c.trace.json", "node_modules/suite.yaml"],
)
def test_what_does_not_change_it(tmp_path: Path, name: str) -> None:
    folder = suite(tmp_path)
    before = digest(folder)
    write(folder, name, "x")
    assert digest(folder) == before


def test_what_cannot_be_read_counts_as_that(tmp_path: Path) -> None:
    folder = suite(tmp_path)
    before = digest(folder)
    (folder / "a.trace.json").unlink()
    os.mkfifo(folder / "a.trace.json")
    (folder / "deep/suite.yaml").unlink()
    os.mkfifo(folder / "deep/suite.yaml")
    assert digest(folder) != before
