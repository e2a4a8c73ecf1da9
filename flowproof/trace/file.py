"""Where a trace lies and how it gets there; the bytes themselves are `encode`'s and `decode`'s."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from flowproof.errors import TraceCorrupt, TraceMissing
from flowproof.files import write_atomic
from flowproof.trace.decode import MAX_SIZE, decode
from flowproof.trace.document import Trace


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
    try:
        # Not blocking, so that a pipe in a trace's place is an error and not a hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise TraceCorrupt(shown, "it is a pipe or a device, not a file")
            data = file.read(MAX_SIZE + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise TraceMissing(shown, spec_shown) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise TraceCorrupt(shown, f"it cannot be read: {reason}") from error
    return decode(data, shown)


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace whole or not at all.

    :raises TraceTooLarge: if it could not be read back.
    :raises OSError: if it cannot be written; what was there is unchanged.
    """
    from flowproof.trace.encode import encode

    write_atomic(path, encode(trace))


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    :raises OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
