"""What it takes to run an agent, and what comes back; one driver per file beside this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from flowproof.model.agent_exit import AgentExit


@dataclass(frozen=True, slots=True)
class Launch:
    """A command ready to run: split into words, with its whole environment.

    `cwd` is absolute, `timeout` in seconds. `cut` is told how far the command had come if its run
    is cancelled, once all of it is gone; it must neither wait nor raise. What is said of the
    launch tells places as they are seen from the folder `seen_from`; empty: from the root.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout: float
    cut: Callable[[AgentExit], None] | None = field(default=None, compare=False)
    seen_from: str = ""


class Driver(Protocol):
    """Runs one agent to its end."""

    async def run(self, launch: Launch) -> AgentExit:
        """Run the agent and wait until it and everything it started is gone.

        Cancelling the call ends the whole process tree before it returns, and `launch.cut` is
        told. A command that cannot be started is an `AgentExit` with an `error`, not an exception.

        :raises WorldError: if the system has nothing left to start any command with.
        """
