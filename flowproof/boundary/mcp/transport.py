"""What a flow sees of the transport to one MCP server, open for as long as its agent runs.

`stdio` and `http` are the transports; `flow.mcp` opens one for each server and asks it these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a recording cannot be kept that lies not with the agent: a sentence that names the
    server, and whether its author is to mend it (a command that cannot start, a key that is
    refused) or the world is (a server that crashed or cannot be reached)."""

    text: str
    whose: Literal["author", "world"]


class Transport(Protocol):
    """An open boundary to one server: its agent may be told of it.

    `handle` is what `${flowproof.mcp_server.NAME}` stands for, or `${flowproof.mcp_url.NAME}`.
    `environment` are the variables that tell the agent, the one to name in messages first.
    """

    @property
    def handle(self) -> str: ...

    @property
    def environment(self) -> Mapping[str, str]: ...

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Those by now, each once."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What deserves a look although it decides nothing, such as noise of the server."""

    @property
    def stderr(self) -> str:
        """What real servers wrote there while recording, bounded; empty where nothing can."""

    async def settle(self, within: float) -> None:
        """Wait until all that the agent sent has been dealt with and its connections have ended,
        at most so many seconds. The agent has ended."""


def variables(prefix: str, server: str, value: str) -> dict[str, str]:
    """A variable for one server under its name as it is declared, first, and as shells take it."""
    shouted = server.upper().replace("-", "_")
    return {f"{prefix}_{server}": value, f"{prefix}_{shouted}": value}
