"""`SHA256SUMS`: the digests of all files of a reports folder, as `sha256sum -c` reads them.

`verify` compares them with the files. Names are bytes to the system: they are kept as such.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from flowproof.errors import FlowproofError, UsageError, WorldError
from flowproof.files import exhausted, shortened, system_error, write_atomic
from flowproof.report.html_names import FOLDER as PAGES

FILE_NAME = "SHA256SUMS"
MOST = 300_000
"""The most files, or folders, that a reports folder has."""
_BESIDE_PAGES = 10
"""No more files of ours are beside the pages of flows."""
ONLY_WRITTEN = b"# flowproof: this folder holds more than reports, and only these are listed\n"

_TEMPORARY = re.compile(r"\.flowproof-[0-9a-f]{16}\.tmp")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_ESCAPED = re.compile(r"[\\\n\r]")
_LINE = re.compile(r"(\\?)([0-9a-f]{64}) [ *](.+)")
_CHUNK = 1 << 20


class NotSums(ValueError):
    """A text is no list of digests; the message says where and why."""


def sums(digests: Mapping[str, str], *, only_written: bool = False) -> bytes:
    """The list of files with their digests, sorted by the bytes of their names."""
    lines = sorted((os.fsencode(name), name) for name in digests)
    body = b"".join(_line(name, digests[name]) for _, name in lines)
    return ONLY_WRITTEN + body if only_written else body


def _line(name: str, digest: str) -> bytes:
    escaped = _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)
    return os.fsencode(f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n")


def read_sums(data: bytes) -> dict[str, str]:
    """The digest of each file that a list names.

    :raises NotSums: if a line is none of such a list, a file is named twice, or no file is.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(os.fsdecode(data).split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise NotSums(f"line {number} is not a digest and the name of a file")
        name = _unescaped(match[3]) if match[1] else match[3]
        if found.setdefault(name, match[2]) != match[2]:
            raise NotSums(f"line {number} names a file for the second time, with another digest")
        if len(found) > MOST:
            raise NotSums(f"it lists more than {MOST:,} files")
    if not found:
        raise NotSums("it lists no file")
    return found


def _unescaped(text: str) -> str:
    back = {escape: char for char, escape in _ESCAPES.items()}
    return re.sub(r"\\[\\nr]", lambda found: back[found[0]], text)


def files_below(
    folder: Path,
    most: int = MOST,
    left_out: list[str] | None = None,
    odd: list[str] | None = None,
) -> Iterator[str]:
    """The names of all regular files below a folder, relative to it with `/`, in no order.

    Links are not followed: they, pipes and the like are put into `odd`. The folder's own list and
    temporary files of ours are left out, and so is a folder inside that has a list of its own,
    which is put into `left_out`. The folder of pages is never left out: whatever is put there
    stands beside ours.

    :raises OSError: if a folder cannot be read.
    :raises UsageError: if there are more than `most`.
    """
    waiting, seen = [""], 0
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            inside = list(_bounded(entries, folder, most, seen))
        seen += len(inside)
        own = below and below != f"{PAGES}/" and any(_is_list(one) for one in inside)
        if own:
            _noted(below, left_out)
            continue
        for one in inside:
            name = f"{below}{one.name}"
            if one.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif not _is_file(one):
                _noted(name, odd)
            elif name != FILE_NAME and not _TEMPORARY.fullmatch(one.name):
                yield name


def _noted(name: str, where: list[str] | None) -> None:
    if where is not None:
        where.append(name)


def _bounded(
    entries: Iterable[os.DirEntry[str]], folder: Path, most: int, seen: int
) -> Iterator[os.DirEntry[str]]:
    for number, one in enumerate(entries, seen + 1):
        if number > most:
            raise UsageError(
                f"{shortened(str(folder))} holds more than {most:,} files and folders, too many "
                "for a list of digests; choose a folder for reports alone with --reports-dir"
            )
        yield one


def _is_list(entry: os.DirEntry[str]) -> bool:
    return entry.name == FILE_NAME and _is_file(entry)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def file_digest(path: Path, limit: int | None = None) -> str:
    """The SHA-256 of a regular file, in hexadecimal; a link is not followed.

    :raises OSError: if it cannot be read, is none, or holds more than `limit` bytes.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    digest, left = hashlib.sha256(), limit
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
            if left is not None and (left := left - len(chunk)) < 0:
                raise OSError(errno.EINVAL, f"it holds more than {limit} bytes", str(path))
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def require_room(folder: Path, pages: int, *, only_written: bool, most: int = MOST) -> None:
    """See, before so many pages are made, that a list has room for them and for what else is in
    the folder.

    :raises UsageError: if it has not, or the folder cannot be read.
    """
    others = _BESIDE_PAGES
    if not only_written and folder.is_dir():
        try:
            found = files_below(folder, most)
            others += sum(not name.startswith(f"{PAGES}/") for name in found)
        except OSError as error:
            raise _unwritable(error) from error
    if pages + others > most:
        raise UsageError(
            f"{pages:,} pages of flows are more than a list of digests may name together with "
            f"what is in {shortened(str(folder))} ({most:,} files); leave out the report html, or "
            "run the suite in shards and report each by itself"
        )


def holds_more(folder: Path, places: Iterable[Path]) -> bool:
    """Whether one of these places is the folder or lies below it, so that it is no folder for
    reports alone."""
    whole = folder.resolve()
    return any(place.resolve().is_relative_to(whole) for place in places)


def withdraw(folder: Path, *, only_written: bool) -> None:
    """Take away the list of a folder before one of its files changes, so that none claims what
    is no longer there.

    :raises UsageError: if it cannot be taken away, or a folder that holds more than reports has
        a list that is not ours.
    """
    path = folder / FILE_NAME
    try:
        if only_written and path.exists() and not _is_ours(path):
            raise UsageError(
                f"{shortened(str(path))} is not flowproof's, and would be replaced; choose a "
                "folder for reports alone with --reports-dir"
            )
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(error) from error


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(ONLY_WRITTEN)) == ONLY_WRITTEN


def write_sums(
    folder: Path, written: Mapping[str, str], *, only_written: bool, most: int = MOST
) -> Path:
    """List the files of a folder; the path of the list. `written` has the digests that are known
    already; with `only_written` no other file is listed.

    :raises UsageError: if a file cannot be read, the list cannot be written, or there are more
        than `most`.
    :raises WorldError: if there is no room for the list.
    """
    digests: dict[str, str] = {}
    try:
        for name in written if only_written else files_below(folder, most):
            # A file that somebody takes away meanwhile is not there to be listed.
            with suppress(FileNotFoundError):
                digests[name] = written.get(name) or file_digest(folder / name)
        path = folder / FILE_NAME
        write_atomic(path, sums(digests, only_written=only_written))
    except OSError as error:
        raise _unwritable(error) from error
    return path


def _unwritable(error: OSError) -> FlowproofError:
    kind = WorldError if exhausted(error) else UsageError
    return kind(
        f"cannot write the digests of the reports: {system_error(error)}; choose another folder "
        "with --reports-dir, or write no reports with --no-reports"
    )
