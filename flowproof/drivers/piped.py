"""Runs a command that is spoken with through its standard input and output, such as a tool server.

Counterpart: the flow layer hands it to the boundary that speaks; `tree.py` ends it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable

import anyio

from flowproof.drivers.capture import Collector
from flowproof.drivers.interface import Launch
from flowproof.drivers.tree import ProcessTree, TreeEnd, Trees
from flowproof.files import remedy
from flowproof.model.agent_exit import Captured

_CHUNK = 65536
_DRAIN_SECONDS = 1.0
"""How long output is still read once the tree is gone: a process outside may hold a pipe."""
_STDERR_LIMIT = 64 * 1024


class PipedCommand:
    """One run of a command. `patience` is the time in seconds that it may take to exit once its
    input has ended, `grace` that between SIGTERM and SIGKILL."""

    def __init__(
        self, trees: Trees, launch: Launch, *, patience: float = 2.0, grace: float = 2.0
    ) -> None:
        self._trees = trees
        self._launch = launch
        self._patience = patience
        self._grace = grace
        self._stderr = Collector(_STDERR_LIMIT)
        # Mutable: there while it runs.
        self._tree: ProcessTree | None = None
        self._alive = anyio.CancelScope()

    @property
    def stderr(self) -> Captured:
        """What it wrote there by now, bounded."""
        return self._stderr.captured()

    async def run(self, received: Callable[[bytes], Awaitable[None]]) -> TreeEnd:
        """Run it to its end, handing on what it writes to its standard output as it comes. Once
        that ends the command is of no use, and is ended as by `finish`.

        Cancelling the call ends the whole process tree before it returns. A command that cannot
        be started is a `TreeEnd` with an `error`.
        """
        try:
            tree = self._trees.piped(self._grace)
        except OSError as error:
            told = f"no process could be made for `{self._launch.argv[0]}`: {error}"
            return TreeEnd(None, f"{told}{remedy(error.errno)}", lacking=True)
        with contextlib.closing(tree):
            self._tree = tree
            try:
                return await self._supervise(tree, received)
            finally:
                self._close_stdin()
                self._tree = None

    async def send(self, data: bytes) -> None:
        """Write to its input. What a command that is gone would have read is lost. Not to be
        called again before it returns."""
        rest = memoryview(data)
        while rest and self._tree is not None and (stdin := self._tree.stdin) is not None:
            try:
                rest = rest[os.write(stdin, rest) :]
            except BlockingIOError:
                with contextlib.suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(stdin)
            except OSError:
                return

    def finish(self) -> None:
        """End its input, as clients do when they leave. It has `patience` seconds to exit; then
        SIGTERM and SIGKILL end it."""
        self._close_stdin()
        self._alive.deadline = min(self._alive.deadline, anyio.current_time() + self._patience)

    def _close_stdin(self) -> None:
        if self._tree is not None and self._tree.stdin is not None:
            anyio.notify_closing(self._tree.stdin)
            self._tree.close_stdin()

    async def _supervise(
        self, tree: ProcessTree, received: Callable[[bytes], Awaitable[None]]
    ) -> TreeEnd:
        async def collect(data: bytes) -> None:
            self._stderr.feed(data)

        # Reading goes on while the tree is ended, as in `command.py`.
        scopes = [anyio.CancelScope(shield=True), anyio.CancelScope(shield=True)]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, tree.stdout, received, scopes[0], self.finish)
            tasks.start_soon(self._read, tree.stderr, collect, scopes[1])
            try:
                with self._alive:
                    await tree.run(self._launch)
            finally:
                with anyio.CancelScope(shield=True):
                    ended = await tree.end()
                for scope in scopes:
                    scope.deadline = anyio.current_time() + _DRAIN_SECONDS
        return ended

    async def _read(
        self,
        descriptor: int,
        received: Callable[[bytes], Awaitable[None]],
        scope: anyio.CancelScope,
        ended: Callable[[], None] | None = None,
    ) -> None:
        with scope:
            while True:
                await anyio.wait_readable(descriptor)
                try:
                    data = os.read(descriptor, _CHUNK)
                except BlockingIOError:
                    continue
                if not data:
                    break
                await received(data)
        if ended is not None:
            ended()
