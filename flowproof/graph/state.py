"""The state of a run, task by task, and what a task function may see of it.

`scheduler` changes it; task functions read it through `TaskContext`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

import anyio

from flowproof.graph.result import TaskEnd
from flowproof.graph.task import TaskNode
from flowproof.model.task_state import TaskState


class NoValue(KeyError):
    """A task asked for a value that it was not promised, or that never came to be."""

    def __str__(self) -> str:
        return str(self.args[0])


class Phase(Enum):
    """Where a task is in its life."""

    WAITING = auto()  # for its needs
    RUNNING = auto()  # a plain task, or a context manager that is opening; perhaps for a token
    OPEN = auto()
    CLOSING = auto()
    ENDED = auto()


@dataclass(slots=True, eq=False)
class Slot:
    """One task as it stands now. `missing` counts needs that have neither opened nor ended, `users`
    dependents that have not ended. `limit` says what a passed deadline means. `scope` and `release`
    are there while it lives: of thousands of tasks, most wait or have ended."""

    node: TaskNode
    missing: int
    users: int
    phase: Phase = Phase.WAITING
    scope: anyio.CancelScope = field(init=False)
    release: anyio.Event = field(init=False)
    value: object = None
    started: float | None = None
    opened: int = 0
    doom: TaskEnd | None = None
    limit: str = ""

    def begin(self) -> None:
        """It lives from now on."""
        self.phase = Phase.RUNNING
        self.scope, self.release = anyio.CancelScope(), anyio.Event()

    def over(self) -> None:
        """It has ended, and nobody ends it again."""
        del self.scope, self.release


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a task function is told: its node, and what the tasks before it left."""

    node: TaskNode
    _slots: Mapping[str, Slot] = field(repr=False)
    _ends: Mapping[str, TaskEnd] = field(repr=False)

    def value(self, task_id: str) -> object:
        """The value of a task that this one needs; a context manager's while it is open.

        :raises KeyError: if this task does not need that one, or it gave no value.
        """
        if task_id not in self.node.needs:
            raise NoValue(
                f"task `{self.node.id}` asks for the value of `{task_id}`, which it does not need;"
                f" it needs: {', '.join(self.node.needs) or 'nothing'}"
            )
        end = self._ends.get(task_id)
        if end is not None and end.state is not TaskState.DONE:
            raise NoValue(f"task `{task_id}` has no value, it is {end.state}: {end.cause}")
        return self._slots[task_id].value

    def values(self, kind: str) -> dict[str, object]:
        """The values of all needed tasks of one kind, such as those of a `for_each`, by id.

        :raises KeyError: if one of them gave no value.
        """
        return {id: self.value(id) for id in self.node.needs if self._slots[id].node.kind == kind}

    def ended(self, task_id: str) -> TaskEnd | None:
        """How any task of the graph ended; None if it has not, as an open context manager.

        :raises KeyError: if the graph has no such task.
        """
        if task_id not in self._slots:
            raise NoValue(f"the graph has no task `{task_id}`")
        return self._ends.get(task_id)


TaskFunction: TypeAlias = Callable[
    [TaskContext], "Awaitable[object] | AbstractAsyncContextManager[object]"
]
"""What does a task: makes an awaitable, or a context manager that stays open for its dependents."""
