"""What runs on a worker of a cluster: one flow from its job to its record, in a thread.

`dask` sends these functions by name. The worker's event loop is blocked by none of them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from flowproof.drivers.command import CommandDriver
from flowproof.errors import FlowproofError
from flowproof.flow.job import World
from flowproof.flow.run import run_flow
from flowproof.model.clock import SystemClock, utc_text
from flowproof.report.run_json import dump
from flowproof.suite.engines.remote import (
    Answer,
    Lost,
    NoProject,
    OtherVersion,
    Place,
    Ran,
    RemoteJob,
    below,
    on_worker,
)
from flowproof.suite.engines.store import Store, cache_folder
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.records import RunFacts, run_record, unreadable
from flowproof.version import __version__

if TYPE_CHECKING:
    from distributed import Worker

_LOOK = 0.1
"""Seconds between two looks whether anybody still waits for the flow."""

_GOING = frozenset({"closing", "closed", "failed"})
"""The states of a worker that will not deliver a result; a paused one will."""

_running: set[str] = set()
"""The keys of the flows that run in this process."""

_starting = threading.Lock()
_drivers: dict[str, tuple[CommandDriver, contextlib.ExitStack]] = {}
"""What starts the agents of a run in this process, and what ends that. To get ready for a single
agent takes as long as a short one runs."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a worker says of itself: how many flows it runs at once, its resource labels, where
    it keeps projects, and whether this one is there. Workers of one machine may share a store.
    `host` is that machine, `executing` are the keys of what it runs now."""

    slots: int
    labels: tuple[str, ...]
    store: str
    has_project: bool
    host: str = ""
    executing: frozenset[str] = frozenset()


def describe(place: Place, dask_worker: Worker) -> Facts:
    """Tell about this worker."""
    store, state = _store(place), dask_worker.state
    return Facts(
        slots=state.nthreads,
        labels=tuple(sorted(state.total_resources)),
        store=f"{socket.gethostname()}:{store.folder}",
        has_project=store.has(place.digest),
        host=socket.gethostname(),
        executing=frozenset(str(task.key) for task in state.executing),
    )


async def keep(place: Place, data: bytes) -> None:
    """Keep an archive of the project.

    :raises WorldError: if that is not possible.
    """
    await anyio.to_thread.run_sync(_store(place).keep, place.digest, data)


async def forget(place: Place) -> None:
    """Remove the files of a run, and what was ready to start its agents."""
    with _starting:
        _, ready = _drivers.pop(place.run, (None, contextlib.ExitStack()))
    await anyio.to_thread.run_sync(ready.close)
    await anyio.to_thread.run_sync(_store(place).forget, place.run)


async def ended(keys: Collection[str]) -> None:
    """Wait until none of these flows runs here any more."""
    while not _running.isdisjoint(keys):  # noqa: ASYNC110 (they end in threads)
        await anyio.sleep(_LOOK / 2)


def run_job(job: RemoteJob) -> Answer:
    """Run one flow, called by a worker as its task. A flow that nobody waits for any more, since
    the run was interrupted or is gone, is ended with all of its processes."""
    from distributed import get_worker

    node = get_worker()
    key = node.get_current_task()

    def wanted() -> bool:
        # The scheduler cancels it when it is told to, and when its client is gone.
        task = node.state.tasks.get(key)
        executing = task is not None and task.state == "executing"
        return executing and node.status.name not in _GOING

    return run_as(str(key), node.address, wanted, job)


def run_as(key: str, address: str, wanted: Callable[[], bool], job: RemoteJob) -> Answer:
    """Run one flow as the task `key` of the worker at an address, while it is `wanted`."""
    if job.flowproof != __version__:
        return OtherVersion(address, __version__)
    tree = _store(job.place).tree(job.place.digest, job.place.run)
    if tree is None:
        return NoProject(address)
    _running.add(key)
    try:
        record = anyio.run(_run_while, wanted, job, tree)
    finally:
        _running.discard(key)
    return Lost(address) if record is None else Ran(address, record)


async def _run_while(wanted: Callable[[], bool], job: RemoteJob, tree: Path) -> str | None:
    record = None
    async with anyio.create_task_group() as group:
        group.start_soon(_watch, wanted, group.cancel_scope)
        record = await _record(job, tree)
        group.cancel_scope.cancel()
    return record


async def _watch(wanted: Callable[[], bool], scope: anyio.CancelScope) -> None:
    while wanted():  # noqa: ASYNC110 (nothing tells a thread)
        await anyio.sleep(_LOOK)
    scope.cancel()


def _driver(run: str) -> CommandDriver:
    with _starting:
        if run not in _drivers:
            driver, ready = CommandDriver(clock=SystemClock()), contextlib.ExitStack()
            ready.enter_context(driver.prestart())
            _drivers[run] = driver, ready
        return _drivers[run][0]


async def _record(job: RemoteJob, tree: Path) -> str:
    clock = SystemClock()
    environ = on_worker(os.environ, job.environ)
    world = World(clock, environ, _driver(job.place.run), debug=job.debug)
    trace = None if job.trace is None else below(tree, job.trace)
    project = Project(below(tree, job.here), JobOptions(job.phase, trace, job.strict, job.timeout))
    project.minted |= {str(below(tree, folder)): values for folder, values in job.minted.items()}
    started, begun = clock.now(), clock.monotonic()
    spec = below(tree, job.spec)
    try:
        flow = await run_flow(project.job(spec), world)
    except FlowproofError as error:
        flow = unreadable(spec, project, error)
    facts = RunFacts(job.place.run, "", "suite run", job.phase, utc_text(started), partial=True)
    seconds = clock.monotonic() - begun
    return dump(run_record(facts, [flow], seconds, interrupted=False, allow_empty=False))


def _store(place: Place) -> Store:
    return Store(cache_folder(os.environ) if place.cache is None else Path(place.cache))
