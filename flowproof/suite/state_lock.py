"""Keeps runs apart while they change the same folder: what is kept in `.flowproof`, and reports.

A lock is one on the folder itself: nothing of it stays there.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from flowproof.errors import WorldError
from flowproof.files import shortened

PATIENCE = 2.0
"""Seconds that a run waits for others that keep something at the same moment."""

LONGEST = 600.0
"""Seconds that reports wait for others that are being written to the same folder."""
_LOOK = 0.02


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


@contextlib.contextmanager
def alone_in(
    folders: Iterable[Path],
    waits: Callable[[Path], None] = lambda folder: None,
    patience: float = LONGEST,
) -> Iterator[None]:
    """Let nobody else who asks this way write to these folders meanwhile. `waits` is told of one
    in which somebody does. Where there are no locks nobody is kept out.

    :raises WorldError: if somebody still writes there after `patience` seconds.
    """
    try:
        import fcntl  # noqa: F401
    except ImportError:
        yield
        return
    with contextlib.ExitStack() as stack:
        opened: dict[tuple[int, int], tuple[int, Path]] = {}
        for folder in folders:
            try:
                descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue  # who writes there will say why that cannot be
            stack.callback(os.close, descriptor)
            facts = os.fstat(descriptor)
            opened.setdefault((facts.st_dev, facts.st_ino), (descriptor, folder))
        until = time.monotonic() + patience
        # In one order for all, or two could wait for each other.
        for _, (descriptor, folder) in sorted(opened.items()):
            _lock(descriptor, folder, waits, until, patience)
        yield


def _lock(
    descriptor: int, folder: Path, waits: Callable[[Path], None], until: float, patience: float
) -> None:
    import fcntl

    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise WorldError(
                    f"another flowproof writes reports to {shortened(str(folder))}, and has not "
                    f"ended within {patience:g} s; choose another folder with --reports-dir"
                ) from None
        except OSError:
            return  # a file system without locks
        if not told:
            waits(folder)
        told = True
        time.sleep(_LOOK)
