"""The last task of a flow, which always runs: says what happened, whatever did."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Mapping
from dataclasses import dataclass

from flowproof.errors import CapabilityError, ExitCode, FlowproofError, StaleTrace
from flowproof.files import exhaustion, remedy, system_error
from flowproof.flow.answered import answering, recording_of
from flowproof.flow.boundary import Lanes
from flowproof.flow.check import Checked, NotGreen
from flowproof.flow.job import FlowJob
from flowproof.flow.judge import Judgement
from flowproof.flow.resolve_env import Prepared
from flowproof.graph.result import TaskEnd, sole
from flowproof.model.agent_exit import AgentExit
from flowproof.model.mcp_record import McpRecord
from flowproof.model.origin import Recording
from flowproof.model.outcome import Divergence, Verdict
from flowproof.model.run_record import FileDigest, FlowRecord
from flowproof.model.task_state import TaskState
from flowproof.model.traffic import ModelTraffic
from flowproof.model.trajectory import Trajectory
from flowproof.trace.document import Trace
from flowproof.trace.file import sha256_file


@dataclass(frozen=True, slots=True)
class Ends:
    """How the tasks of a flow ended so far, by id."""

    tasks: Mapping[str, TaskEnd]

    def value(self, *ids: str) -> object:
        """The value of the first of these tasks that ended well."""
        for id in ids:
            end = self.tasks.get(id)
            if end is not None and end.state is TaskState.DONE:
                return end.value
        return None

    def error(self) -> BaseException | None:
        """The error of the task that failed first."""
        for end in self.tasks.values():
            if end.state is TaskState.FAILED and end.error is not None:
                return sole(end.error)
        return None


def report(job: FlowJob, ends: Ends, started: str, *, debug: bool) -> FlowRecord:
    """The record of one flow, but for the times of its tasks and its own duration."""
    error = ends.error()
    checked = error.checked if isinstance(error, NotGreen) else ends.value("check")
    lanes, ended = ends.value("collect_lanes"), ends.value("launch_agent")
    prepared, trace = ends.value("resolve_env"), ends.value("read_trace")
    judged = checked if isinstance(checked, Checked) else None
    if isinstance(error, NotGreen) or error is None:
        judgement = judged.judgement if judged else _unfinished()
    else:
        judgement = _of_error(error, debug=debug)
    spec = job.spec
    return FlowRecord(
        name=spec.name,
        path=job.shown_path,
        line=spec.position.line,
        phase=job.phase,
        verdict=judgement.verdict,
        exit_code=judgement.exit_code,
        duration=0.0,
        reason=judgement.reason,
        started=started,
        driver=spec.agent.driver,
        command=spec.agent.command or spec.agent.url or spec.agent.endpoint or "",
        tags=spec.tags,
        description=spec.description or "",
        control=spec.control,
        spec=FileDigest(job.shown_path, spec.sha256),
        trace=_trace_digest(job) if _has_trace(job, ends, judgement) else None,
        assertions=judged.results if judged else (),
        divergence=first_divergence(lanes) if isinstance(lanes, Lanes) else None,
        warnings=_warnings(prepared, trace, judged),
        traffic=lanes.traffic if isinstance(lanes, Lanes) else ModelTraffic(),
        agent=ended if isinstance(ended, AgentExit) else None,
        trajectory=judged.trajectory if judged else Trajectory(()),
        recording=_recording(ends.value("read_trace", "write_trace"), lanes),
        mcp=servers_of(lanes, judged.trajectory if judged else Trajectory(())),
    )


def _recording(trace: object, lanes: object) -> Recording | None:
    """Where the answers came from; of a recording that was not kept, only who gave them."""
    if isinstance(trace, Trace):
        return recording_of(trace)
    return Recording(models=answering(lanes.turns)) if isinstance(lanes, Lanes) else None


def first_divergence(lanes: Lanes) -> Divergence | None:
    """The first divergence. One at an MCP server is told to the model next, so that what the
    model boundary then sees differs too."""
    for one in lanes.mcp:
        if one.divergence is not None:
            return dataclasses.replace(one.divergence, server=one.server)
    return lanes.divergence


def servers_of(lanes: object, trajectory: Trajectory) -> tuple[McpRecord, ...]:
    """The records of a flow's MCP servers."""
    if not isinstance(lanes, Lanes) or not lanes.mcp:
        return ()
    from flowproof.flow.mcp_record import mcp_records

    return mcp_records(lanes.mcp, trajectory)


def _warnings(prepared: object, trace: object, judged: Checked | None) -> tuple[str, ...]:
    """What deserves a look although it decides nothing, in the order in which it came up."""
    found = list(prepared.warnings) if isinstance(prepared, Prepared) else []
    if isinstance(trace, Trace) and trace.pins == "legacy":
        found.append(
            "this trace was recorded by flowproof 0.23 and pins only model, tool names, roles, "
            "texts and tool calls; record it again to pin the whole request"
        )
    return (*found, *(judged.warnings if judged else ()))


def skipped(job: FlowJob, started: str, reason: str) -> FlowRecord:
    """The record of a flow that is not run at all."""
    record = report(job, Ends({}), started, debug=False)
    verdict = Verdict.SKIPPED
    return dataclasses.replace(
        record, verdict=verdict, exit_code=ExitCode.PASSED, reason=reason, trace=None
    )


def _unfinished() -> Judgement:
    return Judgement(Verdict.ERROR, ExitCode.INTERRUPTED, "the run was interrupted")


def _of_error(error: BaseException, *, debug: bool) -> Judgement:
    if not debug and (lacking := exhaustion(error)) is not None:
        text = str(error) if isinstance(error, FlowproofError) else system_error(lacking)
        reason = f"{text}{remedy(lacking.errno)}"
        return Judgement(Verdict.ERROR, ExitCode.WORLD_ERROR, reason)
    if isinstance(error, CapabilityError):
        return Judgement(Verdict.CAPABILITY_ERROR, error.exit_code, str(error))
    if isinstance(error, FlowproofError):
        return Judgement(Verdict.ERROR, error.exit_code, str(error))
    told = (
        "".join(traceback.format_exception(error))
        if debug
        else f"internal error: {type(error).__name__}: {error} (run again with --debug)"
    )
    return Judgement(Verdict.ERROR, ExitCode.INTERNAL, told)


def _has_trace(job: FlowJob, ends: Ends, judgement: Judgement) -> bool:
    """Whether this run read the trace, or wrote it. What was not read may be anything."""
    if job.phase == "record":
        return judgement.verdict.green and ends.value("write_trace") is not None
    return isinstance(ends.value("read_trace"), Trace) or isinstance(ends.error(), StaleTrace)


def _trace_digest(job: FlowJob) -> FileDigest | None:
    try:
        return FileDigest(job.shown_trace, sha256_file(job.trace_path))
    except OSError:
        return None
