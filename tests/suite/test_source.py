"""What git says of the repository of a suite: real repositories, and a git that hangs or lies."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest

from flowproof.model.origin import Source
from flowproof.suite import work_tree as module
from flowproof.suite.source import address, source

ENVIRON = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.example"}
    own |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.example"}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**ENVIRON, **own},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit on `main`, with a folder that git ignores."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "bot.py").write_text("one\n", "utf-8")
    (folder / ".gitignore").write_text("reports/\n.flowproof/\n", "utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def asked(
    folder: Path, environ: Mapping[str, str] = ENVIRON, seconds: float = 30.0
) -> Source | None:
    return anyio.run(source, folder, environ, seconds)


def known(folder: Path, environ: Mapping[str, str] = ENVIRON) -> Source:
    found = asked(folder, environ)
    assert found is not None
    return found


def test_a_clean_commit(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://casey:secret@git.example/bot.git")
    commit = git(repository, "rev-parse", "HEAD")
    assert asked(repository) == Source("https://git.example/bot.git", commit, "main", False)


def test_reports_that_git_ignores_change_nothing(repository: Path) -> None:
    for name in ("reports/index.html", ".flowproof/runs/1/report.json"):
        (repository / name).parent.mkdir(parents=True)
        (repository / name).write_text("x", "utf-8")
    assert not known(repository).changed


@pytest.mark.parametrize("change", ["tracked", "staged", "deleted", "untracked", "link"])
def test_each_kind_of_change(repository: Path, change: str) -> None:
    match change:
        case "tracked":
            (repository / "bot.py").write_text("two\n", "utf-8")
        case "staged":
            (repository / "bot.py").write_text("two\n", "utf-8")
            git(repository, "add", ".")
        case "deleted":
            (repository / "bot.py").unlink()
        case "untracked":
            (repository / "new").mkdir()
            (repository / "new/two words\n.py").write_text("two\n", "utf-8")
        case _:
            (repository / "link").symlink_to("/nowhere")
    found = known(repository)
    assert found.changed and len(found.changes) == 64
    assert known(repository) == found, "the same change, the same digest"


def test_other_changes_have_other_digests(repository: Path) -> None:
    digests = set()
    for name, text in (("bot.py", "2\n"), ("bot.py", "3\n"), ("new", ""), ("new", "4"), ("b", "")):
        (repository / name).write_text(text, "utf-8")
        digests.add(known(repository).changes)
    assert len(digests) == 5


def test_what_a_user_likes_to_see_is_no_difference(repository: Path) -> None:
    (repository / "bot.py").write_text("two\n", "utf-8")
    before = known(repository).changes
    for name, value in (
        ("color.ui", "always"),
        ("diff.noprefix", "true"),
        ("diff.context", "9"),
        ("diff.external", "false"),
        ("diff.renames", "copies"),
        ("core.pager", "false"),
    ):
        git(repository, "config", name, value)
    assert known(repository).changes == before


def test_too_much_of_a_change_is_a_change_without_a_digest(repository: Path) -> None:
    for at in range(module.MOST_FILES + 1):
        (repository / f"n{at}").touch()
    found = known(repository)
    assert (found.changed, found.changes) == (True, "")


def test_a_large_file_that_git_does_not_track(repository: Path) -> None:
    with (repository / "large").open("wb") as file:
        file.truncate(module.LARGEST + 1)
    found = known(repository)
    assert (found.changed, found.changes) == (True, "")


def test_a_head_on_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert known(repository).branch == ""
    service = {"GITLAB_CI": "true", "CI_COMMIT_REF_NAME": "topic"}
    assert known(repository, {**ENVIRON, **service}).branch == "topic"


def test_no_commit_yet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert asked(tmp_path) is None


def test_what_only_looks_like_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert asked(tmp_path) is None


def test_no_git(repository: Path, tmp_path: Path) -> None:
    assert asked(repository, {"PATH": str(tmp_path / "nothing")}) is None


def test_the_git_that_started_us_does_not_say_which_repository(
    repository: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    hook = {"GIT_DIR": str(other / ".git"), "GIT_INDEX_FILE": "nothing", "GIT_WORK_TREE": "."}
    assert known(repository, {**ENVIRON, **hook}) == known(repository)


def test_nothing_of_the_repository_is_run(repository: Path, tmp_path: Path) -> None:
    told, script = tmp_path / "told", tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {told}\n", "utf-8")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(script))
    git(repository, "config", "diff.external", str(script))
    git(repository, "config", "diff.text.textconv", str(script))
    (repository / ".gitattributes").write_text("*.py diff=text\n", "utf-8")
    (repository / "bot.py").write_text("two\n", "utf-8")
    assert known(repository).changed
    assert not told.exists()


def false_git(folder: Path, script: str) -> dict[str, str]:
    """An environment whose git is this script."""
    folder.mkdir()
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return {**ENVIRON, "PATH": f"{folder}:{ENVIRON['PATH']}"}


def all_gone(session: int) -> bool:
    """Whether no process of a session is left; the system may take a moment to end one."""
    until = time.monotonic() + 10
    while _members(session):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _members(session: int) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, psutil.Error):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def test_a_git_that_hangs_is_given_up_with_all_it_started(repository: Path, tmp_path: Path) -> None:
    environ = false_git(tmp_path / "bin", f"echo $$ > {tmp_path}/pid; sleep 60 & sleep 60")
    assert asked(repository, environ, seconds=1.0) is None
    assert all_gone(int((tmp_path / "pid").read_text("utf-8")))


def test_cancelling_leaves_no_process(repository: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    environ = false_git(tmp_path / "bin", f"echo $$ > {tmp_path}/pid; sleep 60 & sleep 60")

    async def cancelled() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(source, repository, environ, 60.0)
            with anyio.fail_after(30):
                while not pid.exists() or not pid.read_text("utf-8"):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    anyio.run(cancelled)
    assert all_gone(int(pid.read_text("utf-8")))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 3", id="fails"),
        pytest.param("exit 0", id="says nothing"),
        pytest.param("head -c 9000000 /dev/zero", id="says too much"),
        pytest.param(r"printf '# branch.oid ../../x\0'", id="says nonsense"),
        pytest.param(r"printf '2 \0? \0\0\377\0'", id="says halves"),
    ],
)
def test_a_git_that_lies(repository: Path, tmp_path: Path, script: str) -> None:
    assert asked(repository, false_git(tmp_path / "bin", script)) is None


def test_git_sees_no_key(repository: Path, tmp_path: Path) -> None:
    environ = false_git(tmp_path / "bin", f"env > {tmp_path}/env; exit 1")
    asked(repository, {**environ, "OPENAI_API_KEY": "sk-secret", "HOME": str(tmp_path)})
    seen = (tmp_path / "env").read_text("utf-8")
    assert "secret" not in seen
    assert {"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", f"HOME={tmp_path}"} <= set(seen.splitlines())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://git.example/a/b.git", "https://git.example/a/b.git"),
        ("https://token@git.example/a", "https://git.example/a"),
        ("https://u:p@git.example:8443/a?token=1#x", "https://git.example:8443/a"),
        ("ssh://git:p@git.example:22/a", "ssh://git@git.example:22/a"),
        ("git@git.example:a/b.git", "git@git.example:a/b.git"),
        ("u:p@git.example:a", "u@git.example:a"),
        ("git.example:a?token=1", "git.example:a"),
        ("/srv/git/a.git", ""),
        ("../a.git", ""),
        (r"C:\git\a", ""),
        ("file:///srv/git", ""),
        ("ext::sh -c reboot", ""),
        ("javascript://x/%0aalert(1)", ""),
        ("https://[::1", ""),
        ("https:///a", ""),
        ("https://git.example/\u202e", ""),
        ("https://git.example/" + "a" * 2000, ""),
        ("", ""),
        ("git@work:a/b.git", "git@work:a/b.git"),
        ("ssh://git@git.example/a", "ssh://git@git.example/a"),
        ("https://u:pa/secret@git.example/a", ""),
        ("https://u:pa#secret@git.example/a", ""),
        ("https://u:12#secret@git.example/a", ""),
        ("https://u:12/secret@git.example/a", ""),
        ("https://git.example:secret/a", ""),
        ("https://git.example:/a", ""),
        ("ssh://a@secret@git.example/a", ""),
        (r"https:\\u:secret@git.example/a", ""),
        (r"https://secret\@git.example/a", ""),
        ("secret:tok@en@git.example:a/b", ""),
        ("u:pa/secret@git.example:a/b", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("ftp://git.example/a", ""),
    ],
    ids=lambda text: text[:24] or "empty",
)
def test_addresses(text: str, shown: str) -> None:
    assert address(text) == shown
