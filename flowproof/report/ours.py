"""Which files of a reports folder are flowproof's own, so that no other is ever replaced.

Asked before a run, so it knows marks and loads no renderer; those write the marks.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from pathlib import Path

from flowproof.errors import UsageError
from flowproof.files import shortened
from flowproof.report.html_names import INDEX, PAGE_MARK

SUMS = "SHA256SUMS"
_LISTED_ONLY = b"# flowproof: "
"""How the list of a folder begins that holds more than reports."""
_PIECE = 1 << 20
_LARGEST = 1 << 30
_LONGEST_LIST = 64 << 20
_HEAD = 4096


def _begins(mark: bytes) -> Callable[[Path], bool]:
    """Whether a file has a mark near its beginning."""

    def found(path: Path) -> bool:
        with _opened(path) as pieces:
            return re.search(mark, next(pieces, b"")[:_HEAD]) is not None

    return found


def _holds(mark: bytes) -> Callable[[Path], bool]:
    """Whether a file has a short mark anywhere."""

    def found(path: Path) -> bool:
        before = b""
        with _opened(path) as pieces:
            for piece in pieces:
                if re.search(mark, before + piece) is not None:
                    return True
                before = piece[-200:]
        return False

    return found


_MARKS: Mapping[str, Callable[[Path], bool]] = {
    INDEX: _begins(re.escape(PAGE_MARK.encode())),
    "run.json": _begins(rb'"schema"\s*:\s*"flowproof\.run/'),
    "evidence.json": _holds(rb'"schema"\s*:\s*"flowproof\.evidence/'),
    "statement.intoto.json": _holds(
        rb'"predicateType"\s*:\s*"https://in-toto\.io/attestation/test'
    ),
    "ctrf-report.json": _begins(rb'"generatedBy"\s*:\s*"flowproof '),
}
OF_KIND: Mapping[str, tuple[str, ...]] = {
    "html": (INDEX,),
    "json": ("run.json",),
    "evidence": ("evidence.json", "statement.intoto.json", "run.json"),
    "ctrf": ("ctrf-report.json",),
}
"""The files of each kind of report that somebody else may have under this name. A JUnit report
and a blob are ours by theirs."""
_BY_NAME = re.compile(r"TEST-flowproof\.xml|.*\.flowproof-blob")
REPORTS = frozenset({SUMS, "TEST-flowproof.xml", *_MARKS})
"""How files of reports are called, beside pages of flows and blobs."""


def require_ours(folders: Mapping[str, Path]) -> None:
    """See that reports of these kinds, each with its folder, replace nothing but what flowproof
    wrote. An empty file may be replaced, and so may a link, which is not followed.

    :raises UsageError: if a file is somebody else's, naming it.
    """
    for kind, folder in folders.items():
        for name in (*OF_KIND.get(kind, ()), *(() if kind == "blob" else (SUMS,))):
            if not may_replace(folder / name):
                raise UsageError(
                    f"{shortened(str(folder / name))} is not flowproof's, and a report would "
                    "replace it; move it away, or choose a folder for reports alone with "
                    "--reports-dir"
                )


def may_replace(path: Path) -> bool:
    """Whether nothing but flowproof's own would be lost by writing a report here."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and not found.st_size):
            return True
        return stat.S_ISREG(found.st_mode) and _is_ours(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # a file that nobody can read is none that we wrote


def is_ours(path: Path) -> bool:
    """Whether a file with the name of a report, or of the page of a flow, is one.

    :raises OSError: if it cannot be read.
    """
    return stat.S_ISREG(path.lstat().st_mode) and _is_ours(path)


def _is_ours(path: Path) -> bool:
    if path.name == SUMS:
        return _lists_ours(path)
    if _BY_NAME.fullmatch(path.name):
        return True
    return _MARKS.get(path.name, _MARKS[INDEX])(path)


def _lists_ours(path: Path) -> bool:
    """Whether a list of digests names a report of ours that is there."""
    names: set[str] = set()
    with _opened(path) as pieces:
        text = b"".join(islice(pieces, _LONGEST_LIST // _PIECE))
    if text.startswith(_LISTED_ONLY):
        return True
    for line in text.splitlines():
        name = os.fsdecode(line[66:])
        if name in _MARKS or _BY_NAME.fullmatch(name):
            names.add(name)
    for name in names:
        with suppress(OSError):
            if _BY_NAME.fullmatch(name) or _is_ours(path.with_name(name)):
                return True
    return False


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[bytes]]:
    """The content of a file in pieces, as far as a report may be long."""
    # A pipe that took the file's place must not wait for its writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        pieces = (os.read(descriptor, _PIECE) for _ in range(_LARGEST // _PIECE))
        yield takewhile(bool, pieces)
    finally:
        os.close(descriptor)
