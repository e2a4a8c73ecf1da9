"""Task functions that write down what happens to them, and short ways to make graphs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from flowproof.graph.result import Observer, silent
from flowproof.graph.scheduler import GraphResult, TaskContext, TaskEnd, TaskFunction, run_graph
from flowproof.graph.task import Graph, TaskNode
from flowproof.model.clock import SystemClock
from flowproof.model.task_state import TaskState

_T = TypeVar("_T")

DONE, FAILED = TaskState.DONE, TaskState.FAILED
CANCELLED, NOT_RUN = TaskState.CANCELLED, TaskState.NOT_RUN


class Boom(Exception):
    """What a faulty task raises."""


def node(id: str, *needs: str, always: bool = False, timeout: float | None = None) -> TaskNode:
    """A task whose kind is its id."""
    return TaskNode(id, id, needs, always, timeout)


def graph(*nodes: TaskNode) -> Graph:
    return Graph.of(nodes)


def states(result: GraphResult | Mapping[str, TaskEnd]) -> dict[str, TaskState]:
    ends = result.ends if isinstance(result, GraphResult) else result
    return {id: end.state for id, end in ends.items()}


class Journal:
    """Makes task functions by what they do; `events` tells what happened, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def plain(self, body: Callable[[TaskContext], Awaitable[object]] | None = None) -> TaskFunction:
        """Notes `run <id>` and `end <id>`; the second one only if the body ends well."""

        async def task(context: TaskContext) -> object:
            self.events.append(f"run {context.node.id}")
            value = await (body or step)(context)
            self.events.append(f"end {context.node.id}")
            return value

        return task

    def opens(
        self,
        *,
        enter: Callable[[], Awaitable[object]] = checkpoint,
        leave: Callable[[], Awaitable[object]] = checkpoint,
    ) -> TaskFunction:
        """Notes `open <id>` when it is open, `close <id>` and `closed <id>`."""

        @asynccontextmanager
        async def resource(context: TaskContext) -> AsyncIterator[object]:
            await enter()
            self.events.append(f"open {context.node.id}")
            try:
                yield f"value of {context.node.id}"
            finally:
                self.events.append(f"close {context.node.id}")
                await leave()
                self.events.append(f"closed {context.node.id}")

        return resource


def returns(value: object) -> TaskFunction:
    async def task(context: TaskContext) -> object:
        return value

    return task


async def step(*_: object) -> None:
    await checkpoint()


async def boom(*_: object) -> None:
    await checkpoint()
    raise Boom("it broke")


async def forever(*_: object) -> None:
    await anyio.sleep_forever()


def run(
    graph: Graph,
    functions: Mapping[str, TaskFunction],
    *,
    tokens: int | None = None,
    observer: Observer = silent,
    cleanup_timeout: float = 10.0,
) -> GraphResult:
    """Run to the end; a run that hangs fails the test within seconds."""

    async def main() -> GraphResult:
        limiter = None if tokens is None else anyio.CapacityLimiter(tokens)
        with anyio.fail_after(10):
            return await run_graph(
                graph,
                functions,
                clock=SystemClock(),
                limiter=limiter,
                observer=observer,
                cleanup_timeout=cleanup_timeout,
            )

    return in_loop(main)


def in_loop(main: Callable[[], Awaitable[_T]]) -> _T:
    result: Any = anyio.run(main)
    value: _T = result
    return value
