"""The real stdio server behind one connection of an agent, while recording.

Counterparts: `stdio`, which relays to it; a `Process` of the flow layer, which runs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from flowproof.boundary.mcp.lines import Lines
from flowproof.model.visible import visible

_NOTED = 3
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """How a server ended, such as `exited with status 1`; or, if it never `started`, why.
    `lacking`: since the system had nothing left, whatever its command is."""

    words: str
    started: bool = True
    lacking: bool = False


class Process(Protocol):
    """A command that speaks MCP on its standard input and output."""

    @property
    def stderr(self) -> str:
        """What it wrote there by now, bounded."""

    async def run(self, received: Callable[[bytes], Awaitable[None]]) -> ServerEnd:
        """Run it to its end, handing on its output as it comes."""

    async def send(self, data: bytes) -> None:
        """Write to its input; what it can no longer read is lost."""

    def finish(self) -> None:
        """End its input; what does not exit then is ended before long."""


StartProcess: TypeAlias = Callable[[], Process]
"""Makes what runs the real server once; called anew for each connection."""


class Output:
    """Tells messages from what a server prints before its first: a banner, a warning of the tool
    that installs it. Clients skip that, so it is noted and not handed on; afterwards all is."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._begun = False
        self.noise: list[str] = []
        self.noisy = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that end in these bytes."""
        return self._messages(self._lines.feed(data))

    def rest(self) -> list[bytes]:
        """What the server wrote last without ending the line."""
        return self._messages(self._lines.rest())

    def _messages(self, lines: list[bytes]) -> list[bytes]:
        found = []
        for line in lines:
            self._begun = self._begun or line.lstrip().startswith((b"{", b"[{"))
            if self._begun:
                found.append(line)
            else:
                self._note(line)
        return found

    def _note(self, line: bytes) -> None:
        self.noisy += 1
        if len(self.noise) < _NOTED:
            self.noise.append(visible(line[:_SHOWN].decode("utf-8", "replace").strip()))
