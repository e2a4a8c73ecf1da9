"""What is still to be written to one side of a connection, so that nobody waits to decide."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from flowproof.boundary.mcp.jsonrpc import MAX_MESSAGE

_FULL = 4 * MAX_MESSAGE


class Outbox:
    """Messages in order. `put` and `end` decide at once; `run` writes, with `send`, which waits
    for whoever reads."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        # Mutable: the event is replaced at each change.
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._changed = anyio.Event()

    def put(self, data: bytes) -> None:
        """Have it written after all that was put before. After `end` it is lost."""
        if not self._ended:
            self._waiting.append(data)
            self._size += len(data)
            self._change()

    def end(self) -> None:
        """Let `run` return once all is written."""
        self._ended = True
        self._change()

    async def room(self) -> None:
        """Wait while more is waiting than any reader should be behind."""
        while self._size > _FULL:
            await self._changed.wait()

    async def run(self) -> None:
        """Write until `end`."""
        while True:
            while self._waiting:
                data = self._waiting.popleft()
                await self._send(data)
                self._size -= len(data)
                self._change()
            if self._ended:
                return
            await self._changed.wait()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
