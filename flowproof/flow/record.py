"""Record: the model boundary forwards to the real upstream and keeps what is said.

Its counterpart is `replay`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import anyio

from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.mocks import MockResults
from flowproof.boundary.model_proxy import Intake
from flowproof.boundary.recording import Recorded, Recording
from flowproof.boundary.recording_proxy import RecordingProxy
from flowproof.boundary.upstream import open_upstream
from flowproof.flow.agent_environment import Handles
from flowproof.flow.boundary import Lanes, Port, listening
from flowproof.flow.resolve_env import Prepared
from flowproof.flow.upstream import OPENAI, UpstreamChoice, authorization, choose_upstream
from flowproof.model.agent_exit import AgentExit
from flowproof.model.traffic import ModelTraffic


@dataclass(frozen=True, slots=True)
class RecordBoundary:
    """An open boundary that records one flow."""

    port: Port
    intake: Intake
    recording: Recording
    proxy: RecordingProxy
    choice: UpstreamChoice
    keep_retries: bool
    grace: float
    max_body: int

    @property
    def handles(self) -> Handles:
        """Where the agent finds it."""
        return self.port.handles

    def begin(self) -> None:
        """Answer what arrives."""
        self.port.group.start_soon(
            self.port.serve, self.proxy.handle, self.proxy.unreadable, self.max_body
        )

    async def collect(self, ended: AgentExit) -> Lanes:
        """What the agent and the upstream said, once answers still on their way have come. After
        a timeout these are of no use, and nobody waits for them."""
        await self.port.drain(answered=False)
        if not ended.timed_out:
            await self._settled()
        self.port.check()
        recorded = self.recording.finish(keep_retries=self.keep_retries)
        return Lanes(
            turns=recorded.turns,
            traffic=ModelTraffic(
                requests=len(self.recording.exchanges) + self.proxy.refused,
                served=len(recorded.turns),
                recorded=len(recorded.turns),
                retries_dropped=recorded.retries_dropped,
                unserved=self.intake.unserved.seen(),
            ),
            divergence=self.proxy.rejected,
            problems=tuple(f"{one} ({self.choice.url})" for one in recorded.problems),
            refused_key=self._refused_key(recorded),
            upstream=self.choice.url,
        )

    async def _settled(self) -> None:
        with anyio.move_on_after(self.grace):
            while self.recording.in_flight:
                await self.proxy.settled()
                # A connection may hold another request behind the one that was answered.
                await self.port.drain(answered=False)

    def _refused_key(self, recorded: Recorded) -> str:
        statuses = {turn.response.status for turn in recorded.turns}
        if not statuses or not statuses <= {401, 403}:
            return ""
        key = f"the key in {self.choice.key_from}" if self.choice.key_from else "no key"
        return (
            f"{self.choice.url} answered {' and '.join(map(str, sorted(statuses)))}: it was sent "
            f"{key}; set FLOWPROOF_AGENT_KEY to a key that it accepts"
        )


@contextlib.asynccontextmanager
async def open_record(
    prepared: Prepared,
    environ: Mapping[str, str],
    limits: Limits,
    *,
    port: int,
    keep_retries: bool,
    grace: float,
) -> AsyncIterator[RecordBoundary]:
    """Forward one agent's model requests to the upstream that the environment names.

    `grace` is how many seconds `collect` waits for answers still on their way.

    :raises UsageError: if no usable upstream is named.
    :raises PortTaken: if a fixed port is in use.
    """
    choice = choose_upstream(OPENAI, environ)
    endpoints = {OPENAI.name: Endpoint(choice.url, authorization(choice))}
    intake = Intake(MockResults(prepared.mocks))
    recording = Recording()
    async with (
        open_upstream(endpoints, limits) as upstream,
        listening(port) as held,
    ):
        yield RecordBoundary(
            held,
            intake,
            recording,
            RecordingProxy(intake, recording, upstream),
            choice,
            keep_retries,
            grace,
            limits.max_body,
        )
