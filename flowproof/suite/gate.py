"""Lets flows in: no more at once than there are slots, and no two that share a lock.

Whoever waits is let in by priority, so that a flow whose lock is held does not stop others.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, eq=False)
class _Waiting:
    priority: tuple[float, int]
    locks: frozenset[str]
    admitted: anyio.Event = field(default_factory=anyio.Event)
    slot: int = 0


class Gate:
    """`slots` flows at once. Every method decides over visible state at once, then awaits."""

    def __init__(self, slots: int) -> None:
        # Mutable: the numbers of free slots, what is held, and who waits.
        self._free = list(range(1, slots + 1))
        self._held: set[str] = set()
        self._waiting: list[_Waiting] = []

    @contextlib.asynccontextmanager
    async def admit(self, priority: tuple[float, int], locks: frozenset[str]) -> AsyncIterator[int]:
        """Wait for a slot and all locks, and hold them inside the context; the slot's number,
        from 1. The smallest `priority` that can go in goes first."""
        me = _Waiting(priority, locks)
        self._waiting.append(me)
        # All that became ready at this moment shall be there before the first is chosen.
        try:
            await anyio.lowlevel.checkpoint()
            self._let_in()
            await me.admitted.wait()
            yield me.slot
        finally:
            if me in self._waiting:
                self._waiting.remove(me)
            if me.slot:
                self._free.append(me.slot)
                self._held -= me.locks
            self._let_in()

    def _let_in(self) -> None:
        for one in sorted(self._waiting, key=lambda waiting: waiting.priority):
            if not self._free:
                return
            if not one.locks & self._held:
                self._waiting.remove(one)
                self._held |= one.locks
                self._free.sort()
                one.slot = self._free.pop(0)
                one.admitted.set()
