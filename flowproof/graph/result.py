"""How tasks ended, and who wants to hear of it; what the scheduler hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, assert_never

from flowproof.errors import FlowproofError
from flowproof.graph.task import TaskNode
from flowproof.model.task_state import TaskState


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """How one task ended.

    `started` is in seconds from the start of the run, `duration` in seconds until it ended: for
    a context manager until it was closed. Both are None for a task that never began. `error` is
    set exactly for FAILED. `cause` says in words why it did not end well: its own error, or the
    task that failed first, or the interruption.
    """

    state: TaskState
    value: object = None
    error: BaseException | None = None
    started: float | None = None
    duration: float | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class GraphResult:
    """How every task of a graph ended, by id, in the order in which they did."""

    ends: Mapping[str, TaskEnd]

    def failed(self) -> dict[str, TaskEnd]:
        """The tasks that failed by themselves, the first one first."""
        return {id: end for id, end in self.ends.items() if end.state is TaskState.FAILED}


class Observer(Protocol):
    """Hears of every task as it begins and as it ends. Both calls must return at once.

    A task that never begins only ends. What an observer raises ends the run like Ctrl-C does.
    """

    def started(self, node: TaskNode, at: float) -> None:
        """The task begins, `at` seconds from the start of the run."""

    def ended(self, node: TaskNode, end: TaskEnd) -> None:
        """The task has ended; a context manager has closed."""


class Silent:
    """The observer that ignores everything."""

    def started(self, node: TaskNode, at: float) -> None:
        """Nothing."""

    def ended(self, node: TaskNode, end: TaskEnd) -> None:
        """Nothing."""


silent = Silent()


def sole(error: BaseException) -> BaseException:
    """The error itself, or what a group holds that has only one: task groups wrap every error."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def in_words(error: BaseException) -> str:
    """An error as a cause: an error for users as it is, any other one behind its type's name."""
    error = sole(error)
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(in_words(one) for one in error.exceptions)
    text = str(error)
    if text and isinstance(error, FlowproofError | TimeoutError):
        return text
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def fate_of_dependents(id: str, end: TaskEnd) -> TaskEnd | None:
    """How a task ends because it needs one that ended like this; None if it may run."""
    match end.state:
        case TaskState.DONE:
            return None
        case TaskState.FAILED:
            reason = end.cause.partition("\n")[0]
            return TaskEnd(TaskState.CANCELLED, cause=f"`{id}` failed: {reason}")
        case TaskState.CANCELLED | TaskState.NOT_RUN:
            return TaskEnd(end.state, cause=end.cause)
        case _:
            assert_never(end.state)
