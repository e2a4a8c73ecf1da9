"""Runs an agent that is a command: bounded in time and output, its whole process tree ended.

Counterpart: the flow layer builds the `Launch`, environment included, and judges the `AgentExit`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio

from flowproof.drivers.capture import DEFAULT_LIMIT, Collector
from flowproof.drivers.interface import Launch
from flowproof.drivers.tree import ProcessTree, TreeEnd, Trees
from flowproof.errors import WorldError
from flowproof.files import remedy
from flowproof.model.agent_exit import AgentExit
from flowproof.model.clock import Clock

Stream: TypeAlias = Literal["stdout", "stderr"]
OnOutput: TypeAlias = Callable[[Stream, bytes], None]

_CHUNK = 65536
_DRAIN_SECONDS = 1.0
"""How long output is still read once the tree is gone: a process outside may hold a pipe."""


def platform_trees() -> Trees:
    """The most that this platform can do about process trees.

    :raises OSError: if the system has no process or descriptor left.
    """
    if sys.platform == "linux":
        from flowproof.drivers.guards import Guards

        return Guards()
    else:
        from flowproof.drivers.portable import SessionTrees

        return SessionTrees()


@dataclass(slots=True)
class _SoFar:
    """What is known of an agent, also where the wait for its end was cancelled."""

    stdout: Collector
    stderr: Collector
    # Mutable: known once its tree is gone.
    ended: TreeEnd = field(default_factory=lambda: TreeEnd(None))
    timed_out: bool = False

    def exit(self, duration: float) -> AgentExit:
        return AgentExit(
            status=self.ended.status,
            timed_out=self.timed_out,
            duration=duration,
            stdout=self.stdout.captured(),
            stderr=self.stderr.captured(),
            error=self.ended.error,
            survivors=self.ended.survivors,
        )


class CommandDriver:
    """The `command` driver. May run several agents at once.

    `grace` is the time in seconds between SIGTERM and SIGKILL, `limit` the bytes kept of each
    stream, head and tail together. `on_output` sees all output as it arrives; it must not block.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        grace: float = 2.0,
        limit: int = DEFAULT_LIMIT,
        on_output: OnOutput | None = None,
        new_trees: Callable[[], Trees] = platform_trees,
    ) -> None:
        self._clock = clock
        self._grace = grace
        self._limit = limit
        self._on_output = on_output
        self._new_trees = new_trees
        # Mutable: what the runs within `prestart` share.
        self._shared: Trees | None = None

    @contextlib.contextmanager
    def prestart(self) -> Iterator[None]:
        """Get ready to run agents, while the caller does something else: all that run until this
        is left start sooner, and cost less.

        Needs no event loop.
        """
        with contextlib.ExitStack() as stack:
            # Only a head start: a system out of processes is reported by `run`.
            with contextlib.suppress(OSError):
                self._shared = stack.enter_context(contextlib.closing(self._new_trees()))
            try:
                yield
            finally:
                self._shared = None

    async def run(self, launch: Launch) -> AgentExit:
        """Run the agent and wait until it and everything it started is gone.

        Cancelling the call ends the whole process tree before it returns, and `launch.cut` is
        told. A command that cannot be started is an `AgentExit` with an `error`, not an exception.

        :raises WorldError: if the system has nothing left to start any command with.
        """
        began = self._clock.monotonic()
        so_far = _SoFar(Collector(self._limit), Collector(self._limit))
        with contextlib.ExitStack() as stack:
            try:
                trees = self._shared or stack.enter_context(contextlib.closing(self._new_trees()))
                tree = stack.enter_context(contextlib.closing(trees.new(self._grace)))
            except OSError as error:
                told = f"no process could be made for `{launch.argv[0]}`: {error}"
                raise WorldError(f"{told}{remedy(error.errno)}") from None
            try:
                await self._supervise(tree, launch, so_far)
            except anyio.get_cancelled_exc_class():
                if launch.cut is not None:
                    launch.cut(so_far.exit(self._clock.monotonic() - began))
                raise
        if so_far.ended.lacking:
            raise WorldError(so_far.ended.error)
        return so_far.exit(self._clock.monotonic() - began)

    async def _supervise(self, tree: ProcessTree, launch: Launch, so_far: _SoFar) -> None:
        # Reading goes on while the tree is ended, also when this call is cancelled: an agent
        # that blocks on a full pipe could not use its grace.
        readers = [anyio.CancelScope(shield=True), anyio.CancelScope(shield=True)]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, tree.stdout, "stdout", so_far.stdout, readers[0])
            tasks.start_soon(self._read, tree.stderr, "stderr", so_far.stderr, readers[1])
            try:
                with anyio.move_on_after(launch.timeout) as deadline:
                    await tree.run(launch)
            finally:
                with anyio.CancelScope(shield=True):
                    so_far.ended = await tree.end()
                for reader in readers:
                    reader.deadline = anyio.current_time() + _DRAIN_SECONDS
        so_far.timed_out = deadline.cancelled_caught

    async def _read(
        self, descriptor: int, stream: Stream, collector: Collector, scope: anyio.CancelScope
    ) -> None:
        with scope:
            while True:
                await anyio.wait_readable(descriptor)
                try:
                    chunk = os.read(descriptor, _CHUNK)
                except BlockingIOError:
                    continue
                if not chunk:
                    return
                collector.feed(chunk)
                if self._on_output is not None:
                    self._on_output(stream, chunk)
