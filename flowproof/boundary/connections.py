"""Knows which connections a server still reads from, so that a flow can wait for their end.

Its counterpart `http1` reports to it.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Iterator

import anyio


class Connections:
    """Counts open connections, and those of them whose request a handler has."""

    def __init__(self) -> None:
        # Mutable: told by `opened` and `handled`; the event is replaced at each change.
        self._open = 0
        self._handled = 0
        self._changed = anyio.Event()

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """A connection is open inside."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._change()

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        """A handler has the request of a connection inside."""
        self._handled += 1
        self._change()
        try:
            yield
        finally:
            self._handled -= 1
            self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def read(self, *, answered: bool) -> None:
        """Wait until no connection is being read; with `answered`, until all are closed."""
        while self._open > (0 if answered else self._handled):
            await self._changed.wait()


async def accepted(listener: socket.socket) -> None:
    """Wait until no connection is in the queue of a listener; one that leaves it is open."""
    queue = select.poll()
    queue.register(listener, select.POLLIN)
    while queue.poll(0):  # noqa: ASYNC110 - nothing tells when a queue is empty
        await anyio.sleep(0.001)


def hung_up(descriptor: int) -> bool:
    """Whether the other side of a connected socket sends no more, as far as can be told without
    taking from it what it did send."""
    with socket.socket(fileno=os.dup(descriptor)) as peeking:
        try:
            return not peeking.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
