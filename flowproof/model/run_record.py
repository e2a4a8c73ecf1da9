"""The run record: the one source of every report. Renderers are pure functions of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from flowproof.errors import ExitCode
from flowproof.model.flow_spec import Control
from flowproof.model.outcome import AssertionResult, Divergence, Verdict
from flowproof.model.trajectory import Trajectory

Phase: TypeAlias = Literal["record", "replay"]


class TaskState(StrEnum):
    """How a task of the graph ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task of a flow's graph. `started` and `duration` are in seconds, `started` from the
    start of the flow; both are None for a task that never ran. `cause` says why it did not end
    well: its own error, or the task that failed before it."""

    id: str
    state: TaskState
    started: float | None = None
    duration: float | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Captured:
    """What a process wrote to one stream, bounded: `text` is decoded with replacement, and has
    a line saying how much was left out where `total` (bytes) exceeds what was kept."""

    text: str
    total: int

    @property
    def tail(self) -> str:
        """The last twenty lines."""
        return "\n".join(self.text.splitlines()[-20:])


@dataclass(frozen=True, slots=True)
class AgentExit:
    """How the agent's process ended. `status` is its exit status, negative for a signal, None
    where it never started; `duration` is in seconds. `error` says why it never started."""

    status: int | None
    timed_out: bool
    duration: float
    stdout: Captured
    stderr: Captured
    error: str = ""
    survivors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unserved:
    """A request that no dialect serves, as it arrived, with how often."""

    method: str
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class ModelTraffic:
    """What the model boundary counted. `recorded` is the number of turns in the trace, `served`
    how many of them this run used, `retries_dropped` how many transient failures a recording
    left out."""

    requests: int = 0
    served: int = 0
    recorded: int = 0
    retries_dropped: int = 0
    unserved: tuple[Unserved, ...] = ()


@dataclass(frozen=True, slots=True)
class FileDigest:
    """A file named relative to the run's folder, with the SHA-256 of its bytes in hex."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FlowRecord:
    """One flow of a run. `path` is relative to the run's folder, `duration` in seconds.

    `reason` explains every verdict but a plain pass, in one paragraph that may have several
    lines. `exit_code` is what this flow alone would make the process return.
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


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything a run left to say. `started` is RFC 3339 in UTC, `duration` in seconds.

    `partial` marks a run with a selection: it cannot vouch for the whole suite.
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
    flows: tuple[FlowRecord, ...]
    warnings: tuple[str, ...] = ()

    def counts(self) -> Mapping[Verdict, int]:
        """How many flows ended in each verdict; every verdict is a key, and they add up."""
        return {verdict: sum(flow.verdict is verdict for flow in self.flows) for verdict in Verdict}


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
