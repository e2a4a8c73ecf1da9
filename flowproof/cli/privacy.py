"""Keeps what flowproof holds in memory from other processes of the same user."""

from __future__ import annotations

import contextlib
import sys

_PR_SET_DUMPABLE = 4


def forbid_inspection() -> None:
    """Close /proc/<pid>/environ and memory of this process to everyone but root (Linux).

    While recording, our environment holds the real key. The agent runs as the same user and
    could read it there, though its own environment holds only a placeholder.
    """
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(0))
