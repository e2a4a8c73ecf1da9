"""What a flow sees of its model boundary, whichever phase opened it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import anyio

from flowproof.boundary.http1 import LOOPBACK, Handler, bind_loopback, serve
from flowproof.dialects.registry import DIALECTS
from flowproof.errors import CapabilityError
from flowproof.flow.agent_environment import Handles
from flowproof.model.outcome import Divergence
from flowproof.model.run_record import ModelTraffic
from flowproof.model.turn import Turn

DIALECTS_BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


@dataclass(frozen=True, slots=True)
class Lanes:
    """What crossed the model boundary.

    `unconsumed` numbers recorded turns (from 1) that a replay never used. `problems` say why
    requests of a recording have no answer. `refused_key` explains, if it was so, that the
    upstream answered nothing but that the credentials are wrong.
    """

    turns: tuple[Turn, ...]
    traffic: ModelTraffic
    divergence: Divergence | None = None
    unconsumed: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    refused_key: str = ""


@runtime_checkable
class ModelBoundary(Protocol):
    """An open boundary."""

    @property
    def handles(self) -> Handles:
        """Where the agent finds it."""

    async def collect(self) -> Lanes:
        """What crossed it, once the agent has ended."""


@contextlib.asynccontextmanager
async def serving(handler: Handler, port: int, max_body: int) -> AsyncIterator[Handles]:
    """Serve on a loopback port (0: any) while the context is open; bodies bounded in bytes.

    :raises PortTaken: if the port is in use.
    """
    listener = bind_loopback(port)
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/v1"
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: serve(listener, handler, max_body=max_body))
        yield Handles(proxy_url=address, mcp_urls={})
        group.cancel_scope.cancel()


def require_spoken(turns: Sequence[Turn]) -> None:
    """Check that this version speaks every dialect in these turns.

    :raises CapabilityError: naming those that it does not.
    """
    foreign = sorted({turn.operation.dialect for turn in turns} - DIALECTS_BY_NAME.keys())
    if foreign:
        raise CapabilityError(
            f"the trace was recorded in {', '.join(foreign)}; this version reads "
            f"{', '.join(DIALECTS_BY_NAME)}"
        )
