"""What a flow sees of its model boundary, whichever phase opened it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio
from anyio.abc import TaskGroup

from flowproof.boundary.connections import Connections, accepted
from flowproof.boundary.loopback import LOOPBACK, bind_loopback
from flowproof.flow.agent_environment import Handles
from flowproof.model.traffic import ModelTraffic

if TYPE_CHECKING:
    from flowproof.boundary.http1 import Handler
    from flowproof.flow.mcp import McpOutcome
    from flowproof.model.agent_exit import AgentExit
    from flowproof.model.outcome import Divergence
    from flowproof.model.turn import SideCall, Turn


@dataclass(frozen=True, slots=True)
class Place:
    """A URL, without its query, that a recording's requests went to. `named_by` is the variable
    that holds its beginning, empty where nothing but a key chose it."""

    url: str
    named_by: str


@dataclass(frozen=True, slots=True)
class Lanes:
    """What crossed the boundaries: the model's, and beside it those of MCP servers.

    `unconsumed` numbers recorded turns (from 1) that a replay never used. `side_calls` were
    recorded or used beside them, `side_missing` says which pinned ones a replay never made, by
    number (from 1) and name. `problems` say why
    requests of a recording have no answer. `refused_key` says of upstreams that did not accept
    their credentials what they were sent. `places` are where the model requests of a recording
    went. `no_upstream` says of requests that could not go anywhere what to do about it. `mcp` is
    what crossed the boundary to each MCP server, in the order of the spec.
    """

    turns: tuple[Turn, ...]
    traffic: ModelTraffic
    divergence: Divergence | None = None
    unconsumed: tuple[int, ...] = ()
    side_calls: tuple[SideCall, ...] = ()
    side_missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    refused_key: str = ""
    places: tuple[Place, ...] = ()
    no_upstream: tuple[str, ...] = ()
    mcp: tuple[McpOutcome, ...] = ()


@runtime_checkable
class ModelBoundary(Protocol):
    """An open boundary: its port is taken, so an agent may be told of it."""

    @property
    def handles(self) -> Handles:
        """Where the agent finds it."""

    def begin(self) -> None:
        """Load what answers, and answer. To be called as the agent is launched: an agent takes
        longer to start than this to load, and its first connection waits at the port."""

    async def collect(self, ended: AgentExit) -> Lanes:
        """What crossed it, once the agent has ended, and how."""

    def so_far(self) -> Lanes:
        """What crossed it by now, also of an agent that was cut off. It waits for nothing."""


@dataclass(frozen=True, slots=True)
class Port:
    """A loopback port that is held; connections wait until `serve` answers them."""

    listener: socket.socket
    handles: Handles
    group: TaskGroup
    failures: list[Exception] = field(default_factory=list)
    connections: Connections = field(default_factory=Connections)

    async def serve(
        self, handler: Handler, unreadable: Callable[[str], None], max_body: int
    ) -> None:
        """Answer until the port is given back; bodies are bounded in bytes. `unreadable` is told
        what arrived that no handler can be given."""
        from flowproof.boundary.http1 import serve

        await serve(
            self.listener,
            handler,
            max_body=max_body,
            failures=self.failures,
            unreadable=unreadable,
            connections=self.connections,
        )

    async def drain(self, *, answered: bool, within: float = 2.0) -> None:
        """Read all that was sent before now; with `answered`, also see every answer given.

        An agent may be gone before its last request was accepted. Whoever holds a connection
        open and is not gone is waited for no longer than `within` seconds.
        """
        with anyio.move_on_after(within):
            await accepted(self.listener)
            await self.connections.read(answered=answered)

    def check(self) -> None:
        """See that every request was handled.

        :raises ExceptionGroup: if one made our own code fail.
        """
        if self.failures:
            raise ExceptionGroup("requests could not be handled", self.failures)


@contextlib.asynccontextmanager
async def listening(port: int) -> AsyncIterator[Port]:
    """Hold a loopback port (0: any) while the context is open.

    :raises PortTaken: if the port is in use.
    """
    with contextlib.closing(bind_loopback(port)) as listener:
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/v1"
        async with anyio.create_task_group() as group:
            yield Port(listener, Handles(proxy_url=address, mcp_urls={}), group)
            group.cancel_scope.cancel()
