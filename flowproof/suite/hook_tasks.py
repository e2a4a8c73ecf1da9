"""The commands of suites beside all flows, as tasks of the graph of a run: what runs them, and
what its record says of them.

`hooks` runs a single command; `run` calls this where a suite has some, and only then loads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flowproof.errors import FlowproofError
from flowproof.flow.job import World, relative
from flowproof.graph.result import TaskEnd
from flowproof.model.task_state import TaskState
from flowproof.suite.hooks import HookFailed, SuiteCommands
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project

if TYPE_CHECKING:
    from flowproof.model.run_record import TaskRecord

_CUT = "the run ended before"


@dataclass(frozen=True, slots=True)
class _Ran:
    """One command that began; times are in seconds, the first from the start of the run."""

    state: TaskState
    started: float
    duration: float
    cause: str = ""


class HookTasks:
    """The commands of all suites of one run, which began at `begun` of its clock. `commands` are
    of suites that were begun, `failed` says why the flows of some cannot run, both by the folder
    of the suite; `errors` gets what went wrong beside the flows."""

    def __init__(
        self,
        planned: Sequence[PlannedFlow],
        project: Project,
        world: World,
        begun: float,
        errors: list[str],
    ) -> None:
        self._project = project
        self._world = world
        self._begun = begun
        self._errors = errors
        self._flows: dict[str, list[str]] = {}
        for one in planned:
            if one.suite is not None:
                self._flows.setdefault(one.suite, []).append(one.id)
        # Mutable: what has happened so far.
        self.commands: dict[str, SuiteCommands] = {}
        self.failed: dict[str, str] = {}
        self._ran: dict[tuple[str, str], _Ran] = {}

    async def before_all(self, folder: str) -> None:
        """What a suite does before its flows; none of them runs if it fails.

        :raises HookFailed: if it does.
        """
        suite = self._project.suite_of(Path(folder))
        if suite is None:
            raise RuntimeError(f"there is no suite in {folder} any more")
        world = self._world
        commands = SuiteCommands(suite, world.driver, world.environ, partial(self._watched, folder))
        self.commands[folder] = commands
        try:
            await commands.before_all()
        except HookFailed as error:
            self.failed[folder] = f"suite {suite.name}: {error}"
            raise
        self._project.minted[folder] = commands.minted

    async def after_all(self, folder: str) -> None:
        """What a suite does once all of its flows have ended, however they did."""
        commands = self.commands.get(folder)
        if commands is None:
            return
        try:
            await commands.after_all()
        except HookFailed as error:
            self._errors.append(f"suite {commands.suite.name}: {error}")

    @contextmanager
    def _watched(self, folder: str, name: str) -> Iterator[None]:
        """Note when a command of the suite in a folder begins and ends, and how."""
        clock = self._world.clock
        since = clock.monotonic()
        state, cause = TaskState.CANCELLED, _CUT
        try:
            yield
            state, cause = TaskState.DONE, ""
        except Exception as error:
            state, cause = TaskState.FAILED, str(error)
            raise
        finally:
            took = clock.monotonic() - since
            self._ran[folder, name] = _Ran(state, since - self._begun, took, cause)

    def note_ends(self, ends: Mapping[str, TaskEnd]) -> None:
        """Find commands after all flows that were cut off or never ran: nobody cleaned up."""
        for folder, commands in self.commands.items():
            end = ends.get(f"after_all {folder}")
            if commands.suite.after_all is None or (end and end.state is TaskState.DONE):
                continue
            why = end.cause if end else "the run ended before"
            self._errors.append(f"suite {commands.suite.name}: after_all did not end: {why}")

    def records(self) -> tuple[TaskRecord, ...]:
        """Every command that the suites of the run declare beside all flows."""
        found: list[TaskRecord] = []
        for folder, flows in self._flows.items():
            found += self._of_suite(folder, flows)
        return tuple(found)

    def _of_suite(self, folder: str, flows: Sequence[str]) -> Iterator[TaskRecord]:
        try:
            suite = self._project.suite_of(Path(folder))
        except FlowproofError:
            return
        if suite is None:
            return
        place = relative(Path(folder), self._project.here)
        needs: tuple[str, ...] = ()
        for name, command in (
            ("env_from", suite.env_from),
            ("before_all", suite.before_all),
            ("after_all", suite.after_all),
        ):
            if command is not None:
                id = name if place == "." else f"{name} {place}"
                waits = (*needs, *flows) if name == "after_all" else needs
                yield self._record(id, folder, name, waits)
                needs = (id,)

    def _record(self, id: str, folder: str, name: str, needs: tuple[str, ...]) -> TaskRecord:
        from flowproof.model.run_record import TaskRecord

        ran = self._ran.get((folder, name))
        if ran is None:
            cause = self.failed.get(folder, _CUT)
            return TaskRecord(id, TaskState.NOT_RUN, cause=cause, needs=needs)
        return TaskRecord(id, ran.state, ran.started, ran.duration, ran.cause, needs)
