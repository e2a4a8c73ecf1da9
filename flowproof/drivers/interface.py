"""What it takes to run an agent, and what comes back; one driver per file beside this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from flowproof.model.agent_exit import AgentExit


@dataclass(frozen=True, slots=True)
class Launch:
    """A command ready to run: split into words, with its whole environment.

    `cwd` is absolute, `timeout` in seconds.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout: float


class Driver(Protocol):
    """Runs one agent to its end."""

    async def run(self, launch: Launch) -> AgentExit:
        """Run the agent and wait until it and everything it started is gone.

        Cancelling the call ends the whole process tree before it returns. A command that
        cannot be started is an `AgentExit` with an `error`, not an exception.
        """
