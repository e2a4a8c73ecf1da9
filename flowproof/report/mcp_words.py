"""How the lane of an MCP server reads: its counts, and how its calls ended.

Counterpart: `words`, which has those of flows and runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flowproof.model.mcp_record import McpCallRecord, McpOutcomeKind, McpRecord
from flowproof.model.phase import Phase
from flowproof.model.trajectory import Trajectory
from flowproof.report.words import Words

ENDINGS: Mapping[McpOutcomeKind, Words] = {
    "result": Words("✓", "result", "quiet"),
    "tool error": Words("✗", "error of the tool", "bad"),
    "error": Words("✗", "JSON-RPC error", "bad"),
    "broken": Words("!", "no JSON-RPC answer", "bad"),
    "unanswered": Words("–", "not answered", "quiet"),
}
SERVERS_RAN: Mapping[Phase, str] = {
    "replay": (
        "flowproof started and contacted no MCP server: what it answered in their place came from "
        "the recording, or from the flow where that mocks their tools. Whether the agent reached "
        "a server by another way is not watched."
    ),
    "record": "Its MCP servers really ran, but for the tools that the flow mocks.",
}
"""What a flow with MCP servers shows beside `words.PROVES`."""
_TRANSPORTS = {"stdio": "over stdio", "http": "over HTTP"}


def lane_line(lane: McpRecord) -> str:
    """What crossed the boundary to a server, as one phrase: `4 calls (1 mocked) over stdio …`."""
    if not lane.contacted:
        return f"never contacted; {lane.variable} tells the agent where it is"
    mocked = f" ({lane.mocked:,} mocked)" if lane.mocked else ""
    said = f"{_count(lane.made, 'call')}{mocked} {_TRANSPORTS[lane.transport]}"
    if lane.connections > 1:
        said += f" in {lane.connections:,} connections"
    beside = [
        _count(number, noun)
        for number, noun in (
            (lane.notifications, "notification"),
            (lane.requests, "request of the server"),
        )
        if number
    ]
    return f"{said}; {', '.join(beside)}" if beside else said


def mcp_calls(lanes: Sequence[McpRecord]) -> str:
    """How many calls of MCP servers: empty where there were none."""
    made = sum(lane.made for lane in lanes)
    return _count(made, "MCP call") if made else ""


def call_line(call: McpCallRecord) -> str:
    """A call by what it asks for: its method, and the tool that it is of."""
    return f"{call.method} {call.tool}".rstrip()


def turns_asking(trajectory: Trajectory) -> Mapping[int, int]:
    """The numbers of the turns that hold the model's tool calls, by the numbers of those."""
    return {number: placed.turn for number, placed in enumerate(trajectory.calls(), 1)}


def failed_calls(lane: McpRecord) -> Iterator[McpCallRecord]:
    """The calls of a lane that came to no usable result."""
    return (call for call in lane.calls if call.failed)


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    first, _, rest = noun.partition(" of ")
    return f"{number:,} {first}s of {rest}" if rest else f"{number:,} {noun}s"
