"""Record: the model boundary forwards to the real upstream and keeps what is said.

Its counterpart is `replay`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

import anyio

from flowproof.boundary import azure
from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.mocks import MockResults
from flowproof.boundary.model_proxy import Intake
from flowproof.boundary.recording import Exchange, Recording
from flowproof.boundary.recording_proxy import RecordingProxy
from flowproof.boundary.side_recording import SideExchange, SideRecorded
from flowproof.boundary.upstream import open_upstream
from flowproof.flow.agent_environment import Handles
from flowproof.flow.answers import refuses_key
from flowproof.flow.boundary import Lanes, Place, Port, listening
from flowproof.flow.providers import AZURE, UPSTREAM_VARIABLE
from flowproof.flow.resolve_env import Prepared
from flowproof.flow.upstream import UpstreamChoice, authorization, choose_upstreams
from flowproof.model.agent_exit import AgentExit
from flowproof.model.traffic import ModelTraffic
from flowproof.model.turn import Response
from flowproof.model.visible import compact


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
        return self.so_far()

    def so_far(self) -> Lanes:
        """What was said by now; a request without an answer is a problem of these lanes."""
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
            refused_key="" if self.keep_retries else self._refused_keys(beside),
            places=tuple(dict.fromkeys(map(self._place, self.recording.exchanges))),
            no_upstream=tuple(self.proxy.stranded.values()),
        )

    async def _settled(self) -> None:
        with anyio.move_on_after(self.grace):
            while self.proxy.in_flight:
                await self.proxy.settled()
                # A connection may hold another request behind the one that was answered.
                await self.port.drain(answered=False)

    def _place(self, exchange: Exchange) -> Place:
        choice = self.choices[exchange.provider]
        return Place(exchange.upstream, "" if choice.public else choice.named_by)

    def _refused_keys(self, beside: SideRecorded) -> str:
        """Which upstreams refused what they were sent, a line for each key."""
        refused: dict[str, list[tuple[str, Response]]] = {}
        for exchange, response in self._refused(beside):
            sent = _sent(self.choices[exchange.provider])
            refused.setdefault(sent, []).append((exchange.upstream, response))
        return "\n".join(_refused_key(sent, found) for sent, found in refused.items())

    def _refused(self, beside: SideRecorded) -> Iterator[tuple[Exchange | SideExchange, Response]]:
        """What was recorded of answers that refuse a key."""
        exchanges: list[Exchange | SideExchange] = [*self.recording.exchanges, *beside.exchanges]
        for one in exchanges:
            if one.response is None or not refuses_key(one.response):
                continue
            # A key that the same request succeeded with later is no wrong one.
            if not (isinstance(one, Exchange) and self.recording.made_good(one)):
                yield one, one.response


def _sent(choice: UpstreamChoice) -> str:
    key = f"the key in {choice.key_from}" if choice.key_from else "no key"
    return f"it was sent {key}; set {choice.key_variable} to a key that it accepts"


def _refused_key(sent: str, refused: list[tuple[str, Response]]) -> str:
    statuses = " and ".join(map(str, sorted({response.status for _, response in refused})))
    urls = " and ".join(dict.fromkeys(url for url, _ in refused))
    first = refused[0][1]
    words = compact(first.body if first.text is None else first.text)
    return f"{urls} answered {statuses}: {sent} (it said: {words})"


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
    choices = dict(upstreams.chosen)
    if (azures := choices.get(AZURE.name)) is not None and azures.named_by != UPSTREAM_VARIABLE:
        choices[azure.AZURE_V1] = azures
    endpoints = {
        name: Endpoint(choice.url, authorization(choice)) for name, choice in choices.items()
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
            choices,
            keep_retries,
            grace,
            limits.max_body,
        )
