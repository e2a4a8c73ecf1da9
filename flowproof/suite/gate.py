"""Lets flows in: no more at once than there are slots, and no two that share a lock.

Whoever waits is let in by priority, so that a flow whose lock is held does not stop others. It
only decides; `graph.scheduler` starts what it lets in, so that one that waits costs no task.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from flowproof.graph.task import TaskNode


@dataclass(frozen=True, slots=True)
class Claim:
    """What a flow needs to go in. Of those that can, the smallest `priority`, which no two share,
    goes first."""

    priority: tuple[float, int]
    locks: frozenset[str] = frozenset()


class Gate:
    """`slots` flows at once. `claims` are by task; a task without one goes in at once."""

    def __init__(self, slots: int, claims: Mapping[str, Claim]) -> None:
        self._claims = claims
        # Mutable: the numbers of free slots, smallest first, those that are taken by task, what
        # is held, and who waits: a heap for each set of locks, of which there are few.
        self._free = list(range(1, slots + 1))
        self._slots: dict[str, int] = {}
        self._held: set[str] = set()
        self._waiting: dict[frozenset[str], list[tuple[tuple[float, int], TaskNode]]] = {}
        self._unclaimed: list[TaskNode] = []

    def slot(self, id: str) -> int:
        """The number, from 1, of the slot that a task is in."""
        return self._slots[id]

    def offer(self, node: TaskNode) -> None:
        """A task could run now."""
        claim = self._claims.get(node.id)
        if claim is None:
            self._unclaimed.append(node)
        else:
            heapq.heappush(self._waiting.setdefault(claim.locks, []), (claim.priority, node))

    def take(self) -> TaskNode | None:
        """Let in the next task that can go; None if none can."""
        if self._unclaimed:
            return self._unclaimed.pop(0)
        if not self._free:
            return None
        able = [locks for locks in self._waiting if not locks & self._held]
        if not able:
            return None
        locks = min(able, key=lambda one: self._waiting[one][0][0])
        _, node = heapq.heappop(self._waiting[locks])
        if not self._waiting[locks]:
            del self._waiting[locks]
        self._held |= locks
        self._slots[node.id] = heapq.heappop(self._free)
        return node

    def left(self, node: TaskNode) -> None:
        """A task that was let in has ended, and gives back what it had."""
        slot = self._slots.pop(node.id, None)
        if slot is not None:
            heapq.heappush(self._free, slot)
            self._held -= self._claims[node.id].locks
