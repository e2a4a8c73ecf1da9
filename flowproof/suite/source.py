"""What git says of the repository that a suite lies in: which commit ran, and what differed.

git is asked beside the flows, and given up after some seconds; `origin` tells who ran it.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from anyio.abc import Process

from flowproof.model.origin import Source
from flowproof.report.text import one_line
from flowproof.suite.services import WORDS, branch_of

LARGEST = 64 * 1024 * 1024
"""Bytes of a difference that are looked at, and of the files that git does not track."""
MOST_FILES = 1000
_MOST_NAMES = 4 * 1024 * 1024

# What git may start by itself, as the repository's settings say, is not wanted here; and so are
# locks that would get in the way of the author's own git.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")
_PLAIN = ("-c", "core.quotePath=true", "-c", "diff.suppressBlankEmpty=false")
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
_ORIGIN = ("config", "--get", "remote.origin.url")
_DIFF = (
    "diff",
    "HEAD",
    "--binary",
    "--full-index",
    # Nothing of what a user may set for their eyes, so that all machines find the same.
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-relative",
    "--submodule=short",
    "--unified=3",
    "--inter-hunk-context=0",
    "--indent-heuristic",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_PASSED_ON = frozenset({"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SYSTEMROOT", "USERPROFILE"})
_SETTINGS = re.compile(r"GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|(?:KEY|VALUE)_[0-9]{1,4})")
_SCP = re.compile(r"(?:([^@/:\s]{1,200})(?::[^@/\s]{0,500})?@)?([^@:/\s]{1,300}):(?!//)(\S{1,700})")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class _TooMuch(Exception):
    """git prints more than is looked at."""


@dataclass(frozen=True, slots=True)
class _Status:
    commit: str
    branch: str
    changed: bool
    untracked: tuple[bytes, ...]


async def source(top: Path, environ: Mapping[str, str], seconds: float) -> Source | None:
    """The state of the repository whose work tree has this top; None in one without a commit, and
    where there is no git, or it does not answer within so many seconds.

    Cancelling the call ends what it started before it returns.
    """
    git = _Git(top, _environment(environ))
    with anyio.move_on_after(seconds):
        try:
            status = _status(await git.printed(_STATUS, _MOST_NAMES))
        except (OSError, _TooMuch):
            return None
        if status is None:
            return None
        repository = ""
        with suppress(OSError, _TooMuch):
            repository = address(os.fsdecode(await git.printed(_ORIGIN, 64 * 1024)).strip())
        branch = one_line(status.branch, WORDS) or branch_of(environ)
        changes = await _changes(git, status) if status.changed else ""
        return Source(repository, status.commit, branch, status.changed, changes)
    return None


def address(text: str) -> str:
    """The address of a repository without credentials, query and fragment; empty where it is a
    folder of this machine, which is nowhere else, or nothing that git should be given."""
    if len(text) > 1000 or not text.isprintable():
        return ""
    if "://" not in text:
        found = _SCP.fullmatch(text)
        if found is None or "::" in text or len(found[2]) == 1:  # a drive, or a helper's name
            return ""
        user = f"{found[1]}@" if found[1] else ""
        return f"{user}{found[2]}:{found[3].partition('?')[0].partition('#')[0]}"
    try:
        parts = urlsplit(text)
        user = parts.username or ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https", "ssh", "git", "git+ssh", "ssh+git"):
        return ""
    host = parts.netloc.rpartition("@")[2]
    # A name before an `https` host may be a token; before one of SSH it is a name.
    kept = f"{user}@" if user and "ssh" in parts.scheme else ""
    return f"{parts.scheme}://{kept}{host}{parts.path}" if host else ""


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What git is told: no key, and nothing of the git that may have started us."""
    kept = {
        name: value
        for name, value in environ.items()
        if name.upper() in _PASSED_ON or _SETTINGS.fullmatch(name)
    }
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


@dataclass(frozen=True, slots=True)
class _Git:
    """Asks git about one work tree."""

    top: Path
    environ: Mapping[str, str]

    async def printed(self, arguments: tuple[str, ...], limit: int) -> bytes:
        """All that it prints.

        :raises OSError: if there is no git, or it fails.
        :raises _TooMuch: if it prints more bytes than the limit.
        """
        return b"".join([piece async for piece in self.pieces(arguments, limit)])

    async def pieces(self, arguments: tuple[str, ...], limit: int) -> AsyncIterator[bytes]:
        """What it prints, piece by piece; raises as `printed` does."""
        async with self._asked(arguments) as process:
            assert process.stdout is not None  # it is a pipe
            async for piece in process.stdout:
                limit -= len(piece)
                if limit < 0:
                    raise _TooMuch
                yield piece
            if await process.wait():
                raise OSError(f"git {arguments[0]} exited with status {process.returncode}")

    @asynccontextmanager
    async def _asked(self, arguments: tuple[str, ...]) -> AsyncIterator[Process]:
        with anyio.CancelScope(shield=True):  # one that is half open could not be ended
            process = await anyio.open_process(
                ["git", *_SAFE, *_PLAIN, *arguments],
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd=self.top,
                env=self.environ,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    _kill(process)
                await process.aclose()


def _kill(process: Process) -> None:
    """End it with what it started: it may ask other gits about submodules."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _status(printed: bytes) -> _Status | None:
    """What `git status` printed; None where there is no commit."""
    commit = branch = ""
    changed = False
    untracked: list[bytes] = []
    lines = iter(printed.split(b"\0"))
    for line in lines:
        match line[:2]:
            case b"# ":
                name, _, value = os.fsdecode(line[2:]).partition(" ")
                commit = value if name == "branch.oid" else commit
                branch = value if name == "branch.head" else branch
            case b"? ":
                untracked.append(line[2:])
            case b"2 ":
                next(lines, None)  # what it was called before
                changed = True
            case b"1 " | b"u ":
                changed = True
    if not _COMMIT.fullmatch(commit):
        return None
    named = "" if branch == "(detached)" else branch
    return _Status(commit, named, changed or bool(untracked), tuple(sorted(untracked)))


async def _changes(git: _Git, status: _Status) -> str:
    """The SHA-256 of what differs from the commit; empty where it is too much to look at.

    It is over what `git diff` prints, then for each file that git does not track, in the order of
    their names: the length of its name, the name, and the SHA-256 of its bytes.
    """
    if len(status.untracked) > MOST_FILES:
        return ""
    digest = hashlib.sha256()
    try:
        async for piece in git.pieces(_DIFF, LARGEST):
            digest.update(piece)
        contents = await anyio.to_thread.run_sync(
            _contents, os.fsencode(git.top), status.untracked, abandon_on_cancel=True
        )
    except (OSError, _TooMuch):
        return ""
    for name, content in zip(status.untracked, contents, strict=True):
        digest.update(b"%d:%b %b\n" % (len(name), name, content))
    return digest.hexdigest()


def _contents(top: bytes, names: tuple[bytes, ...]) -> list[bytes]:
    """The digest of each file.

    :raises _TooMuch: if they hold more than is looked at.
    """
    left = LARGEST
    found: list[bytes] = []
    for name in names:
        digest = hashlib.sha256()
        for piece in _read(os.path.join(top, name)):  # noqa: PTH118 (bytes)
            left -= len(piece)
            if left < 0:
                raise _TooMuch
            digest.update(piece)
        found.append(digest.hexdigest().encode())
    return found


def _read(path: bytes) -> Iterator[bytes]:
    """What a file holds, or where a symbolic link leads; nothing of what is neither, or gone."""
    with suppress(OSError):
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            yield os.readlink(path)  # noqa: PTH115 (bytes)
        elif stat.S_ISREG(mode):
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (bytes)
                while piece := file.read(1 << 20):
                    yield piece
