"""Whether the npm clients can be run is found out, and said, before any of their tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.clients.npm import FOLDER, OLDEST, missing, node, pinned


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of agents with its client installed, and a Node of its own."""
    package(tmp_path, {"dependencies": {"@some/client": "1.2.3"}})
    package(tmp_path / "node_modules" / "@some" / "client", {"version": "1.2.3"})
    own_node(tmp_path, f"{OLDEST}.1.0")
    return tmp_path


def package(folder: Path, about: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps(about), "utf-8")


def own_node(folder: Path, version: str) -> Path:
    path = folder / "node_modules" / ".bin" / "node"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_all_is_there(folder: Path) -> None:
    assert missing(folder) is None


def test_no_client(folder: Path) -> None:
    (folder / "node_modules" / "@some" / "client" / "package.json").unlink()
    assert "@some/client 1.2.3 is not installed, but none" in (missing(folder) or "")


def test_a_client_of_another_version(folder: Path) -> None:
    package(folder, {"dependencies": {"@some/client": "1.2.4"}})
    assert "@some/client 1.2.4 is not installed, but 1.2.3" in (missing(folder) or "")


@pytest.mark.parametrize("version", [f"{OLDEST - 2}.9.9", "", "soon"], ids=["old", "mute", "odd"])
def test_no_node_that_is_new_enough(
    folder: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_node(folder, version)
    monkeypatch.setenv("PATH", "/bin/nowhere")
    assert missing(folder) == f"there is no Node {OLDEST} or newer"


def test_the_node_of_the_folder_comes_first(folder: Path) -> None:
    assert node(folder) == str(folder / "node_modules" / ".bin" / "node")


def test_the_node_of_path_is_taken_where_the_folder_has_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own_node(folder, "").unlink()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "node_modules").mkdir()
    found = own_node(elsewhere, f"{OLDEST + 4}.0.0")
    monkeypatch.setenv("PATH", str(found.parent))
    assert node(folder) == str(found)


def test_every_version_is_exact() -> None:
    versions = pinned()
    assert {"openai", "@anthropic-ai/sdk", "ai", "@google/genai"} <= versions.keys()
    assert all(version.replace(".", "").isdecimal() for version in versions.values())


def test_no_lock_file_names_a_registry() -> None:
    assert {path.name for path in FOLDER.iterdir() if "lock" in path.name} == set()
