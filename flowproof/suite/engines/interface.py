"""What runs the flows of a run: this process, or the workers of a cluster.

One engine per file beside this one. `suite.run` keeps graph, locks, retries and hooks to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from flowproof.flow.job import FlowJob, World
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord


class Engine(Protocol):
    """Runs single flows, up to `slots` at once, while it is open."""

    @property
    def slots(self) -> int: ...

    async def run(self, job: FlowJob, cut: Callable[[FlowRecord], None]) -> FlowRecord:
        """Run one flow. What goes wrong is in the record; only cancellation escapes, after
        everything that was started is gone. `cut` is told before how far the flow had come,
        where that is known."""


class OpenEngine(Protocol):
    """Opens an engine for the flows of one run."""

    def __call__(
        self, planned: Sequence[PlannedFlow], project: Project, world: World
    ) -> AbstractAsyncContextManager[Engine]:
        """The engine, open inside the context.

        :raises FlowproofError: if it cannot be opened.
        """
