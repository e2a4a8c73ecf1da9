"""What drawings are made from and what stands beside them: the row of a flow, and a table that
says in text what a drawing shows. `dag` and `timeline` draw; the template lays both out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from flowproof.model.run_record import TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.report.words import Words, seconds

STATES: Mapping[TaskState, Words] = {
    TaskState.DONE: Words("✓", "done", "good"),
    TaskState.FAILED: Words("✗", "failed", "bad"),
    TaskState.CANCELLED: Words("■", "cancelled", "warn"),
    TaskState.NOT_RUN: Words("–", "did not run", "quiet"),
}
"""How the state of a task reads."""


class DrawnFlow(Protocol):
    """What a drawing reads of one flow; a row of the index is one. `words` are those of its
    verdict, `href` is where it is told, `attempts` counts all tries. The rest is as a `FlowRecord`
    has it."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def words(self) -> Words: ...
    @property
    def href(self) -> str: ...
    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def after(self) -> tuple[str, ...]: ...
    @property
    def locks(self) -> tuple[str, ...]: ...
    @property
    def offset(self) -> float | None: ...
    @property
    def duration(self) -> float: ...
    @property
    def usual(self) -> float | None: ...
    @property
    def slot(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def attempts(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a table, a link where it has an `href`."""

    text: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What a drawing shows, in text. `title` opens it; every row has a cell for each of `heads`.
    `more` says what was left out, and is empty where nothing was."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: str = ""


def task_says(task: TaskRecord) -> str:
    """One task as a sentence without its final stop: its state, how long it took, and why."""
    took = "" if task.duration is None else f" after {seconds(task.duration)}"
    cause = f": {task.cause}" if task.cause else ""
    return f"{task.id}: {STATES[task.state].phrase}{took}{cause}"
