"""Flows and suites as Python objects, for tests and scripts: what `import flowproof` offers.

Counterpart: `cli`, which runs the same on a terminal. Here nothing is printed, and no file is
written but the trace of a recording.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from flowproof.drivers.command import CommandDriver
from flowproof.errors import ExitCode, UsageError
from flowproof.files import shortened, system_error
from flowproof.flow.job import World
from flowproof.model.clock import SystemClock
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.suite.coverage import covers
from flowproof.suite.discover import discover
from flowproof.suite.expression import parse_expression
from flowproof.suite.jobs import one_at_a_time, parse_jobs
from flowproof.suite.needs import with_needed
from flowproof.suite.order import ordered
from flowproof.suite.plan import PlannedFlow, PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows
from flowproof.suite.selection import Selection, select, unselected


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """What a run left. `repr` names its verdicts, `str` is what the command line would print."""

    record: RunRecord

    @property
    def exit_code(self) -> ExitCode:
        """What the command line would return."""
        return self.record.exit_code

    @property
    def flows(self) -> tuple[FlowRecord, ...]:
        """Every flow with its verdict, in the order of the run."""
        return tuple(self.record.flows)

    @property
    def passed(self) -> bool:
        """Whether the command line would return 0. A run in which every flow was skipped has
        not passed."""
        return self.exit_code is ExitCode.PASSED

    def __repr__(self) -> str:
        from flowproof.model.visible import visible

        told = [f"{one.name}: {one.verdict} {one.reason}".rstrip() for one in self.flows]
        return f"<RunResult exit code {int(self.exit_code)}; {visible('; '.join(told))}>"

    def __str__(self) -> str:
        from flowproof.report.console import flow_detail, flow_line, summary

        told = [part for one in self.flows for part in (flow_line(one), flow_detail(one)) if part]
        return "\n".join([*told, summary(self.record)])


class Flow:
    """One `*.flow.yaml`. Methods block; in a running event loop call them in a thread."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def run(
        self, *, strict: bool = False, trace: str | os.PathLike[str] | None = None
    ) -> RunResult:
        """Replay the flow, as `flowproof run` does: no model is contacted and no key is needed.

        With `strict` a flow that asserts nothing is an error. `trace` is replayed instead of
        the one beside the spec. What is wrong with the spec, its suite or the trace is in the
        result.

        :raises UsageError: if the path is no flow's.
        """
        return self._run("run", JobOptions("replay", _path(trace), strict))

    def record(self, *, out: str | os.PathLike[str] | None = None) -> RunResult:
        """Run the flow against the real model that the environment names, as `flowproof record`
        does, and write the trace beside the spec, or to `out`, if everything held.

        :raises UsageError: if the path is no flow's.
        """
        return self._run("record", JobOptions("record", _path(out)))

    def _run(self, command: str, options: JobOptions) -> RunResult:
        with _explained():
            if self._path.is_dir():
                raise UsageError(f"{self._path} is a folder; its flows are run by Suite")
            specs = discover([self._path])
            project = Project(Path.cwd(), options)
            folder = specs[0].parent
            suite = project.usable_suite(folder)
        name = suite.name if suite else folder.name
        flows = plan(specs, project, PlanOptions(retries=0))
        how = RunOptions(
            command,
            name,
            os.urandom(3),
            partial=True,
            folder=Path(suite.folder) if suite else folder,
            discovered=len(specs),
        )
        return _execute(flows, project, how)


class Suite:
    """All flows below a folder. Methods block; in a running event loop call them in a thread."""

    def __init__(self, path: str | os.PathLike[str] = ".") -> None:
        self._path = Path(path)

    def run(
        self,
        *,
        names: str | None = None,
        tags: str | None = None,
        jobs: int | str | None = None,
        retries: int | None = None,
        fail_on_flaky: bool = False,
        max_failures: int | None = None,
        timeout: float | None = None,
        global_timeout: float | None = None,
        record_missing: bool = False,
        strict: bool = False,
        allow_empty: bool = False,
    ) -> RunResult:
        """Replay the flows, as `flowproof suite run` does with the options of these names; `names`
        is its -k, `tags` its --tag, and times are in seconds.

        A flow without a trace is skipped, an error with `strict`, as is one that asserts nothing,
        and recorded with `record_missing`. A run in which no flow ran has not passed, unless
        `allow_empty`.

        :raises UsageError: if the path does not exist, an option cannot be used, or the suite's
            `order` names a flow that does not exist.
        """
        _require_positive(max_failures=max_failures, timeout=timeout, global_timeout=global_timeout)
        with _explained():
            top = self._path.absolute()
            project = Project(Path.cwd(), JobOptions("replay", strict=strict, timeout=timeout))
            suite = project.usable_suite(top if top.is_dir() else top.parent)
            selection = _selection(names, tags)
            folder = Path(suite.folder) if suite else top.resolve()
            specs = discover([top])
            chosen = with_needed(select(specs, selection, project, folder), project)
            declared = suite.jobs if suite else None
            usual = "1" if one_at_a_time(chosen, project) else "auto"
            slots = parse_jobs(str(declared or usual if jobs is None else jobs), "jobs")
            planning = PlanOptions(
                retries, record_missing=record_missing, jobs_given=jobs is not None
            )
            flows = plan(ordered(chosen, suite), project, planning)
        options = RunOptions(
            command="suite run",
            suite=suite.name if suite else top.name,
            chance=os.urandom(3),
            skip_untraced=True,
            record_missing=record_missing,
            allow_empty=allow_empty,
            partial=selection.partial or not covers([top], specs, folder),
            jobs=slots,
            max_failures=max_failures,
            global_timeout=global_timeout,
            fail_on_flaky=fail_on_flaky,
            folder=folder,
            discovered=len({*specs, *chosen}),
            left_out=unselected(specs, chosen),
            selection=tuple(
                (name, shortened(value))
                for name, value in (("-k", names), ("--tag", tags))
                if value is not None
            ),
        )
        return _execute(flows, project, options)


def _selection(names: str | None, tags: str | None) -> Selection:
    return Selection(
        names=None if names is None else parse_expression(names, "names"),
        tags=None if tags is None else parse_expression(tags, "tags"),
    )


def _require_positive(**given: float | None) -> None:
    for name, value in given.items():
        if value is not None and not value > 0:
            raise UsageError(f"{name} is {value}; it must be more than 0")


class _Silence:
    """Tells nobody."""

    def engine_opened(self, slots: int) -> None:
        """Nothing."""

    def flow_started(self, name: str, path: str) -> None:
        """Nothing."""

    def flow_ended(self, record: FlowRecord) -> None:
        """Nothing."""


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """What the system refuses while flows are looked for, as an error of ours."""
    try:
        yield
    except OSError as error:
        raise UsageError(system_error(error)) from error


def _path(given: str | os.PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given)


def _execute(flows: Sequence[PlannedFlow], project: Project, options: RunOptions) -> RunResult:
    clock = SystemClock()
    driver = CommandDriver(clock=clock)
    world = World(clock, dict(os.environ), driver)

    async def main() -> RunRecord:
        record = await run_flows(flows, project, world, options, _Silence(), Interrupt())
        return replace(record, flows=tuple(record.flows))

    with driver.prestart():
        return RunResult(anyio.run(main))
