"""Replay: the model boundary answers from a trace, and nothing leaves the machine.

Its counterpart is `record`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

from flowproof.boundary.cassette import Cassette
from flowproof.boundary.legacy_view import legacy_view
from flowproof.boundary.mocks import MockResults
from flowproof.boundary.model_proxy import Intake
from flowproof.boundary.replaying_proxy import ReplayingProxy
from flowproof.flow.agent_environment import Handles
from flowproof.flow.boundary import DIALECTS_BY_NAME, Lanes, require_spoken, serving
from flowproof.flow.resolve_env import Prepared
from flowproof.model.run_record import ModelTraffic
from flowproof.trace.document import Trace


@dataclass(frozen=True, slots=True)
class ReplayBoundary:
    """An open boundary that serves one trace."""

    handles: Handles
    intake: Intake
    cassette: Cassette
    recorded: int

    async def collect(self) -> Lanes:
        """What the agent used of the trace, and what it asked for beside it."""
        consumed = self.cassette.consumed
        return Lanes(
            turns=consumed,
            traffic=ModelTraffic(
                requests=self.cassette.requests,
                served=len(consumed),
                recorded=self.recorded,
                unserved=self.intake.unserved.seen(),
            ),
            divergence=self.cassette.divergence,
            unconsumed=self.cassette.unconsumed,
        )


@contextlib.asynccontextmanager
async def open_replay(
    prepared: Prepared, trace: Trace, *, port: int, max_body: int
) -> AsyncIterator[ReplayBoundary]:
    """Serve a trace to one agent.

    :raises CapabilityError: if it was recorded in a dialect that this version does not speak.
    :raises PortTaken: if a fixed port is in use.
    """
    require_spoken(trace.turns)
    intake = Intake(MockResults(prepared.mocks))
    make = partial(Cassette, view=legacy_view) if trace.pins == "legacy" else Cassette
    cassette = make(trace.turns, DIALECTS_BY_NAME)
    proxy = ReplayingProxy(intake, cassette)
    async with serving(proxy.handle, port, max_body) as handles:
        yield ReplayBoundary(handles, intake, cassette, len(trace.turns))
