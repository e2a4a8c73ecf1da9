"""Runs a graph of tasks with structured concurrency; knows nothing of what the tasks do.

`task` says what a graph is, `state` where each task stands, `result` how it ended.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from typing import Protocol, TypeVar, assert_never

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from flowproof.graph.result import (
    GraphResult,
    Observer,
    TaskEnd,
    fate_of_dependents,
    in_words,
    silent,
    sole,
)
from flowproof.graph.state import Phase, Slot, TaskContext, TaskFunction
from flowproof.graph.task import Graph, GraphError, TaskNode
from flowproof.model.clock import Clock
from flowproof.model.task_state import TaskState

__all__ = [
    "Admission",
    "GraphResult",
    "Observer",
    "TaskContext",
    "TaskEnd",
    "TaskFunction",
    "run_graph",
]

_INTERRUPTED = "the run was interrupted"
_T = TypeVar("_T")


class Admission(Protocol):
    """Decides which of the tasks that could run begin. It is asked, and never waits itself."""

    def offer(self, node: TaskNode) -> None:
        """A task could run now."""

    def take(self) -> TaskNode | None:
        """The next offered task that begins; None while none may."""

    def left(self, node: TaskNode) -> None:
        """A task that was taken has ended."""


async def run_graph(
    graph: Graph,
    functions: Mapping[str, TaskFunction],
    *,
    clock: Clock,
    limiter: anyio.CapacityLimiter | None = None,
    admission: Admission | None = None,
    observer: Observer = silent,
    cleanup_timeout: float = 10.0,
    ends: dict[str, TaskEnd] | None = None,
) -> GraphResult:
    """Run every task as soon as its needs allow, and return how each one ended.

    `functions` are keyed by kind. A context manager is entered, kept and exited in one task; it
    stays open until all tasks that need it have ended, then closes within `cleanup_timeout`
    seconds. Closes never overlap; of several that are due, the one opened last goes first.
    `limiter` bounds how many tasks run at once; one that merely stays open does not count.
    `admission` decides which of those that could begin do; what it keeps waiting is no task of
    the event loop yet, so that thousands may wait.

    What a task raises is in its `TaskEnd`. If the caller is cancelled, or a task raises
    KeyboardInterrupt or SystemExit: running tasks are cancelled, `always` tasks run, everything
    open closes, all within `cleanup_timeout` seconds, and then the cancellation goes on. `ends`
    is filled as tasks end, and complete also then.

    A task that is cancelled or times out while it opens a context manager gets cancellation at
    every await, as anywhere in anyio: it shields what it must clean up.

    :raises GraphError: before anything runs, if a kind has no function.
    """
    for node in graph.order():
        if node.kind not in functions:
            raise GraphError(
                f"task `{node.id}` is of the kind `{node.kind}`, which nothing does;"
                f" kinds known: {', '.join(functions) or 'none'}"
            )
    result: dict[str, TaskEnd] = {} if ends is None else ends
    run = _Run(graph, functions, clock, limiter, admission, observer, cleanup_timeout, result)
    async with anyio.create_task_group() as outside:
        # The work is shielded: only this wait feels the caller's cancellation, and turns it
        # into an orderly end of the work, which the group then waits for.
        outside.start_soon(run.work)
        try:
            await run.finished.wait()
        except anyio.get_cancelled_exc_class():
            run.interrupt()
            raise
    if run.fatal is not None:
        raise run.fatal
    return GraphResult(result)


class _Run:
    """One run of a graph. Every method that is not async decides over visible state at once."""

    def __init__(
        self,
        graph: Graph,
        functions: Mapping[str, TaskFunction],
        clock: Clock,
        limiter: anyio.CapacityLimiter | None,
        admission: Admission | None,
        observer: Observer,
        cleanup_timeout: float,
        ends: dict[str, TaskEnd],
    ) -> None:
        self.finished = anyio.Event()
        self.fatal: BaseException | None = None
        self._graph = graph
        self._functions = functions
        self._clock = clock
        self._limiter = limiter
        self._admission = admission
        self._observer = observer
        self._cleanup_timeout = cleanup_timeout
        self._interrupted = False
        self._cleanup_ends = math.inf
        self._ends = ends
        self._start = clock.monotonic()
        self._group: TaskGroup | None = None
        self._slots = {
            node.id: Slot(node, len(node.needs), len(graph.dependents(node.id)))
            for node in graph.order()
        }
        self._ready: list[Slot] = []
        self._open: list[Slot] = []
        self._opened = 0
        self._closing: Slot | None = None

    async def work(self) -> None:
        """Run all tasks, whatever happens to the caller."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as self._group:
                slots = self._slots.values()
                # The caller may have been cancelled before this begins.
                self._ready = [s for s in slots if s.missing == 0 and s.phase is Phase.WAITING]
                self._advance()
        self.finished.set()

    def interrupt(self) -> None:
        """Start nothing but `always` tasks from now on, and end the rest before long."""
        if self._interrupted:
            return
        self._interrupted = True
        self._cleanup_ends = anyio.current_time() + self._cleanup_timeout
        waiting = []
        for slot in self._slots.values():
            match slot.phase:
                case Phase.WAITING if not slot.node.always:
                    waiting.append((slot, TaskEnd(TaskState.NOT_RUN, cause=_INTERRUPTED)))
                case Phase.RUNNING if not slot.node.always:
                    state = TaskState.NOT_RUN if slot.started is None else TaskState.CANCELLED
                    self._doom(slot, TaskEnd(state, cause=_INTERRUPTED))
                case Phase.RUNNING | Phase.CLOSING:
                    self._bound(slot, slot.scope.deadline, slot.limit)
                case Phase.WAITING | Phase.OPEN | Phase.ENDED:
                    pass
                case _:
                    assert_never(slot.phase)
        self._end(*waiting)

    def _advance(self) -> None:
        """Start what is ready, and close the one that is due, if none is closing."""
        if self._group is None:
            return
        ready, self._ready = self._ready, []
        for slot in ready if self._admission is None else self._admitted(self._admission, ready):
            slot.begin()
            self._bound(slot, math.inf, "")
            self._group.start_soon(self._host, slot, name=slot.node.id)
        due = [slot for slot in self._open if slot.users == 0]
        if due and self._closing is None:
            self._close(max(due, key=lambda slot: slot.opened))

    def _admitted(self, admission: Admission, ready: list[Slot]) -> Iterator[Slot]:
        """Those that may begin, of these and of those that were offered before."""
        for slot in ready:
            admission.offer(slot.node)
        while (node := admission.take()) is not None:
            slot = self._slots[node.id]
            if slot.phase is Phase.WAITING:
                yield slot
            else:
                admission.left(node)  # it has ended without having begun

    def _close(self, slot: Slot) -> None:
        # After an interruption the rest of the time is shared out, so that one context manager
        # that hangs does not take it all.
        now = anyio.current_time()
        share = max(0.0, self._cleanup_ends - now) / len(self._open)
        seconds = min(self._cleanup_timeout, share)
        self._bound(slot, now + seconds, f"closing took longer than {round(seconds, 2):g} s")
        self._open.remove(slot)
        self._closing = slot
        slot.phase = Phase.CLOSING
        slot.release.set()

    def _bound(self, slot: Slot, deadline: float, limit: str) -> None:
        """Set when the slot is cancelled, at the end of cleanup at the latest."""
        if deadline > self._cleanup_ends:
            deadline = self._cleanup_ends
            limit = f"did not end within the {self._cleanup_timeout:g} s left for cleanup"
        slot.limit = limit
        slot.scope.deadline = deadline

    def _doom(self, slot: Slot, end: TaskEnd) -> None:
        """Make the slot end like this, unless it ends by itself at this very moment."""
        if slot.doom is None and not slot.scope.cancel_called:
            slot.doom = end
            if slot.phase is Phase.RUNNING:
                slot.scope.cancel()

    async def _host(self, slot: Slot) -> None:
        """Live the whole life of one task: cancel scopes inside it must nest."""
        error: BaseException | None = None
        try:
            with slot.scope:
                await self._live(slot)
        except Exception as raised:
            error = raised
        except anyio.get_cancelled_exc_class() as raised:
            # What this run asks for ends at the slot's scope.
            error = RuntimeError("the task cancelled itself")
            error.__cause__ = raised
        except (KeyboardInterrupt, SystemExit, BaseExceptionGroup) as raised:
            error = raised
            self._abort(raised)
        self._end((slot, self._verdict(slot, error)))
        slot.over()

    async def _live(self, slot: Slot) -> None:
        node = slot.node
        async with AsyncExitStack() as stack:
            async with self._limiter or nullcontext():
                await checkpoint_if_cancelled()
                slot.started = self._clock.monotonic() - self._start
                self._tell(self._observer.started, node, slot.started)
                if node.timeout is not None:
                    until = anyio.current_time() + node.timeout
                    self._bound(slot, until, f"took longer than {node.timeout:g} s")
                made = self._functions[node.kind](TaskContext(node, self._slots, self._ends))
                if not isinstance(made, AbstractAsyncContextManager):
                    slot.value = await made
                    return
                slot.value = await stack.enter_async_context(made)
            await checkpoint_if_cancelled()
            self._announce(slot)
            await slot.release.wait()

    def _announce(self, slot: Slot) -> None:
        """The slot's context manager is open: its dependents may run."""
        slot.scope.deadline = math.inf  # it ends when its dependents do, and they are bounded
        slot.phase = Phase.OPEN
        self._opened += 1
        slot.opened = self._opened
        self._open.append(slot)
        for id in self._graph.dependents(slot.node.id):
            self._satisfy(self._slots[id])
        self._advance()

    def _satisfy(self, slot: Slot) -> None:
        slot.missing -= 1
        if slot.missing == 0 and slot.phase is Phase.WAITING:
            self._ready.append(slot)

    def _verdict(self, slot: Slot, error: BaseException | None) -> TaskEnd:
        """How a task ended whose coroutine is over."""
        cut, doom, closing = slot.scope.cancelled_caught, slot.doom, slot.phase is Phase.CLOSING
        cause = ""
        if error is not None:
            error = sole(error)
            cause = f"while closing: {in_words(error)}" if closing else in_words(error)
        elif cut and slot.started is not None and (closing or doom is None):
            error, cause = TimeoutError(slot.limit), slot.limit
        elif slot.phase is Phase.OPEN:
            cause = "the context manager closed by itself while it was still needed"
            error = RuntimeError(cause)

        if error is not None:
            end = TaskEnd(TaskState.FAILED, error=error, cause=cause)
        elif doom is not None and (cut or slot.opened):
            end = doom
        elif cut:
            end = TaskEnd(TaskState.NOT_RUN, cause=slot.limit)
        else:
            end = TaskEnd(TaskState.DONE, slot.value)
        if slot.started is None:
            return end
        duration = self._clock.monotonic() - self._start - slot.started
        return replace(end, started=slot.started, duration=duration)

    def _end(self, *pairs: tuple[Slot, TaskEnd]) -> None:
        """Note how tasks ended, and what that means for the tasks that need them."""
        queue = deque(pairs)
        while queue:
            slot, end = queue.popleft()
            if slot.phase is Phase.ENDED:
                continue
            if slot.phase is Phase.OPEN:
                self._open.remove(slot)
            if slot is self._closing:
                self._closing = None
            if self._admission is not None and slot.phase is not Phase.WAITING:
                self._admission.left(slot.node)
            slot.phase = Phase.ENDED
            self._ends[slot.node.id] = end
            if not (slot.opened and slot.users):
                self._let_go(slot)
            fate = fate_of_dependents(slot.node.id, end)
            for dependent in map(self._slots.__getitem__, self._graph.dependents(slot.node.id)):
                if fate is None or dependent.node.always:
                    if not slot.opened:
                        self._satisfy(dependent)
                elif dependent.phase is Phase.WAITING:
                    queue.append((dependent, fate))
                elif dependent.phase in (Phase.RUNNING, Phase.OPEN):
                    self._doom(dependent, fate)
            self._tell(self._observer.ended, slot.node, end)
        self._advance()

    def _let_go(self, slot: Slot) -> None:
        """The slot keeps nothing open any more. One that broke while it was open comes here only
        with the last of its users: what it stood on must not close before they do."""
        for need in map(self._slots.__getitem__, slot.node.needs):
            need.users -= 1
            if need.users == 0 and need.opened and need.phase is Phase.ENDED:
                self._let_go(need)

    def _tell(self, listener: Callable[[TaskNode, _T], None], node: TaskNode, what: _T) -> None:
        try:
            listener(node, what)
        except Exception as error:
            self._abort(error)

    def _abort(self, error: BaseException) -> None:
        """End the run as an interruption does, and let the first such error out at its end."""
        if self.fatal is None:
            self.fatal = error
        self.interrupt()
