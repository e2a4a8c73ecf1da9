"""Writes a file whole or not at all, for everything that flowproof leaves on disk.

A reader never meets half a file, and a failed write leaves the previous one as it was. What the
system refuses is put into words here too, and regular files are read, whole or for their digest.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PIECE = 1024 * 1024


def shortened(path: str) -> str:
    """A path as a message can hold it: of a very long one, its beginning and its end."""
    return path if len(path) <= 300 else f"{path[:140]}…{path[-140:]}"


def place(path: Path) -> Path:
    """The one spelling of a file: its folder without symbolic links, and its own name, which may
    be a link. Two names in one folder are two files, whatever they lead to."""
    return path.parent.resolve() / path.name


def read_regular(path: Path, limit: int) -> bytes | None:
    """All of a regular file; None if it holds more than `limit` bytes.

    :raises OSError: if it cannot be read, or is a pipe, a device or a folder: that might never
        end.
    """
    with os.fdopen(_opened_regular(path), "rb") as file:
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


class Digests:
    """The SHA-256 of regular files, in hex. A file is read once for as long as its time and size
    stay as they are."""

    def __init__(self) -> None:
        # Mutable: what is known, by path, time in nanoseconds, and size.
        self._known: dict[tuple[str, int, int], str] = {}

    def known(self, path: str, found: os.stat_result) -> str | None:
        """That of a file with these facts, if it was read before."""
        return self._known.get((path, found.st_mtime_ns, found.st_size))

    def of(self, path: str, limit: int) -> str | None:
        """That of the file at a path; None if it holds more than `limit` bytes.

        :raises OSError: as `read_regular` does.
        """
        import hashlib

        descriptor = _opened_regular(path)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            found = os.fstat(descriptor)
            key = path, found.st_mtime_ns, found.st_size
            if found.st_size > limit:
                return None
            if key in self._known:
                return self._known[key]
            digest = hashlib.sha256()
            left = limit
            while piece := file.read(min(_PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    return None  # it grew
                digest.update(piece)
        return self._known.setdefault(key, digest.hexdigest())


def _opened_regular(path: str | Path) -> int:
    """A descriptor of a regular file; it need not stay one at that path.

    :raises OSError: if it cannot be read, or is a pipe, a device or a folder.
    """
    # A pipe must not wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return descriptor


_EXHAUSTED = {
    getattr(errno, name)
    for name in ("EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EFBIG", "ENOMEM", "EAGAIN", "ENOBUFS")
    if hasattr(errno, name)
}
_CHAIN = 20
"""How far the causes of an error are followed."""


def exhausted(error: OSError) -> bool:
    """Whether the system has nothing left of what was asked for, such as descriptors or room on
    a disk: no file and no setting of an author is wrong then."""
    return error.errno in _EXHAUSTED


def exhaustion(error: BaseException) -> OSError | None:
    """What the system had nothing left of, where that is behind an error; None if it is not."""
    found: BaseException | None = error
    for _ in range(_CHAIN):
        match found:
            case None:
                return None
            case BaseExceptionGroup(exceptions=[sole]):
                found = sole
            # One that is not the error itself was met while waiting for a descriptor.
            case BlockingIOError() if found is not error:
                return None
            case OSError() if exhausted(found):
                return found
            case _:
                hidden = None if found.__suppress_context__ else found.__context__
                found = found.__cause__ or hidden
    return None


def remedy(number: int | None) -> str:
    """What to do where the system refused with this errno for want of something; empty where
    that is plain."""
    if number in (errno.EMFILE, errno.ENFILE):
        return "; raise the limit on open files (`ulimit -n`), or run fewer flows at once (-j)"
    if number in (errno.EAGAIN, errno.ENOMEM):
        return "; run fewer flows at once (-j), or raise the limit on processes (`ulimit -u`)"
    return ""


def system_error(error: OSError) -> str:
    """What the system refused, and where: its own words and the name of the file."""
    reason = error.strerror or type(error).__name__
    return reason if error.filename is None else f"{shortened(str(error.filename))}: {reason}"


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Put `data`, whole or in pieces, at `path`, through a temporary file in the same folder and a
    rename.

    The folder must exist. A symbolic link at `path` is replaced, never followed.

    :raises OSError: if it cannot be written; what was there is unchanged, and no temporary file
        is left behind.
    """
    # `tempfile` would be the usual way, but costs 13 ms to import and makes files private (0600).
    temporary = path.with_name(f".flowproof-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
