"""Keeps runs of one suite apart while they change what is kept in `.flowproof`."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 2.0
"""Seconds that a run waits for others that keep something at the same moment."""


@contextlib.contextmanager
def alone(state: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Let no other run change the folder meanwhile, or one would forget what the other noted.

    Each file is written whole in any case, so whoever holds the folder for more than `patience`
    seconds, or a file system without locks, does not stop a run.

    :raises OSError: if the folder cannot be opened.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(state, os.O_RDONLY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(descriptor)
