"""One agent with every process below it, whatever the platform can do about them.

Implementations: `guarded.py` (Linux, made by `guards.py`) and `portable.py`; `command.py` drives
either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flowproof.drivers.interface import Launch


@dataclass(frozen=True, slots=True)
class TreeEnd:
    """How it went: the agent's own exit status (negative for a signal, None if there is none),
    why there is none, and the names of processes that outlived the agent. `lacking` says that it
    never started since the system had nothing left, whatever the command is."""

    status: int | None
    error: str = ""
    survivors: tuple[str, ...] = ()
    lacking: bool = False


class ProcessTree(Protocol):
    """Used once: `run`, then `end`, then `close`. Only `close` may come without the others.

    `stdout` and `stderr` are the non-blocking read ends of the agent's pipes; they reach their
    end when the tree is gone, unless a process that could not be ended holds one. `stdin` is the
    non-blocking write end of its input, None if it has none or that was closed.
    """

    @property
    def stdin(self) -> int | None: ...

    @property
    def stdout(self) -> int: ...

    @property
    def stderr(self) -> int: ...

    async def run(self, launch: Launch) -> None:
        """Start the agent and wait until it exits or cannot be started. May be cancelled."""

    async def end(self) -> TreeEnd:
        """End whatever is left of the tree, in bounded time. To be shielded by the caller."""

    def close_stdin(self) -> None:
        """Let the agent read the end of its input; may be called twice."""

    def close(self) -> None:
        """Give every descriptor back; may be called twice."""


class Trees(Protocol):
    """Makes process trees, and keeps what they share."""

    def new(self, grace: float) -> ProcessTree:
        """A tree for one agent; `grace` is the time in seconds between SIGTERM and SIGKILL.

        :raises OSError: if the system has no process or descriptor left.
        """

    def piped(self, grace: float) -> ProcessTree:
        """The same for one that reads what is written to its `stdin`.

        :raises OSError: if the system has no process or descriptor left.
        """

    def close(self) -> None:
        """Give back what they share, once all of them are closed."""
