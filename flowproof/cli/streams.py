"""Standard output and standard error, when they are closed, full, or their reader has left.

Imported before all else, so it costs next to nothing. Counterpart: `options`, whose `put` and
`say` write to them.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def open_missing() -> None:
    """Open the null device in the place of standard streams that were closed (`>&-`): else a
    file or a socket would take that number, and be written to."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def drop(stream: TextIO) -> None:
    """Let what a stream still holds, and is given from now on, go nowhere. Python would complain
    of it at exit, and change the exit code."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


def told(text: str, code: int) -> int:
    """Write to standard output; the exit code, see `flushed`."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        return _lost(sys.stdout, error, code)
    return code


def flushed(code: int) -> int:
    """Write out what the streams still hold; the exit code. Output that is lost, other than to a
    reader that left, makes 2 of a 0."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            code = _lost(stream, error, code)
    return code


def _lost(stream: TextIO, error: OSError, code: int) -> int:
    drop(stream)
    if stream is sys.stderr or isinstance(error, BrokenPipeError):
        return code
    return code or 2
