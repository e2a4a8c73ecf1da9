"""Writes a file whole or not at all, for everything that flowproof leaves on disk.

A reader never meets half a file, and a failed write leaves the previous one as it was. What the
system refuses is put into words here too.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


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
    # A pipe must not wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(limit + 1)
    return data if len(data) <= limit else None


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
