"""What crossed the boundary to one MCP server: calls of the agent, and all else as events.

It says nothing of the transport: what was recorded through stdio is replayed through HTTP.
`boundary.mcp` records and replays it, `trace` keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from flowproof.model.jsonvalue import JsonValue

RequestId: TypeAlias = JsonValue
"""The id of a JSON-RPC request: a string or a number, kept as it was written."""


@dataclass(frozen=True, slots=True)
class Result:
    """The server answered; an MCP tool that failed is a result with `isError`."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class RpcError:
    """The server refused with a JSON-RPC error object."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Broken:
    """The transport gave no JSON-RPC answer: an HTTP status with the text of its body. `status` is
    None where the connection ended instead."""

    status: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer came: the call was cancelled, or stays open, as `subscriptions/listen` does."""


CallOutcome: TypeAlias = Result | RpcError | Broken | Unanswered


@dataclass(frozen=True, slots=True)
class McpCall:
    """A request of the agent. `connection` counts from 1, in order of opening.

    `params` are those that are matched, None where there are none: without `_meta` but for the
    protocol version, and of `initialize` without client info and capabilities. `id` and
    `progress_token` (None: none) are those of the recording, which messages of the server repeat;
    they are not matched. `after` counts the calls of the connection that had been answered when
    it arrived: two calls overlapped if the later arrived before the earlier was answered.
    `answered` says as which of the connection's calls, from 1, it was answered; 0 if it was not.
    A `mocked` call was answered by flowproof.
    """

    connection: int
    id: RequestId
    method: str
    params: JsonValue
    outcome: CallOutcome
    after: int
    answered: int
    progress_token: JsonValue = None
    mocked: bool = False


@dataclass(frozen=True, slots=True)
class McpEvent:
    """A message that is no call of the agent: a notification of either side, or a request of the
    server with what the agent answered.

    `message` has `method` and perhaps `params`, and `id` if it is a request. It crossed when
    `after` calls of its connection had been answered and `seen` had arrived. `answer` is a
    `Result` or `RpcError`, None for notifications and requests that were never answered.
    """

    connection: int
    sender: Literal["server", "agent"]
    message: Mapping[str, JsonValue]
    after: int
    seen: int
    answer: Result | RpcError | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """All that crossed the boundary to one server. Calls and events are in the order in which they
    came, of all connections together."""

    server: str
    calls: tuple[McpCall, ...] = ()
    events: tuple[McpEvent, ...] = ()
