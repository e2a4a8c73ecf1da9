"""How an agent's process ended and what it wrote: what a driver hands back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Captured:
    """What a process wrote to one stream, bounded: `text` is decoded with replacement, and has
    a line saying how much was left out where `total` (bytes) exceeds what was kept."""

    text: str
    total: int

    @property
    def tail(self) -> str:
        """The last twenty lines."""
        return "\n".join(self.text.splitlines()[-20:])


@dataclass(frozen=True, slots=True)
class AgentExit:
    """How the agent's process ended. `status` is its exit status, negative for a signal, None
    where it never started; `duration` is in seconds. `error` says why it never started."""

    status: int | None
    timed_out: bool
    duration: float
    stdout: Captured
    stderr: Captured
    error: str = ""
    survivors: tuple[str, ...] = ()
