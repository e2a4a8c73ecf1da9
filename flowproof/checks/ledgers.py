"""The ledgers of one run: of the calls that the model asked for, and of each MCP server's.

Counterparts: `tool_calls`, which judges the steps about one of them; `registry`, which asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flowproof.checks import showing
from flowproof.checks.tool_calls import CallLedger
from flowproof.model.outcome import Failed, Outcome, Passed
from flowproof.model.trajectory import PlacedCall, Trajectory

if TYPE_CHECKING:
    from flowproof.model.mcp import Lane


class Ledgers:
    """Each boundary has an order of its own: nothing tells which of two calls at different ones
    came first, so ordered steps follow one another only within their boundary."""

    def __init__(self, trajectory: Trajectory, lanes: Sequence[Lane] = ()) -> None:
        self._trajectory = trajectory
        self._lanes = lanes
        self._model = CallLedger.of_model(trajectory)
        self._servers = {lane.server: CallLedger.of_lane(lane) for lane in lanes}

    def of(self, server: str) -> CallLedger:
        """The ledger of an MCP server, or with an empty name of the model."""
        if not server:
            return self._model
        if server not in self._servers:
            from flowproof.model.mcp import Lane

            self._servers[server] = CallLedger.of_lane(Lane(server))
        return self._servers[server]

    def nothing_unlisted(self) -> Outcome:
        """Whether each call is one that a step accounts for; to be asked after every step.

        A step that accounts for a call of the model also does for the one to a server that it
        led to, and the other way round: they are one action of the agent.
        """
        unlisted = self._unlisted()
        if not unlisted:
            return self._model.unless_unreadable(Passed(), "that a step lists every call")
        count = "1 call is" if len(unlisted) == 1 else f"{len(unlisted)} calls are"
        return Failed(
            f"{count} listed by no step: {showing.some(map(showing.call, unlisted), 5)}",
            expected="no call that no step lists",
            closest=showing.call(unlisted[0]),
        )

    def _unlisted(self) -> list[PlacedCall]:
        open = self._model.unlisted()
        if not self._servers:
            return [placed for _, placed in open]
        from flowproof.model.mcp_calls import led_to

        led = led_to(self._trajectory, self._lanes)
        done = {
            (placed.server, placed.turn): placed
            for ledger in self._servers.values()
            for _, placed in ledger.unlisted()
        }
        accounted = {number - 1 for place, number in led.items() if place not in done}
        # Of a call and the one that it led to, neither listed, the model's says it.
        return [placed for index, placed in open if index not in accounted] + [
            placed for place, placed in done.items() if place not in led
        ]
