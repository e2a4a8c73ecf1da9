"""The engine that is this process. It is loaded in every run, so it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowproof.flow.job import FlowJob, World
from flowproof.flow.run import run_flow

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs flows in this process, which starts their agents."""

    slots: int
    world: World

    async def run(self, job: FlowJob) -> FlowRecord:
        """Run one flow here."""
        return await run_flow(job, self.world)
