"""The seam between the MCP protocol and its transports: a session takes messages and tells what to
send.

`recording` and `replaying` are the sessions, sans-io; `stdio` and `http` carry their messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from flowproof.model.jsonvalue import JsonObject
from flowproof.model.mcp import Lane, RequestId
from flowproof.model.outcome import Divergence


@dataclass(frozen=True, slots=True)
class ToAgent:
    """Send this message to the agent. `answers` is the id of its request that it answers;
    `within` that of the request, still open, in the course of which it is sent (None: of none),
    for a transport that has no other way to the agent."""

    message: JsonObject
    answers: RequestId = None
    within: RequestId = None


@dataclass(frozen=True, slots=True)
class ToServer:
    """Send this message to the real server; only ever while recording."""

    message: JsonObject


@dataclass(frozen=True, slots=True)
class Hang:
    """End the connection of the agent, as the recorded one ended: with an HTTP status and text
    for the request `answers` where the transport has such, else by closing it."""

    answers: RequestId
    status: int | None
    text: str


Command: TypeAlias = ToAgent | ToServer | Hang


class Session(Protocol):
    """One connection of the agent to one server."""

    def from_agent(self, data: bytes) -> Iterable[Command]:
        """The agent sent a message: one JSON value, a batch where the version has them."""

    def from_server(self, data: bytes) -> Iterable[Command]:
        """The real server sent a message. Never called while replaying."""

    def server_broke(self, answers: RequestId, status: int | None, text: str) -> Iterable[Command]:
        """The real server gave no JSON-RPC answer to a request (None: to any that is open): an
        HTTP status with its text, or its process or connection ended."""

    def closed(self) -> None:
        """The agent has closed its connection."""


class Boundary(Protocol):
    """All connections to one server, in one phase of one flow."""

    def open(self) -> Session:
        """The agent opens a connection."""

    @property
    def contacted(self) -> bool:
        """Whether a connection was ever opened and a message came."""

    @property
    def divergence(self) -> Divergence | None:
        """The first difference from the recording, while replaying."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Why a recording cannot be kept, each a sentence that names the server."""

    def unconsumed(self) -> tuple[str, ...]:
        """Recorded calls that the replay never made, such as `call 3: tools/call read_file`, and
        answers that the server waited for and the agent did not give."""

    def lane(self) -> Lane:
        """What crossed it: recorded now, or, while replaying, the calls that were made."""
