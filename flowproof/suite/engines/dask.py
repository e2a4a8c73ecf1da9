"""The engine whose flows run on the workers of a Dask cluster.

`cluster` connects to it, `ship` packs the project, `worker` is what runs there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from pydoc import locate
from typing import TYPE_CHECKING, Any, assert_never

import anyio
import anyio.to_thread

from flowproof.errors import ExitCode, FlowproofError, WorldError
from flowproof.flow.job import FlowJob, World
from flowproof.flow.run import run_flow
from flowproof.model.clock import utc_text
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord
from flowproof.report.text import one_line
from flowproof.suite.engines import worker
from flowproof.suite.engines.cluster import (
    CONNECTING,
    connected,
    local_cluster,
    require_address,
    require_dask,
)
from flowproof.suite.engines.interface import Engine
from flowproof.suite.engines.outcome import outcome, told
from flowproof.suite.engines.remote import (
    Answer,
    Lost,
    NoProject,
    OtherVersion,
    Place,
    Ran,
    RemoteJob,
    record_of,
    travelling,
    with_losses,
    without_keys,
)
from flowproof.suite.engines.ship import Archive, inside, pack, to_ship
from flowproof.suite.engines.worker import Facts
from flowproof.suite.jobs import available_cores
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project
from flowproof.suite.records import kept_from_running
from flowproof.version import __version__

if TYPE_CHECKING:
    from distributed import Future

LOSSES = 2
"""How many workers may be lost with a flow until it counts as not judged."""
_ENDING = 15.0
"""Seconds that workers may take to end flows and remove files once a run is over."""
_SHIPMENTS = 3


@dataclass(frozen=True, slots=True)
class DaskOptions:
    """How flows run on a cluster. `scheduler` is its address, None for processes of our own.
    `slots` says how many flows run at once where there is room for so many. `patience` is how
    many seconds may pass without any worker. A task is given up `margin` seconds after its
    agent's own time has passed. Workers are asked what they run every `look` seconds."""

    scheduler: str | None = None
    slots: Callable[[int], int] = lambda available: available
    patience: float = 60.0
    margin: float = 60.0
    look: float = 5.0


@contextlib.asynccontextmanager
async def open_dask(
    options: DaskOptions, planned: Sequence[PlannedFlow], project: Project, world: World
) -> AsyncIterator[Engine]:
    """Connect to a cluster and send it the project.

    :raises CapabilityError: if Dask is not installed.
    :raises UsageError: if the project cannot be sent, or the address is none.
    :raises WorldError: if there is no cluster, or its workers cannot run flows for us.
    """
    require_dask()
    if options.scheduler is not None:
        require_address(options.scheduler)
    specs = [one.spec for one in planned]
    root, also = await anyio.to_thread.run_sync(to_ship, specs, project.here)
    archive = await anyio.to_thread.run_sync(pack, root, also)
    async with contextlib.AsyncExitStack() as stack:
        cache = None
        if options.scheduler is None:
            workers = max(1, min(options.slots(available_cores()), len(planned)))
            client, folder = await stack.enter_async_context(local_cluster(workers))
            cache = str(folder / "projects")
        else:
            client = await stack.enter_async_context(
                connected(options.scheduler, min(CONNECTING, options.patience))
            )
        place = Place(archive.digest, os.urandom(8).hex(), cache)
        engine = DaskEngine(client, project, world, root, place, archive, options)
        stack.push_async_callback(engine.close)
        await engine.begin()
        yield engine


class DaskEngine:
    """Runs flows on the workers of one cluster, for one run."""

    def __init__(
        self,
        client: Any,  # its types are those of the blocking one
        project: Project,
        world: World,
        root: Path,
        place: Place,
        archive: Archive,
        options: DaskOptions,
    ) -> None:
        self._client = client
        self._project = project
        self._world = world
        self._root = root
        self._place = place
        self._archive = archive
        self._options = options
        self._numbers = count(1)
        self._broadcast = anyio.Lock()
        # Mutable: what is known of the workers and when they told it, which do not end a task,
        # since when there are none, and which flows are to be ended.
        self.slots = 1
        self._facts: Mapping[str, Facts] = {}
        self._looked = self._told = 0.0
        self._stuck: set[str] = set()
        self._served: dict[frozenset[str], float] = {}
        self._ending: set[str] = set()

    async def begin(self) -> None:
        """Wait for a worker, check them all, and send them the project.

        :raises WorldError: if there is none, or they cannot run flows for us.
        """
        with contextlib.suppress(TimeoutError):
            await self._client.wait_for_workers(1, self._options.patience)
        await self._require_version()
        self._facts = await self._ship()
        available = sum(one.slots for one in self._facts.values())
        if not available:
            raise WorldError(
                f"no worker joined the Dask cluster within {self._options.patience:g} s"
            )
        self.slots = max(1, min(self._options.slots(available), available))

    async def run(self, job: FlowJob, cut: Callable[[FlowRecord], None]) -> FlowRecord:
        """Run one flow on a worker, which tells nothing of one that is cut off. To record needs
        keys, which do not travel: that is done here."""
        if job.phase == "record":
            return await run_flow(job, self._world, cut)
        lost: list[AttemptRecord] = []
        begun = self._world.clock.monotonic()
        try:
            record = await self._run(job, lost)
        except (WorldError, OSError) as error:
            lost_it = isinstance(error, OSError)
            reason = f"the cluster cannot be reached: {told(error)}" if lost_it else str(error)
            record = kept_from_running(job.spec_path, self._project, reason)
            record = replace(record, duration=self._world.clock.monotonic() - begun)
        return with_losses(record, lost)

    async def close(self) -> None:
        """Have the workers remove the files of this run."""
        if self._place.cache is not None:
            return  # they go with the cluster
        with anyio.move_on_after(_ENDING, shield=True), contextlib.suppress(WorldError):
            await self._ask(worker.forget, self._place, on_error="ignore")

    async def _ask(self, function: Callable[..., object], *arguments: object, **how: Any) -> Any:
        """What workers answer to a function, by their addresses.

        :raises WorldError: if they cannot be asked; a client whose scheduler is gone fails in
            more ways than it documents.
        """
        try:
            return await self._client.run(function, *arguments, **how)
        except FlowproofError:
            raise  # a worker's own
        except Exception as error:
            raise WorldError(
                f"the workers of the cluster cannot be asked: {told(error)}"
            ) from error

    async def _require_version(self) -> None:
        # Found by a name in the standard library: another version need not have our modules.
        found = await self._ask(locate, "flowproof.version.__version__")
        for address, version in found.items():
            if version != __version__:
                raise _other_version(address, version)

    async def _ship(self, workers: list[str] | None = None) -> Mapping[str, Facts]:
        """Send the project to workers (None: all) that lack it, once to those that share a
        store; what is known of these workers."""
        place = self._place
        for _ in range(_SHIPMENTS):
            facts: Mapping[str, Facts] = await self._ask(worker.describe, place, workers=workers)
            lacking = {one.store: at for at, one in facts.items() if not one.has_project}
            if not lacking:
                return facts
            await self._ask(worker.keep, place, self._archive.data, workers=list(lacking.values()))
        raise WorldError(f"the project does not stay on {', '.join(lacking.values())}")

    async def _run(self, job: FlowJob, lost: list[AttemptRecord]) -> FlowRecord:
        """The flow's record. It is tried once more where its worker is lost, which is added to
        `lost`."""
        remote, labels = self._remote(job), self._labels(job)
        losses = shipped = 0
        while True:
            begun = self._world.clock.monotonic()
            answer = await self._answer(remote, labels, job.spec.agent.timeout)
            match answer:
                case Ran():
                    return record_of(answer, job, remote)
                case NoProject(address):
                    shipped += 1
                    if shipped > _SHIPMENTS:
                        raise WorldError(f"the project does not stay on the worker {address}")
                    await self._ship([address])
                case OtherVersion(address, version):
                    raise _other_version(address, version)
                case Lost():
                    losses += answer.times
                    seconds = self._world.clock.monotonic() - begun
                    reason = self._loss(answer, seconds)
                    if losses >= LOSSES:
                        reason = (
                            f"its worker was lost {losses} times while it ran; the worker's log "
                            f"says more, unless the agent used up its memory\nlast {reason}"
                        )
                        record = kept_from_running(job.spec_path, self._project, reason)
                        return replace(record, duration=seconds)
                    lost.append(AttemptRecord(Verdict.ERROR, ExitCode.WORLD_ERROR, seconds, reason))
                case _:
                    assert_never(answer)

    def _remote(self, job: FlowJob) -> RemoteJob:
        environ, options = self._world.environ, self._project.options
        minted = self._project.minted.items()
        return RemoteJob(
            flowproof=__version__,
            place=self._place,
            here=inside(self._project.here, self._root),
            spec=inside(job.spec_path, self._root),
            trace=inside(job.trace_path, self._root),
            phase=job.phase,
            strict=options.strict,
            timeout=options.timeout,
            debug=self._world.debug,
            environ=travelling(job, environ),
            minted={
                inside(Path(folder), self._root): without_keys(values, environ)
                for folder, values in minted
            },
        )

    def _labels(self, job: FlowJob) -> dict[str, float]:
        """The resources of a flow that workers of this cluster have labels for; all others are
        locks of the run, as ever."""
        known = {label for one in self._facts.values() for label in one.labels}
        resources = self._project.settings(job.spec_path).resources
        return {name: 1 for name in resources if name in known}

    def _loss(self, lost: Lost, seconds: float) -> str:
        """What became of a worker: which one, where and when."""
        known = self._facts.get(lost.worker)
        host = f" on {one_line(known.host, 100)}" if known and known.host else ""
        who = f"its worker {one_line(lost.worker, 100)}{host}"
        when = f"at {utc_text(self._world.clock.now())}, after {seconds:.1f} s"
        if lost.silent is None:
            return f"{who} was lost {when}"
        return f"{who} was given up {when}: it did not end the flow, whose own time had passed"

    async def _answer(self, job: RemoteJob, labels: dict[str, float], limit: float) -> Answer:
        key = f"flowproof-{self._place.run}-{next(self._numbers)}"
        others = [at for at in self._facts if at not in self._stuck] if self._stuck else None
        if others == []:
            raise WorldError("there is no worker of the cluster that ends what it runs")
        try:
            future = self._client.submit(
                worker.run_job,
                job,
                key=key,
                pure=False,
                retries=0,
                resources=labels or None,
                workers=others,
            )
        except RuntimeError as error:  # the client was closed: its scheduler is gone
            raise WorldError(f"the cluster cannot be reached: {told(error)}") from error
        try:
            return await self._waited_for(future, key, labels, limit)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(_ENDING, shield=True):
                await self._end(future, key)
            raise
        except CancelledError as error:
            raise WorldError(f"the cluster gave it up: {error}") from error
        finally:
            future.release()

    async def _waited_for(
        self, future: Future[object], key: str, labels: dict[str, float], limit: float
    ) -> Answer:
        """What comes of a task whose agent has so many seconds.

        :raises WorldError: if there has been no worker for it for too long, or it failed.
        """
        since, look = self._world.clock.monotonic(), self._options.look
        while True:
            with anyio.move_on_after(look):
                return await outcome(future)
            without = await self._without_worker(frozenset(labels))
            if without > self._options.patience:
                await _given_up(future)
                raise WorldError(
                    f"no worker of the cluster was there to run it for {without:.0f} s"
                )
            now = self._world.clock.monotonic()
            runs_at = [at for at, one in self._facts.items() if key in one.executing]
            if not runs_at and now - self._told <= 2 * look:
                since = now  # it waits for a worker: its time has not begun
            elif now - since > limit + self._options.margin:
                self._stuck.update(runs_at)
                with anyio.move_on_after(look):
                    await _given_up(future)
                return Lost(", ".join(runs_at) or "(unknown)", silent=now - since)

    async def _without_worker(self, labels: frozenset[str]) -> float:
        """For how many seconds there has been no worker with these labels."""
        now = self._world.clock.monotonic()
        if now - self._looked >= self._options.look:
            self._looked = now
            with contextlib.suppress(WorldError), anyio.move_on_after(self._options.look):
                self._facts = await self._ask(worker.describe, self._place, on_error="ignore")
                self._told = self._world.clock.monotonic()
        able = (one for at, one in self._facts.items() if at not in self._stuck)
        if any(labels <= set(one.labels) for one in able):
            self._served[labels] = now
        return now - self._served.setdefault(labels, now)

    async def _end(self, future: Future[object], key: str) -> None:
        """Have a flow ended on its worker, and wait until it is. Many are ended at once when a
        run is interrupted: one question to the workers is for all of them."""
        await _given_up(future)
        self._ending.add(key)
        async with self._broadcast:
            if key in self._ending:
                keys, self._ending = self._ending, set()
                with contextlib.suppress(WorldError):
                    await self._ask(worker.ended, keys, on_error="ignore")


async def _given_up(future: Future[object]) -> None:
    # There may be no scheduler any more to tell.
    with contextlib.suppress(Exception):
        await future.cancel()


def _other_version(address: str, version: object) -> WorldError:
    there = f"flowproof {version}" if version else "no flowproof"
    return WorldError(
        f"the worker {address} has {there}, and this is flowproof {__version__}; install the same "
        "version on every worker"
    )
