"""How a task of a graph ends; its own file, since the scheduler needs no more of the model."""

from __future__ import annotations

from enum import StrEnum


class TaskState(StrEnum):
    """How a task of the graph ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOT_RUN = "not-run"
