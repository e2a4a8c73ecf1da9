"""Replay: the model boundary answers from a trace, and nothing leaves the machine.

Its counterpart is `record`. What answers is loaded only as the agent is launched.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from flowproof.flow.agent_environment import Handles
from flowproof.flow.azure_environment import recorded_api_type
from flowproof.flow.boundary import Lanes, Port, listening
from flowproof.flow.resolve_env import Prepared
from flowproof.model.traffic import ModelTraffic
from flowproof.trace.document import Trace

if TYPE_CHECKING:
    from flowproof.boundary.cassette import Cassette
    from flowproof.boundary.model_proxy import Intake
    from flowproof.boundary.side_calls import SideCalls
    from flowproof.model.agent_exit import AgentExit


@dataclass(frozen=True)
class ReplayBoundary:
    """An open boundary that serves one trace."""

    port: Port
    prepared: Prepared
    trace: Trace
    max_body: int

    @property
    def handles(self) -> Handles:
        """Where the agent finds it."""
        return replace(self.port.handles, api_type=recorded_api_type(self.trace))

    @cached_property
    def intake(self) -> Intake:
        """Reads what the agent sends."""
        from flowproof.boundary.mocks import MockResults
        from flowproof.boundary.model_proxy import Intake

        return Intake(MockResults(self.prepared.mocks))

    @cached_property
    def cassette(self) -> Cassette:
        """The trace, being used up."""
        from flowproof.boundary.cassette import Cassette
        from flowproof.boundary.legacy_view import legacy_view
        from flowproof.dialects.registry import DIALECTS

        if self.trace.pins == "legacy":
            return Cassette(self.trace.turns, DIALECTS, view=legacy_view)
        return Cassette(self.trace.turns, DIALECTS)

    @cached_property
    def side_calls(self) -> SideCalls:
        """What the trace holds beside its turns."""
        from flowproof.boundary.side_calls import SideCalls

        return SideCalls(self.trace.side_calls)

    def begin(self) -> None:
        """Load what answers, and answer."""
        self.port.group.start_soon(self._serve)

    async def _serve(self) -> None:
        from flowproof.boundary.replaying_proxy import ReplayingProxy

        proxy = ReplayingProxy(self.intake, self.cassette, self.side_calls, self.trace.unserved)
        await self.port.serve(proxy.handle, proxy.unreadable, self.max_body)

    async def collect(self, ended: AgentExit) -> Lanes:
        """What the agent used of the trace, and what it asked for beside it."""
        await self.port.drain(answered=True)
        self.port.check()
        return self.so_far()

    def so_far(self) -> Lanes:
        """What the agent used and asked for by now."""
        consumed = self.cassette.consumed
        return Lanes(
            turns=consumed,
            traffic=ModelTraffic(
                requests=self.cassette.requests,
                served=len(consumed),
                recorded=len(self.trace.turns),
                unserved=self.intake.unserved.seen(),
                side_calls=self.side_calls.requests,
                side_recorded=len(self.trace.side_calls),
            ),
            divergence=self.cassette.divergence,
            unconsumed=self.cassette.unconsumed,
            side_calls=self.side_calls.served,
            side_missing=self.side_calls.missing,
        )


@contextlib.asynccontextmanager
async def open_replay(
    prepared: Prepared, trace: Trace, *, port: int, max_body: int
) -> AsyncIterator[ReplayBoundary]:
    """Serve a trace to one agent.

    :raises PortTaken: if a fixed port is in use.
    """
    async with listening(port) as held:
        yield ReplayBoundary(held, prepared, trace, max_body)
