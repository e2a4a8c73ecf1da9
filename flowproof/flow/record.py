"""Record: the model boundary forwards to the real upstream and keeps what is said.

Its counterpart is `replay`.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import anyio

from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.mocks import MockResults
from flowproof.boundary.model_proxy import Intake
from flowproof.boundary.recording import Recording
from flowproof.boundary.recording_proxy import RecordingProxy
from flowproof.boundary.upstream import open_upstream
from flowproof.dialects.registry import by_name
from flowproof.flow.agent_environment import Handles
from flowproof.flow.boundary import Lanes, Port, listening
from flowproof.flow.resolve_env import Prepared
from flowproof.flow.upstream import UpstreamChoice, authorization, choose_upstreams
from flowproof.model.agent_exit import AgentExit
from flowproof.model.traffic import ModelTraffic
from flowproof.model.turn import Turn


@dataclass(frozen=True, slots=True)
class RecordBoundary:
    """An open boundary that records one flow."""

    port: Port
    intake: Intake
    recording: Recording
    proxy: RecordingProxy
    choices: Mapping[str, UpstreamChoice]
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
        beside = self.proxy.side_calls.finish()
        return Lanes(
            turns=recorded.turns,
            traffic=ModelTraffic(
                requests=len(self.recording.exchanges) + self.proxy.refused,
                served=len(recorded.turns),
                recorded=len(recorded.turns),
                retries_dropped=recorded.retries_dropped + beside.retries_dropped,
                unserved=self.intake.unserved.seen(),
                side_calls=self.proxy.side_calls.requests,
                side_recorded=len(beside.calls),
            ),
            divergence=self.proxy.rejected,
            side_calls=beside.calls,
            problems=(*recorded.problems, *beside.problems),
            refused_key=self._refused_keys(recorded.turns),
            upstream=" and ".join(choice.url for choice, _ in self._asked(recorded.turns)),
            no_upstream=tuple(self.proxy.stranded.values()),
        )

    async def _settled(self) -> None:
        with anyio.move_on_after(self.grace):
            while self.proxy.in_flight:
                await self.proxy.settled()
                # A connection may hold another request behind the one that was answered.
                await self.port.drain(answered=False)

    def _asked(self, turns: Sequence[Turn]) -> Sequence[tuple[UpstreamChoice, set[int]]]:
        """The upstreams that answered, with the statuses of their answers."""
        statuses: dict[str, set[int]] = defaultdict(set)
        for turn in turns:
            statuses[by_name(turn.operation.dialect).provider].add(turn.response.status)
        return [(self.choices[provider], found) for provider, found in statuses.items()]

    def _refused_keys(self, turns: Sequence[Turn]) -> str:
        asked = self._asked(turns)
        if not all(statuses <= {401, 403} for _, statuses in asked):
            return ""
        return "; ".join(_refused_key(choice, statuses) for choice, statuses in asked)


def _refused_key(choice: UpstreamChoice, statuses: set[int]) -> str:
    key = f"the key in {choice.key_from}" if choice.key_from else "no key"
    return (
        f"{choice.url} answered {' and '.join(map(str, sorted(statuses)))}: it was sent {key}; "
        f"set {choice.key_variable} to a key that it accepts"
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
    """Forward one agent's model requests to the upstreams that the environment names.

    `grace` is how many seconds `collect` waits for answers still on their way.

    :raises UsageError: if no usable upstream is named.
    :raises PortTaken: if a fixed port is in use.
    """
    upstreams = choose_upstreams(environ)
    endpoints = {
        name: Endpoint(choice.url, authorization(choice))
        for name, choice in upstreams.chosen.items()
    }
    intake = Intake(MockResults(prepared.mocks))
    recording = Recording()
    async with (
        open_upstream(endpoints, limits, upstreams.missing) as upstream,
        listening(port) as held,
    ):
        yield RecordBoundary(
            held,
            intake,
            recording,
            RecordingProxy(intake, recording, upstream),
            upstreams.chosen,
            keep_retries,
            grace,
            limits.max_body,
        )
