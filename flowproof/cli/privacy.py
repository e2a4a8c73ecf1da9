"""Keeps what flowproof holds in memory from other processes of the same user."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping

_PR_SET_DUMPABLE = 4


def protect_keys(environ: Mapping[str, str]) -> None:
    """Forbid inspection if a provider's key is in our environment. No replay needs one, and
    many a shell holds one."""
    from flowproof.flow.providers import KEY_VARIABLES

    if any(environ.get(name, "").strip() for name in KEY_VARIABLES):
        forbid_inspection()


def forbid_inspection() -> None:
    """Close /proc/<pid>/environ and memory of this process to everyone but root (Linux).

    Where our environment holds a real key, the agent, which runs as the same user, could read it
    there, though its own environment holds only a placeholder.
    """
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(0))
