"""Where a trace lies and how it gets there; the bytes themselves are `encode`'s and `decode`'s."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from flowproof.errors import TraceCorrupt, TraceMissing
from flowproof.files import shortened, write_atomic
from flowproof.trace.decode import MAX_SIZE, decode
from flowproof.trace.document import FORMAT, Trace

_HEAD = 4096
"""How much of a file is looked at to see what it is, in bytes."""


def trace_path(spec_path: Path) -> Path:
    """Where the trace of a spec is written: `x.trace.json` beside `x.flow.yaml`."""
    name = spec_path.name
    for ending in (".yaml", ".yml"):
        name = name.removesuffix(ending)
    return spec_path.with_name(f"{name.removesuffix('.flow')}.trace.json")


def find_trace(spec_path: Path) -> Path:
    """The trace to replay: `x.trace.json`, or `x.trace.jsonl` of flowproof 0.23 if only that is
    there."""
    path = trace_path(spec_path)
    legacy = path.with_suffix(".jsonl")
    return legacy if legacy.exists() and not path.exists() else path


def read_trace(path: Path, shown: str, spec_shown: str) -> Trace:
    """The trace in a file; `shown` and `spec_shown` name the files in errors.

    :raises TraceMissing: if there is no such file.
    :raises TraceCorrupt: if it cannot be read, or is not a trace.
    """
    shown = shortened(shown)
    try:
        with _opened(path) as file:
            data = file.read(MAX_SIZE + 1)
    except _NoFile as error:
        raise TraceCorrupt(shown, str(error)) from None
    except (FileNotFoundError, NotADirectoryError):
        raise TraceMissing(shown, spec_shown) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise TraceCorrupt(shown, f"it cannot be read: {reason}") from error
    return decode(data, shown)


class _NoFile(OSError):
    """Something else stands in a file's place."""


def _opened(path: Path) -> BufferedReader:
    # Not blocking, so that a pipe in a trace's place is an error and not a hang.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise _NoFile("it is a pipe or a device, not a file")


def may_replace(path: Path) -> bool:
    """Whether nothing but a trace would be lost by writing one here: nothing stands there, or
    what begins like a trace, or a link, which is replaced and not followed.

    An empty file and one that begins with the mark of a merge conflict may be replaced too.

    :raises OSError: if it cannot be told.
    """
    if path.is_symlink() or not path.exists():
        return True
    try:
        with _opened(path) as file:
            head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (_NoFile, IsADirectoryError):
        return False
    named = head.startswith(b"{") and f'"{FORMAT}"'.encode() in head
    return not head or named or head.startswith(b"<<<<<<< ")


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace whole or not at all.

    :raises TraceTooLarge: if it could not be read back.
    :raises OSError: if it cannot be written; what was there is unchanged.
    """
    from flowproof.trace.encode import encode

    write_atomic(path, encode(trace))


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    :raises OSError: if it cannot be read, or is no regular file.
    """
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
