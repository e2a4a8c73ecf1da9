"""Finds out where a run comes from while its flows run; `run` begins it once the first agent has
been started, and takes what is there when the flows are over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from flowproof.errors import FlowproofError
from flowproof.flow.job import World
from flowproof.model.origin import Origin, Source
from flowproof.model.run_record import FileDigest
from flowproof.suite.inputs import lock_files, top_of
from flowproof.suite.origin import origin
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project

SECONDS = 3.0
"""How long git may take to answer, and a file system."""


@dataclass(slots=True)
class Provenance:
    """What has been found out so far; None, and no inputs, where that is not known."""

    # Mutable: filled as it is found.
    origin: Origin | None = None
    source: Source | None = None
    inputs: tuple[FileDigest, ...] = ()

    async def find(
        self, folder: Path, planned: Sequence[PlannedFlow], project: Project, world: World
    ) -> None:
        """Look at the repository that a folder lies in, at the lock files of the suites of these
        flows, and at the machine, for `SECONDS` at most.

        Cancelling the call ends what it started before it returns.
        """
        folders = [folder, *_suites(planned, project)]
        async with anyio.create_task_group() as group:
            group.start_soon(self._ask_git, folder, world.environ)
            with anyio.move_on_after(SECONDS):
                await self._read(folders, project.here, world)

    async def _ask_git(self, folder: Path, environ: Mapping[str, str]) -> None:
        top = top_of(folder)
        if top is not None:
            from flowproof.suite.source import source

            self.source = await source(top, environ, SECONDS)

    async def _read(self, folders: Sequence[Path], here: Path, world: World) -> None:
        # Threads: a file system may be slow, and flows go on meanwhile.
        run = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
        self.origin = await run(origin, world.environ)
        self.inputs = await run(lock_files, folders, here, world.digests)


def _suites(planned: Sequence[PlannedFlow], project: Project) -> Iterator[Path]:
    """The folders of the suites of these flows."""
    for folder in dict.fromkeys(one.spec.parent for one in planned):
        with suppress(FlowproofError):
            if (file := project.suite_file(folder)) is not None:
                yield file.parent
