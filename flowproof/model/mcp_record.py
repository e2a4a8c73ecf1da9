"""What the run record keeps of the boundary to an MCP server: bounded, and in texts to be read.

`flow.mcp_record` makes it of a lane; every report reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

McpOutcomeKind: TypeAlias = Literal["result", "tool error", "error", "broken", "unanswered"]
"""How a call ended: `tool error` is a result that the tool marked as an error, `error` one of
JSON-RPC, `broken` that the transport gave no answer."""


@dataclass(frozen=True, slots=True)
class McpCallRecord:
    """A call of the agent. `number` counts the calls of the lane from 1, `connection` connections.

    `tool` is empty where it is of none. `arguments` are those of the tool, else all parameters,
    and `answer` is what came back, both as JSON indented for reading or, of a broken one, its
    text. `asked` is which of the model's tool calls led to it (from 1, in the order of
    `Trajectory.calls`), 0 where that cannot be told. `duration` is in seconds, where it is known.
    """

    number: int
    connection: int
    method: str
    tool: str
    arguments: str
    outcome: McpOutcomeKind
    answer: str
    mocked: bool = False
    asked: int = 0
    duration: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it came to no result that the agent can use."""
        return self.outcome not in ("result", "unanswered")


@dataclass(frozen=True, slots=True)
class McpEventRecord:
    """A message that is no call of the agent; of a request, `answer` is the other side's, empty
    where there was none. It came when `seen` calls of its connection had arrived."""

    connection: int
    sender: Literal["server", "agent"]
    method: str
    request: bool
    params: str
    answer: str
    seen: int


@dataclass(frozen=True, slots=True)
class McpRecord:
    """One server's lane in one run. `contacted` says whether the agent ever reached flowproof's
    stand-in, `variable` is the one that tells it where that is.

    `made` calls were made, of which `calls` has the first; `notifications` and `requests` of
    either side came beside them, of which `events` has the first. `missing` are recorded calls
    that a replay never made. `stderr` is the end of what the real server wrote, while recording.
    """

    server: str
    transport: Literal["stdio", "http"]
    variable: str
    contacted: bool
    connections: int = 0
    made: int = 0
    mocked: int = 0
    notifications: int = 0
    requests: int = 0
    calls: tuple[McpCallRecord, ...] = ()
    events: tuple[McpEventRecord, ...] = ()
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    stderr: str = ""
