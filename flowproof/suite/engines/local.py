"""The engine that is this process, and what goes on beside its flows. It is loaded in every run,
so it imports nothing heavy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from flowproof.drivers.interface import Driver, Launch
from flowproof.flow.job import FlowJob, World
from flowproof.flow.run import run_flow
from flowproof.model.agent_exit import AgentExit

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Runs flows in this process, which starts their agents."""

    slots: int
    world: World

    async def run(self, job: FlowJob, cut: Callable[[FlowRecord], None]) -> FlowRecord:
        """Run one flow here; `cut` is as in `Engine`."""
        return await run_flow(job, self.world, cut)


class Starting:
    """A driver that says when it is first asked to run something: an agent is on its way then,
    and there is time for what nobody has to wait for."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.begun = anyio.Event()

    async def run(self, launch: Launch) -> AgentExit:
        """Run it, as the driver does."""
        self.begun.set()
        return await self._driver.run(launch)


@asynccontextmanager
async def beside(
    function: Callable[[], Coroutine[None, None, None]],
) -> AsyncIterator[anyio.CancelScope]:
    """Have a function run beside what is in the context, which is not left before it returns; the
    scope ends it. What goes wrong in the context is raised as it is, in no group."""
    raised: BaseException | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(function)
        try:
            yield group.cancel_scope
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            raised = error
            group.cancel_scope.cancel()
    if raised is not None:
        raise raised
