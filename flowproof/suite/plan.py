"""Turns the flows of a run into one graph: what each waits for, and what no two use at once.

`run` runs the graph; `gate` lets flows in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flowproof.errors import FlowproofError
from flowproof.flow.job import FlowJob, relative
from flowproof.graph.task import Graph, TaskNode
from flowproof.model.flow_spec import SuiteSpec
from flowproof.suite.needs import needed, wait_for_each_other
from flowproof.suite.order import waits
from flowproof.suite.project import Project
from flowproof.trace.file import trace_path

if TYPE_CHECKING:
    from flowproof.model.run_record import FileDigest, FlowRecord

_NO_LOCKS: frozenset[str] = frozenset()
_SUITE = "suite "
_SMALL = 64 * 1024
"""Bytes; a longer spec is loaded to see what it holds."""

FLOW = "flow"
BEFORE_ALL = "before_all"
AFTER_ALL = "after_all"
"""The kinds of the tasks of a run: flows, and what a suite does before and after them."""


@dataclass(frozen=True, slots=True)
class PlannedFlow:
    """One run of one flow, by an `id` that no other of the run has.

    Flows in `needs` must have passed, those in `after` only have ended; both are ids. No two
    flows that share one of their `locks` run at once. `suite` is the folder of
    the suite whose commands surround it, `seconds` what it took last time.
    `repetition` is such as `2/3`.
    """

    id: str
    spec: Path
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    locks: frozenset[str] = frozenset()
    retries: int = 0
    seconds: float | None = None
    repetition: str = ""
    suite: str | None = None

    def named(self, name: str) -> str:
        """The name of the flow as the record of the run has it."""
        return f"{name} [{self.repetition}]" if self.repetition else name

    def told(self, record: FlowRecord, ids: Container[str], project: Project) -> FlowRecord:
        """The record of this flow, with what the plan and its suite say of it; `ids` are of all
        flows of the run."""
        needs = tuple(one for one in self.needs if one in ids)
        return replace(
            record,
            name=self.named(record.name),
            id=self.id,
            needs=needs,
            after=tuple(one for one in self.after if one in ids and one not in needs),
            locks=tuple(sorted(self.locks)),
            usual=self.seconds,
            inputs=(*_suite_file(self.spec, project), *record.inputs),
        )


def _suite_file(spec: Path, project: Project) -> tuple[FileDigest, ...]:
    """The suite.yaml of a flow, as it was when it was loaded; nothing where it cannot be used."""
    from flowproof.model.run_record import FileDigest

    try:
        file, suite = project.suite_file(spec.parent), project.suite_of(spec.parent)
    except FlowproofError:
        return ()
    if file is None or suite is None or suite.sha256 is None:
        return ()
    return (FileDigest(relative(file, project.here), suite.sha256),)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the command line says of all flows. `retries` is None where each suite decides. With
    `record_missing`, one run of a flow may write the trace that its next one reads. With
    `jobs_given` it says how many run at once, and what a suite below the first says of its own
    does not count."""

    retries: int | None = None
    repeat: int = 1
    record_missing: bool = False
    jobs_given: bool = False


def plan(
    specs: Sequence[Path],
    project: Project,
    options: PlanOptions,
    seconds: Mapping[Path, float] | None = None,
) -> tuple[PlannedFlow, ...]:
    """Every flow to run, in the order given; `specs` are absolute and hold what they need.

    :raises UsageError: if flows wait for each other, or an `order` cannot be used.
    """
    places = {project.place(spec): spec for spec in specs}
    first = waits(specs, project)
    _require_no_circle(specs, first, places, project)
    planned: list[PlannedFlow] = []
    for spec in specs:
        needs = [places[one] for one in needed(spec, project) if one in places]
        one = PlannedFlow(
            id=relative(spec, project.here),
            spec=spec,
            needs=_ids(needs, project, options.repeat),
            after=_ids([first[spec]] if spec in first else [], project, options.repeat),
            locks=_locks(spec, project, options) | _traces(spec, project, options) or _NO_LOCKS,
            retries=_retries(spec, project, options),
            seconds=(seconds or {}).get(spec),
            suite=_commanding(spec, project),
        )
        planned += _repeated(one, options.repeat)
    return tuple(planned)


def _require_no_circle(
    specs: Sequence[Path],
    first: Mapping[Path, Path],
    places: Mapping[Path, Path],
    project: Project,
) -> None:
    """:raises UsageError: if needs and orders of several suites make flows wait for each other."""
    if not first:
        return  # needs alone are seen to where they are followed
    from graphlib import CycleError, TopologicalSorter

    waiting = {
        spec: [places[one] for one in needed(spec, project) if one in places]
        + ([first[spec]] if spec in first else [])
        for spec in specs
    }
    try:
        TopologicalSorter(waiting).prepare()
    except CycleError as error:
        raise wait_for_each_other(error.args[1][:0:-1], project) from None


def _repeated(one: PlannedFlow, count: int) -> list[PlannedFlow]:
    if count == 1:
        return [one]
    names = [f"{number}/{count}" for number in range(1, count + 1)]
    return [replace(one, id=f"{one.id} [{name}]", repetition=name) for name in names]


def _ids(specs: Sequence[Path], project: Project, repeat: int) -> tuple[str, ...]:
    found: list[str] = []
    for spec in specs:
        found += [
            one.id for one in _repeated(PlannedFlow(relative(spec, project.here), spec), repeat)
        ]
    return tuple(found)


def _retries(spec: Path, project: Project, options: PlanOptions) -> int:
    if options.retries is not None:
        return options.retries
    try:
        suite, own = project.suite_of(spec.parent), project.settings(spec).retries
    except FlowproofError:
        return 0
    return own if own is not None else suite.retries if suite else 0


def _commanding(spec: Path, project: Project) -> str | None:
    """The folder of the suite of a flow, if it has commands to run around its flows."""
    try:
        suite = project.suite_of(spec.parent)
    except FlowproofError:
        return None
    if suite is None or not any(commands(suite)):
        return None
    return suite.folder


def commands(suite: SuiteSpec) -> tuple[str | None, ...]:
    """What a suite runs beside its flows: before and after all of them, then each."""
    return (
        suite.env_from or suite.before_all,
        suite.after_all,
        suite.before_each,
        suite.after_each,
    )


def _locks(spec: Path, project: Project, options: PlanOptions) -> frozenset[str]:
    """What a flow has to itself: fixed ports, and what its suite says."""
    try:
        suite = project.suite_of(spec.parent)
        alone = [] if options.jobs_given or suite is None else _alone(suite, project)
        resources = project.settings(spec).resources
        ports = fixed_ports(project.job(spec)) if _may_fix_ports(spec) else ()
    except FlowproofError:
        return frozenset()
    return frozenset([*map("port {}".format, ports), *map("resource {}".format, resources), *alone])


def _alone(suite: SuiteSpec, project: Project) -> list[str]:
    """What no two flows of a suite have at once that bears one at a time: its hooks around each
    might not, and `jobs: 1` says so."""
    hooked = suite.before_each or suite.after_each
    if suite.jobs != "1" and (suite.jobs is not None or not hooked):
        return []
    return [f"{_SUITE}{relative(Path(suite.folder), project.here)}"]


def taking_turns(planned: Sequence[PlannedFlow]) -> tuple[str, ...]:
    """The folders of the suites of which two flows or more run one at a time."""
    found = Counter(
        lock.removeprefix(_SUITE)
        for one in planned
        for lock in one.locks
        if lock.startswith(_SUITE)
    )
    return tuple(folder for folder, flows in found.items() if flows > 1)


def _traces(spec: Path, project: Project, options: PlanOptions) -> frozenset[str]:
    """The trace of a flow, where one of its runs may write it."""
    if not options.record_missing or options.repeat == 1:
        return _NO_LOCKS
    return frozenset([f"trace {relative(trace_path(spec), project.here)}"])


def _may_fix_ports(spec: Path) -> bool:
    """Whether a spec may name a port. To load all specs of a large suite would keep its first flow
    waiting for seconds, and a key of YAML stands there as it is, unless it is escaped."""
    try:
        with spec.open("rb") as file:
            text = file.read(_SMALL)
    except OSError:
        return True  # loading says what is wrong with it
    return len(text) == _SMALL or b"port" in text or b"\\" in text


def fixed_ports(job: FlowJob) -> tuple[int, ...]:
    """The loopback ports that a flow's spec names itself."""
    ports = (job.spec.agent.proxy_port, *(server.port for server in job.spec.mcp))
    return tuple(port for port in ports if port)


def graph_of(planned: Sequence[PlannedFlow]) -> Graph:
    """The graph of a run: a task per flow, and for each suite with commands one before and one
    after its flows.

    :raises GraphError: if flows wait for each other.
    """
    known = {one.id for one in planned}
    members: dict[str, list[str]] = {}
    for one in planned:
        if one.suite is not None:
            members.setdefault(one.suite, []).append(one.id)
    nodes = [TaskNode(f"before_all {folder}", BEFORE_ALL, item=folder) for folder in members]
    for one in planned:
        first = [] if one.suite is None else [f"before_all {one.suite}"]
        waits_for = (need for need in (*one.needs, *one.after) if need in known and need != one.id)
        nodes.append(TaskNode(one.id, FLOW, tuple(dict.fromkeys((*first, *waits_for)))))
    nodes += [
        TaskNode(
            f"after_all {folder}", AFTER_ALL, (f"before_all {folder}", *flows), True, None, folder
        )
        for folder, flows in members.items()
    ]
    return Graph.of(nodes)
