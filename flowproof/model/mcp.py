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

MOST_CALLS = 100_000
"""Most calls of a lane, and most events."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
"""Where `_meta` of a request says the version, since 2026-07-28."""
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
"""Where `_meta` of what a subscription brings repeats the id of the request that made it."""


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
    `progress_token` are those of the recording, None where no message of the server repeats them;
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

    @property
    def tool(self) -> str | None:
        """The tool that a `tools/call` names, None for any other call."""
        return tool_of(self.method, self.params)

    @property
    def shown(self) -> str:
        """Method and tool, such as `tools/call read_file`."""
        return self.method if self.tool is None else f"{self.method} {self.tool}"


def tool_of(method: str, params: JsonValue) -> str | None:
    """The tool that a `tools/call` names, None for any other request."""
    name = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
    return name if isinstance(name, str) else None


def matched_params(method: str, params: JsonValue) -> JsonValue:
    """The part of a request's parameters that is matched, None if there is none."""
    if not isinstance(params, dict):
        return params
    left_out = {"clientInfo", "capabilities"} if method == "initialize" else set()
    kept = {key: value for key, value in params.items() if key not in {"_meta", *left_out}}
    meta = params.get("_meta")
    if isinstance(meta, dict) and VERSION_KEY in meta:
        kept["_meta"] = {VERSION_KEY: meta[VERSION_KEY]}
    return kept or None


@dataclass(frozen=True, slots=True)
class McpEvent:
    """A message that is no call of the agent: a notification of either side, or a request of the
    server with what the agent answered.

    `message` has `method` and perhaps `params`, and `id` if it is a request. It crossed when
    `after` calls of its connection had been answered and `seen` had arrived. `answer` is a
    `Result` or `RpcError`, None for notifications and requests that were never answered; it came
    when `answer_after` calls had been answered, 0 where there is none.
    """

    connection: int
    sender: Literal["server", "agent"]
    message: Mapping[str, JsonValue]
    after: int
    seen: int
    answer: Result | RpcError | None = None
    answer_after: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """All that crossed the boundary to one server. Calls and events are in the order in which they
    came, of all connections together."""

    server: str
    calls: tuple[McpCall, ...] = ()
    events: tuple[McpEvent, ...] = ()
