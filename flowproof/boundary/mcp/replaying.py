"""Answers an agent from the lane of one MCP server; `recording` is its counterpart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from flowproof.boundary.mcp.interface import Session
from flowproof.boundary.mcp.matching import Positions, RecordedCall, shown
from flowproof.boundary.mcp.mocks import McpMocks, MockedMcpTool
from flowproof.boundary.mcp.replayed_session import Recorded, ReplayedSession
from flowproof.boundary.mocks import ResultsExhausted
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.mcp import CallOutcome, Lane, McpEvent
from flowproof.model.outcome import Divergence


class ReplayingBoundary:
    """All connections to one server while replaying: answers calls from the recorded ones, and
    mocked tools itself. Fulfils `interface.Boundary`; `problems` is always empty.

    Never yields `ToServer`. The n-th connection that sends a message is the n-th of the
    recording.
    """

    def __init__(self, lane: Lane, mocks: Mapping[str, MockedMcpTool]) -> None:
        """`lane` is that of the trace (an empty one where the trace holds none), `mocks` are by
        tool: those that the flow declares today."""
        self.server = lane.server
        self.mocks = McpMocks(mocks)
        self._recorded = _by_connection(lane)
        # Mutable, touched by the sessions: what this run has asked for.
        self._sessions: list[ReplayedSession] = []
        self._connections = 0
        self._calls = 0
        self._divergence: Divergence | None = None
        self._emitted: dict[int, list[McpEvent]] = defaultdict(list)

    def open(self) -> Session:
        """The agent opens a connection."""
        session = ReplayedSession(self)
        self._sessions.append(session)
        return session

    @property
    def contacted(self) -> bool:
        """Whether a message came."""
        return self._connections > 0

    @property
    def divergence(self) -> Divergence | None:
        """The first difference from the recording."""
        return self._divergence

    @property
    def problems(self) -> tuple[str, ...]:
        """None: what differs is a divergence."""
        return ()

    def unconsumed(self) -> tuple[str, ...]:
        """Recorded calls that this run did not make, such as `call 3: tools/call read_file`, and
        answers that the server waited for."""
        left = [one for recorded in self._recorded.values() for one in recorded.positions.left]
        several = len(self._recorded) > 1
        return tuple(
            f"call {one.number}: {shown(one.call.method, one.call.params)}"
            + (f" (connection {one.call.connection})" if several else "")
            for one in sorted(left, key=lambda one: one.number)
        ) + tuple(one for session in self._sessions for one in session.waiting)

    def lane(self) -> Lane:
        """The recorded calls that this run made, in recorded order, and what it was told."""
        used = [one for recorded in self._recorded.values() for one in recorded.positions.used]
        return Lane(
            self.server,
            tuple(one.call for one in sorted(used, key=lambda one: one.number)),
            tuple(event for one in sorted(self._emitted) for event in self._emitted[one]),
        )

    # What follows is for the sessions.

    def connect(self) -> tuple[int, Recorded]:
        """The number of a connection whose first message came, and what it has recorded."""
        self._connections += 1
        number = self._connections
        return number, self._recorded.get(number) or Recorded(Positions(()), ())

    def count(self) -> int:
        """Note a call; its number in this run."""
        self._calls += 1
        return self._calls

    @property
    def calls(self) -> int:
        """How many calls came."""
        return self._calls

    def refuse(self, divergence: Divergence) -> Divergence:
        """Fail the run with this divergence, unless an earlier one already did."""
        self._divergence = self._divergence or divergence
        return self._divergence

    def emitted(self, number: int, event: McpEvent) -> None:
        """Note that a connection was told of an event."""
        self._emitted[number].append(event)

    def outcome(self, recorded: RecordedCall, params: JsonValue) -> CallOutcome | str:
        """The answer to a call, or why there is none although it was recorded."""
        tool = recorded.call.tool
        if not recorded.call.mocked or tool is None or tool not in self.mocks:
            return recorded.call.outcome
        try:
            return self.mocks.answer(tool, recorded.mock_index, params)
        except ResultsExhausted as error:
            return str(error)


def _by_connection(lane: Lane) -> dict[int, Recorded]:
    calls: dict[int, list[RecordedCall]] = defaultdict(list)
    events: dict[int, list[McpEvent]] = defaultdict(list)
    mocked: Counter[str | None] = Counter()
    for number, call in enumerate(lane.calls, 1):
        place = len(calls[call.connection]) + 1
        calls[call.connection].append(RecordedCall(call, number, place, mocked[call.tool]))
        mocked[call.tool] += call.mocked
    for event in lane.events:
        events[event.connection].append(event)
    return {
        number: Recorded(Positions(calls[number]), tuple(events[number]))
        for number in sorted({*calls, *events})
    }
