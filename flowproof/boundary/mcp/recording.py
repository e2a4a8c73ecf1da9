"""Records what crosses the boundary to a real MCP server; `replaying` is its counterpart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from flowproof.boundary.mcp.interface import Session
from flowproof.boundary.mcp.lanes import pared
from flowproof.boundary.mcp.mocks import McpMocks, MockedMcpTool
from flowproof.boundary.mcp.notes import CallNote, EventNote
from flowproof.boundary.mcp.recorded_session import RecordedSession
from flowproof.boundary.mocks import ResultsExhausted
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.mcp import MOST_CALLS, Lane, Result, RpcError
from flowproof.model.outcome import Divergence
from flowproof.model.visible import visible

_MAX_PROBLEMS = 20
_LONGEST_PROBLEM = 1_000


class RecordingBoundary:
    """All connections to one server while recording: passes messages on, notes them, and answers
    mocked tools itself. Fulfils `interface.Boundary`; `divergence` is always None, `unconsumed`
    empty.

    A connection is numbered when its first message comes, so that one that says nothing counts
    in neither phase. Sessions hand their commands over at once, in the order in which they are
    to be carried out; what a session is told while the commands of an earlier message are still
    being carried out is no trouble.
    """

    def __init__(self, server: str, mocks: Mapping[str, MockedMcpTool]) -> None:
        """`server` is the name in the flow; `mocks` are by tool."""
        self.server = server
        self.mocks = McpMocks(mocks)
        # Mutable, touched by the sessions: what came so far, and why it cannot be kept.
        self._calls: list[CallNote] = []
        self._events: list[EventNote] = []
        self._problems: dict[str, None] = {}
        self._connections = 0
        self._mocked: Counter[str] = Counter()

    def open(self) -> Session:
        """The agent opens a connection."""
        return RecordedSession(self)

    @property
    def contacted(self) -> bool:
        """Whether a message came."""
        return self._connections > 0

    @property
    def divergence(self) -> Divergence | None:
        """None: nothing can differ yet."""
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the recording cannot be kept, each once."""
        return tuple(self._problems)

    def unconsumed(self) -> tuple[str, ...]:
        """None: everything that was recorded was asked for."""
        return ()

    def lane(self) -> Lane:
        """What was recorded so far."""
        return pared(
            Lane(
                self.server,
                tuple(note.call() for note in self._calls),
                tuple(note.event() for note in self._events),
            )
        )

    # What follows is for the sessions.

    def connect(self) -> int:
        """The number of a connection whose first message came."""
        self._connections += 1
        return self._connections

    def problem(self, reason: str) -> str:
        """Note why the recording cannot be kept; returns the sentence."""
        sentence = f"MCP server `{self.server}`: {visible(reason[:_LONGEST_PROBLEM])}"
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems[sentence] = None
        return sentence

    def called(self, note: CallNote) -> int | None:
        """Note a call; its number in the lane, None if the lane is full."""
        if len(self._calls) >= MOST_CALLS:
            self.problem(f"the agent made more than {MOST_CALLS} calls; split the flow")
            return None
        self._calls.append(note)
        return len(self._calls)

    def happened(self, note: EventNote) -> None:
        """Note a message that is no call."""
        if len(self._events) < MOST_CALLS:
            self._events.append(note)
        else:
            self.problem(f"more than {MOST_CALLS} notifications were sent; split the flow")

    def mocked(self, tool: str, params: JsonValue) -> Result | RpcError | str:
        """The answer to a call of a mocked tool, or why there is none, in a sentence."""
        index = self._mocked[tool]
        self._mocked[tool] += 1
        try:
            return self.mocks.answer(tool, index, params)
        except ResultsExhausted as error:
            return self.problem(str(error))
