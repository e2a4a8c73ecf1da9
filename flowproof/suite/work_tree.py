"""What differs in a work tree from its commit, and the digest of that: `source` tells it of a run.

No filter of the repository is run (see `git`), so that of a file that goes through one it may be
unknown whether it differs. Files of Git LFS are known: what their filter makes of them is simple.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from flowproof.suite.git import Git, TooMuch, git_of
from flowproof.suite.own_files import foreign

T = TypeVar("T")

LARGEST = 64 * 1024 * 1024
"""Bytes of a difference that are looked at, and of the files that git does not track."""
MOST_FILES = 1000
MOST_SUBMODULES = 100
_DEEPEST = 5
_MOST_NAMES = 4 * 1024 * 1024

_STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    # Their commits are compared. What differs inside is asked of each of them: left to itself, git
    # would run what their settings say.
    "--ignore-submodules=dirty",
)
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
    "--ignore-submodules=dirty",
    "--unified=3",
    "--inter-hunk-context=0",
    "--indent-heuristic",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_INDEX = ("ls-files", "--stage", "-z")
_SUBMODULE = b"160000 "
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LFS = "lfs"
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"


@dataclass(frozen=True, slots=True)
class Status:
    """What git says of a work tree. `changed` if something differs for certain; `modified` are
    the files whose bytes are not those of the commit, with the names of the objects in it.
    `untracked` leaves out what flowproof wrote."""

    commit: str
    branch: str
    changed: bool
    modified: tuple[tuple[bytes, str], ...] = ()
    untracked: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Whether a work tree differs from its commit, None where that is unknown. `filtered` are the
    files that go through a filter and are not known to be the same, `equal` those that are, and
    `inner` the submodules that differ, each with the digest of that."""

    changed: bool | None
    filtered: tuple[bytes, ...] = ()
    equal: tuple[bytes, ...] = ()
    inner: tuple[tuple[bytes, str], ...] = ()


async def status_of(git: Git) -> Status | None:
    """None where there is no commit.

    :raises OSError: if git fails.
    :raises TooMuch: if there are too many changes to look at.
    """
    status = _status(await git.printed(_STATUS, _MOST_NAMES))
    if status is None or not status.untracked:
        return status
    untracked = await _in_thread(lambda: foreign(git.top, status.untracked))
    return replace(status, changed=status.changed or bool(untracked), untracked=untracked)


async def difference(git: Git, status: Status, depth: int = 0) -> Difference:
    """What really differs, after a look at filtered files and into submodules."""
    drivers = await _drivers(git, status)
    filtered = [(path, name) for path, name in status.modified if drivers.get(path)]
    plain = len(filtered) < len(status.modified)
    pointers = [one for one in filtered if drivers[one[0]] == _LFS]
    same = await _in_thread(lambda: _same_pointers(os.fsencode(git.top), pointers))
    unsure = tuple(path for path, _ in filtered if not same.get(path))
    inner, unknown = await _submodules(git, depth)
    changed: bool | None = status.changed or plain or bool(inner) or False in same.values()
    if not changed and (unknown or unsure):
        changed = None
    return Difference(changed, unsure, tuple(path for path in same if same[path]), inner)


async def digest_of(git: Git, status: Status, found: Difference) -> str:
    """The SHA-256 of what differs from the commit; empty where it is too much to look at.

    It is over what `git diff` prints without files that go through a filter, then for each file
    that git does not track and each filtered one, in the order of their names: the length of its
    name, the name, and the SHA-256 of its bytes; then the same for submodules that differ, with
    the digest of what differs there.
    """
    whole = tuple(sorted((*status.untracked, *found.filtered)))
    if len(whole) > MOST_FILES or not all(changes for _, changes in found.inner):
        return ""
    skipped = [f":(top,exclude,literal){os.fsdecode(path)}" for path in found.filtered]
    skipped += [f":(top,exclude,literal){os.fsdecode(path)}" for path in found.equal]
    digest = hashlib.sha256()
    try:
        async for piece in git.pieces((*_DIFF, "--", ".", *skipped), LARGEST):
            digest.update(piece)
        contents = await _in_thread(lambda: _contents(os.fsencode(git.top), whole))
    except (OSError, TooMuch):
        return ""
    for name, content in [*zip(whole, contents, strict=True), *found.inner]:
        digest.update(b"%d:%b %b\n" % (len(name), name, content.encode()))
    return digest.hexdigest()


def _status(printed: bytes) -> Status | None:
    """What `git status` printed, of which what is not tracked has still to be looked at; None
    where there is no commit."""
    commit = branch = ""
    changed = False
    modified: list[tuple[bytes, str]] = []
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
            case b"1 " if (found := _modified(line)) is not None:
                modified.append(found)
            case b"1 " | b"u ":
                changed = True
    if not _COMMIT.fullmatch(commit):
        return None
    named = "" if branch == "(detached)" else branch
    return Status(commit, named, changed, tuple(modified), tuple(sorted(untracked)))


def _modified(line: bytes) -> tuple[bytes, str] | None:
    """The file of a line that says that its bytes differ and nothing else does."""
    parts = line.split(b" ", 8)
    if len(parts) < 9 or parts[1] != b".M" or parts[2] != b"N..." or parts[4] != parts[5]:
        return None
    return parts[8], os.fsdecode(parts[7])


async def _drivers(git: Git, status: Status) -> dict[bytes, str]:
    """Through which filter each modified file goes, empty for none; of too many files the first
    tell. Where git does not say, all may go through one."""
    asked = [path for path, _ in status.modified][:MOST_FILES]
    if not asked or not git.filters:
        return {}
    found = dict.fromkeys((path for path, _ in status.modified), "?")
    with suppress(OSError, TooMuch):
        names = ("check-attr", "-z", "filter", "--", *map(os.fsdecode, asked))
        told = (await git.printed(names, 2 * _MOST_NAMES)).split(b"\0")
        for path, value in zip(told[::3], told[2::3], strict=False):
            driver = os.fsdecode(value)
            found[path] = driver if driver in git.filters else ""
    return found


async def _submodules(git: Git, depth: int) -> tuple[tuple[tuple[bytes, str], ...], bool]:
    """The submodules in which something differs from their commit, and whether it is unknown of
    others."""
    places, rest = [], b""
    try:
        async for piece in git.pieces(_INDEX, LARGEST):
            *lines, rest = (rest + piece).split(b"\0")
            places += [line.partition(b"\t")[2] for line in lines if line.startswith(_SUBMODULE)]
    except (OSError, TooMuch):
        return (), True
    there = [path for path in places if _is_there(git.top, path)]
    unknown = len(there) > MOST_SUBMODULES or (depth == _DEEPEST and bool(there))
    inner: list[tuple[bytes, str]] = []
    for path in [] if unknown else there:
        changed, changes = await _inside(git.top / os.fsdecode(path), git, depth + 1)
        unknown |= changed is None
        inner += [(path, changes)] if changed else []
    return tuple(inner), unknown


async def _inside(top: Path, outer: Git, depth: int) -> tuple[bool | None, str]:
    try:
        git = await git_of(top, outer.environ)
        status = await status_of(git)
        if status is None:
            return None, ""
        found = await difference(git, status, depth)
        return found.changed, await digest_of(git, status, found) if found.changed else ""
    except (OSError, TooMuch):
        return None, ""


def _is_there(top: Path, path: bytes) -> bool:
    with suppress(OSError, ValueError):
        return (top / os.fsdecode(path) / ".git").exists()
    return False


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _same_pointers(top: bytes, files: Sequence[tuple[bytes, str]]) -> dict[bytes, bool]:
    """Whether files that Git LFS keeps are those that the commit names; of others it is unknown."""
    found: dict[bytes, bool] = {}
    left = LARGEST
    for path, named in files:
        digest, size = hashlib.sha256(), 0
        for piece in _read(os.path.join(top, path)):  # noqa: PTH118 (bytes)
            size += len(piece)
            digest.update(piece)
            if size > left:
                return found
        left -= size
        text = b"%boid sha256:%b\nsize %d\n" % (_POINTER, digest.hexdigest().encode(), size)
        found[path] = _object(text if size else b"", named) == named
    return found


def _object(data: bytes, like: str) -> str:
    """The name that git gives to an object, by the kind of digest that another name is."""
    kind = "sha1" if len(like) == 40 else "sha256"
    return hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _contents(top: bytes, names: tuple[bytes, ...]) -> list[str]:
    """The digest of each file.

    :raises TooMuch: if they hold more than is looked at.
    """
    left = LARGEST
    found: list[str] = []
    for name in names:
        digest = hashlib.sha256()
        for piece in _read(os.path.join(top, name)):  # noqa: PTH118 (bytes)
            left -= len(piece)
            if left < 0:
                raise TooMuch
            digest.update(piece)
        found.append(digest.hexdigest())
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
