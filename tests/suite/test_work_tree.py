"""What of a repository differs from its commit, without running what its settings name."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowproof.suite import work_tree as module
from tests.suite.test_source import ENVIRON, asked, false_git, git, known


@dataclass(frozen=True)
class Repository:
    """A repository with one commit, and a file that is there once a command of it was run."""

    folder: Path
    told: Path

    @property
    def guilty(self) -> str:
        return f"touch {self.told}; cat"

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def commit(self) -> None:
        self.git("add", ".")
        self.git("commit", "-q", "-m", "next")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository", tmp_path / "told")
    made.folder.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write("a.txt", "one\n")
    made.write("a.py", "one\n")
    made.commit()
    return made


def aged(path: Path) -> None:
    """Make git look at the bytes of a file: its time is another than the one it knows."""
    os.utime(path, ns=(1, 1))


def filtered(repository: Repository, key: str, name: str = "f") -> None:
    repository.write(".gitattributes", f"*.txt filter={name}\n")
    repository.commit()
    repository.git("config", f"filter.{name}.{key}", repository.guilty)
    repository.git("config", f"filter.{name}.required", "true")


@pytest.mark.parametrize("key", ["clean", "process"])
@pytest.mark.parametrize("text", ["one\n", "two\n"], ids=["the same", "another"])
def test_no_filter_is_run(repository: Repository, key: str, text: str) -> None:
    filtered(repository, key)
    repository.write("a.txt", text)
    aged(repository.folder / "a.txt")
    found = known(repository.folder)
    assert not repository.told.exists()
    # The bytes that are the commit's own are the same through any filter that is run or not.
    assert (found.changed, found.changes) == (False if text == "one\n" else None, "")


def test_git_itself_would_have_run_it(repository: Repository) -> None:
    filtered(repository, "clean")
    repository.write("a.txt", "two\n")
    repository.git("status")
    assert repository.told.exists()


def test_a_filter_that_cannot_be_turned_off(repository: Repository) -> None:
    filtered(repository, "clean", "a=b")
    repository.write("a.txt", "two\n")
    assert asked(repository.folder) is None
    assert not repository.told.exists()


def test_what_goes_through_no_filter_still_is_a_change(repository: Repository) -> None:
    filtered(repository, "clean")
    repository.write("a.txt", "two\n")
    repository.write("a.py", "two\n")
    first = known(repository.folder)
    assert first.changed is True and len(first.changes) == 64
    repository.write("a.txt", "three\n")
    assert known(repository.folder).changes != first.changes, "what is filtered is part of it"
    assert not repository.told.exists()


def test_an_attribute_without_a_filter_is_a_change(repository: Repository) -> None:
    repository.write(".gitattributes", "*.txt filter=f\n")
    repository.commit()
    repository.write("a.txt", "two\n")
    assert known(repository.folder).changed is True


@pytest.mark.parametrize(
    "change", [lambda path: path.unlink(), lambda path: path.chmod(0o755)], ids=["gone", "mode"]
)
def test_a_filtered_file_that_differs_for_certain(
    repository: Repository, change: Callable[[Path], None]
) -> None:
    filtered(repository, "clean")
    change(repository.folder / "a.txt")
    assert known(repository.folder).changed is True
    assert not repository.told.exists()


def test_too_many_filtered_files_are_unknown(repository: Repository, tmp_path: Path) -> None:
    line = r"1 .M N... 100644 100644 100644 " + "0 " * 2
    head = rf"# branch.oid {'1' * 40}\000"
    lines = r"\000".join(f"{line}{at}.txt" for at in range(module.MOST_FILES + 1))
    script = f"""case "$*" in
      *get-regexp*) printf 'filter.f.clean\\0' ;;
      *status*) printf '{head}{lines}\\000' ;;
      *check-attr*) exit 1 ;;
    esac"""
    found = known(repository.folder, false_git(tmp_path / "bin", script))
    assert (found.commit, found.changed) == ("1" * 40, None)


def large_files(repository: Repository) -> bytes:
    """A file of Git LFS as it is after a checkout; what it holds."""
    content = b"\x00large\n" * 1000
    oid = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"
    repository.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    repository.write("large.bin", pointer)
    repository.commit()
    for key in ("clean", "smudge", "process"):
        repository.git("config", f"filter.lfs.{key}", repository.guilty)
    repository.git("config", "filter.lfs.required", "true")
    (repository.folder / "large.bin").write_bytes(content)
    return content


def test_a_clean_commit_with_large_files(repository: Repository) -> None:
    large_files(repository)
    assert known(repository.folder).changed is False
    repository.write("a.py", "two\n")
    first = known(repository.folder)
    assert first.changed is True and len(first.changes) == 64
    aged(repository.folder / "large.bin")
    assert known(repository.folder) == first
    assert not repository.told.exists()


def test_a_changed_large_file(repository: Repository) -> None:
    content = large_files(repository)
    digests = set()
    for more in (b"x", b"y"):
        (repository.folder / "large.bin").write_bytes(content + more)
        found = known(repository.folder)
        assert found.changed is True
        digests.add(found.changes)
    assert len(digests) == 2 and "" not in digests
    assert not repository.told.exists()


def test_a_file_too_large_to_look_at_is_unknown(repository: Repository) -> None:
    large_files(repository)
    with (repository.folder / "large.bin").open("r+b") as file:
        file.truncate(module.LARGEST + 1)
    assert known(repository.folder).changed is None


@pytest.mark.parametrize("remote", ["ext", "ssh", "helper"])
def test_what_is_missing_is_not_fetched(
    repository: Repository, tmp_path: Path, remote: str
) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {repository.told}\n", "utf-8")
    script.chmod(0o755)
    url = {"ext": f"ext::{script}", "ssh": "ssh://evil.example/x", "helper": "evil::x"}[remote]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git-remote-evil").symlink_to(script)
    for key, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", url),
        ("protocol.allow", "always"),
        ("protocol.ext.allow", "always"),
        ("core.sshCommand", str(script)),
    ):
        repository.git("config", key, value)
    blob = repository.git("rev-parse", "HEAD:a.py")
    (repository.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repository.write("a.py", "two\n")
    path = f"{tmp_path / 'bin'}:{ENVIRON['PATH']}"
    found = known(repository.folder, {**ENVIRON, "PATH": path})
    assert (found.changed, found.changes) == (True, "")
    assert not repository.told.exists()


@pytest.fixture
def inner(repository: Repository) -> Repository:
    """A submodule of it with one commit."""
    made = Repository(repository.folder / "inner", repository.told)
    made.folder.mkdir()
    made.git("init", "-q")
    made.write("a.txt", "one\n")
    made.write(".gitattributes", "*.txt filter=f\n")
    made.commit()
    repository.commit()
    return made


def test_a_submodule_as_it_was_committed(repository: Repository, inner: Repository) -> None:
    assert known(repository.folder).changed is False
    shutil.rmtree(inner.folder)
    inner.folder.mkdir()
    assert known(repository.folder).changed is False, "it was never checked out"


def test_changes_in_a_submodule(repository: Repository, inner: Repository) -> None:
    digests = set()
    for name, text in (("a.txt", "two\n"), ("a.txt", "three\n"), ("new", "")):
        inner.write(name, text)
        found = known(repository.folder)
        assert found.changed is True
        digests.add(found.changes)
    assert len(digests) == 3 and "" not in digests
    inner.commit()
    assert known(repository.folder).changed is True, "another commit than the one that is named"


def test_no_command_of_a_submodule_is_run(repository: Repository, inner: Repository) -> None:
    inner.git("config", "filter.f.clean", repository.guilty)
    inner.git("config", "core.fsmonitor", repository.guilty)
    inner.write("a.txt", "two\n")
    assert known(repository.folder).changed is None
    assert not repository.told.exists()


def test_a_broken_submodule_is_unknown(repository: Repository, inner: Repository) -> None:
    (inner.folder / ".git/index").write_bytes(b"\0" * 100)
    assert known(repository.folder).changed is None


def test_a_difference_that_takes_too_long_keeps_the_commit(
    repository: Repository, tmp_path: Path
) -> None:
    real = shutil.which("git", path=ENVIRON["PATH"])
    script = f'case "$*" in *" diff "*) sleep 60 ;; esac; exec {real} "$@"'
    environ = false_git(tmp_path / "bin", script)
    repository.write("a.py", "two\n")
    found = asked(repository.folder, environ, seconds=2.0)
    assert found is not None
    assert (found.commit, found.branch) == (repository.git("rev-parse", "HEAD"), "main")
    assert (found.changed, found.changes) == (True, "")
