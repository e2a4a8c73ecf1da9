"""The run record: the one source of every report. Renderers are pure functions of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Control
from flowproof.model.mcp_record import McpRecord
from flowproof.model.origin import Origin, Population, Recording, Source
from flowproof.model.outcome import AssertionResult, Divergence, Verdict
from flowproof.model.phase import Phase
from flowproof.model.task_state import TaskState
from flowproof.model.traffic import ModelTraffic
from flowproof.model.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task of a graph. `started` and `duration` are in seconds, `started` from the start of
    the flow or run whose graph it is; both are None for a task that never ran. `cause` says why
    it did not end well: its own error, or the task that failed before it. `needs` has the ids of
    the tasks that it waited for."""

    id: str
    state: TaskState
    started: float | None = None
    duration: float | None = None
    cause: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileDigest:
    """A file named relative to the run's folder, with the SHA-256 of its bytes in hex."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An earlier try of a flow that was tried again; `duration` is in seconds. `agent` is how its
    agent ended, with no more than the end of what that printed; None where none was started."""

    verdict: Verdict
    exit_code: ExitCode
    duration: float
    reason: str = ""
    agent: AgentExit | None = None


@dataclass(frozen=True, slots=True)
class FlowRecord:
    """One flow of a run. `path` is relative to the run's folder, `duration` in seconds.

    `reason` explains every verdict but a plain pass, in one paragraph that may have several
    lines. `exit_code` is what this flow alone would make the process return. `attempts` are the
    tries before this one, which the rest is about. `slot` is the number, from 1, of the one in
    which the flow ran among those that run at once; 0 if it did not run. `host` is the
    machine that ran it, empty where that is the run's.

    `id` is the flow's in the graph of the run, unique there; `needs` and `after` are the ids of
    flows that had to pass, or only to end, before it, and `locks` what no other flow used
    meanwhile. `offset` is when it began, in seconds from the start of the run; None if it did
    not. `usual` is how many seconds it took when the whole suite last ran. `inputs` are files
    beside spec and trace that decide what it does: its suite.yaml, and what the agent's command
    names. `recording` says which models answered and when; None where no answer was at hand.
    `mcp` is what crossed the boundary to each MCP server, in the order of the spec.
    """

    name: str
    path: str
    line: int
    phase: Phase
    verdict: Verdict
    exit_code: ExitCode
    duration: float
    reason: str = ""
    started: str = ""
    driver: str = ""
    command: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    control: Control | None = None
    containment: str = "not contained"
    spec: FileDigest | None = None
    trace: FileDigest | None = None
    assertions: tuple[AssertionResult, ...] = ()
    divergence: Divergence | None = None
    warnings: tuple[str, ...] = ()
    traffic: ModelTraffic = field(default_factory=ModelTraffic)
    agent: AgentExit | None = None
    trajectory: Trajectory = field(default_factory=lambda: Trajectory(()))
    tasks: tuple[TaskRecord, ...] = ()
    environment: tuple[str, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    slot: int = 0
    host: str = ""
    id: str = ""
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    offset: float | None = None
    usual: float | None = None
    inputs: tuple[FileDigest, ...] = ()
    recording: Recording | None = None
    mcp: tuple[McpRecord, ...] = ()


_ENDS: Mapping[Verdict, frozenset[ExitCode]] = {
    Verdict.FAIL: frozenset({ExitCode.FLOW_FAILED}),
    Verdict.CAPABILITY_ERROR: frozenset({ExitCode.WORLD_ERROR}),
    Verdict.ERROR: frozenset(
        {
            ExitCode.AUTHOR_ERROR,
            ExitCode.INTERNAL,
            ExitCode.WORLD_ERROR,
            ExitCode.INTERRUPTED,
        }
    ),
}


def contradiction(record: FlowRecord) -> str:
    """What a record that came from elsewhere says against itself: a verdict of the flow, or of
    one of its attempts, with an exit code that it never has. Empty where there is nothing."""
    tries = ((one.verdict, one.exit_code) for one in record.attempts)
    for verdict, code in ((record.verdict, record.exit_code), *tries):
        if code not in _ENDS.get(verdict, {ExitCode.PASSED}):
            return f"the verdict {verdict.value} with exit code {code.value}"
    return ""


class LazyFlows(Sequence[FlowRecord]):
    """Flows that are read when they are asked for, each time anew: those of a large run together
    may be larger than memory. Their `verdicts` are known without; `read` takes a place in the
    order. It is not compared by what it holds."""

    def __init__(self, verdicts: Sequence[Verdict], read: Callable[[int], FlowRecord]) -> None:
        self.verdicts = verdicts
        self._read = read

    def __len__(self) -> int:
        return len(self.verdicts)

    @overload
    def __getitem__(self, at: int) -> FlowRecord: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[FlowRecord, ...]: ...

    def __getitem__(self, at: int | slice) -> FlowRecord | tuple[FlowRecord, ...]:
        places = range(len(self))[at]
        return self._read(places) if isinstance(places, int) else tuple(map(self._read, places))


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything a run left to say. `started` is RFC 3339 in UTC, `duration` in seconds.

    `partial` marks a run with a selection: it cannot vouch for the whole suite. `errors` are what
    went wrong beside the flows, such as in a hook after them. `flows` are a tuple, or `LazyFlows`:
    who goes through them should need one at a time.

    `slots` flows could run at once. `tasks` are those of the run's graph beside its flows:
    commands before and after all of them. `inputs` are files that decide for all flows what they
    run with, such as lock files of dependencies. `origin`, `source` and `population` are None
    where nobody looked, `source` also outside a repository.
    """

    id: str
    suite: str
    command: str
    phase: Phase
    started: str
    duration: float
    flowproof: str
    python: str
    platform: str
    host: str
    partial: bool
    exit_code: ExitCode
    flows: Sequence[FlowRecord]
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    slots: int = 1
    tasks: tuple[TaskRecord, ...] = ()
    inputs: tuple[FileDigest, ...] = ()
    origin: Origin | None = None
    source: Source | None = None
    population: Population | None = None

    def counts(self) -> Mapping[Verdict, int]:
        """How many flows ended in each verdict; every verdict is a key, and they add up."""
        flows = self.flows
        known = flows.verdicts if isinstance(flows, LazyFlows) else None
        found = Counter((flow.verdict for flow in flows) if known is None else known)
        return {verdict: found[verdict] for verdict in Verdict}


def combined_exit_code(codes: tuple[ExitCode, ...]) -> ExitCode:
    """The exit code of several flows together: 130, then 3, 2, 1, 4; 5 where none ran."""
    for code in (
        ExitCode.INTERRUPTED,
        ExitCode.INTERNAL,
        ExitCode.AUTHOR_ERROR,
        ExitCode.FLOW_FAILED,
        ExitCode.WORLD_ERROR,
    ):
        if code in codes:
            return code
    return ExitCode.PASSED if codes else ExitCode.NOTHING_RAN
