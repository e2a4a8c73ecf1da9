"""The records of flows that did not run, and the one of the run that all of them make."""

from __future__ import annotations

import dataclasses
import platform
import socket
import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from flowproof.errors import CapabilityError, ExitCode, FlowproofError, TraceMissing
from flowproof.files import exhaustion, remedy, system_error
from flowproof.flow.job import FlowJob, relative
from flowproof.model.flow_spec import FlowSpec
from flowproof.model.origin import Origin, Population, Source
from flowproof.model.outcome import Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import (
    FileDigest,
    FlowRecord,
    RunRecord,
    TaskRecord,
    combined_exit_code,
)
from flowproof.spec.readable_name import readable_name
from flowproof.suite.attempts import with_attempts
from flowproof.suite.discover import SUFFIX
from flowproof.suite.project import Project
from flowproof.suite.running import Running
from flowproof.version import __version__


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What identifies a run, and what is known of it beside its flows, as in `RunRecord`.
    `started` is RFC 3339 in UTC."""

    id: str
    suite: str
    command: str
    phase: Phase
    started: str
    partial: bool
    slots: int = 1
    tasks: tuple[TaskRecord, ...] = ()
    inputs: tuple[FileDigest, ...] = ()
    origin: Origin | None = None
    source: Source | None = None
    population: Population | None = None


def run_record(
    facts: RunFacts,
    flows: Sequence[FlowRecord],
    duration: float,
    *,
    interrupted: bool,
    allow_empty: bool,
    fail_on_flaky: bool = False,
    warnings: tuple[str, ...] = (),
    errors: tuple[str, ...] = (),
) -> RunRecord:
    """Everything a run left to say; `duration` in seconds. A run in which no flow ran has the
    exit code for that, unless `allow_empty`."""
    ends = {(flow.verdict, flow.exit_code) for flow in flows}
    exit_code = _exit_code(ends, interrupted=interrupted, allow_empty=allow_empty)
    if fail_on_flaky and any(verdict is Verdict.FLAKY for verdict, _ in ends):
        exit_code = combined_exit_code((exit_code, ExitCode.FLOW_FAILED))
    if errors:
        exit_code = combined_exit_code((exit_code, ExitCode.WORLD_ERROR))
    return RunRecord(
        id=facts.id,
        suite=facts.suite,
        command=facts.command,
        phase=facts.phase,
        started=facts.started,
        duration=duration,
        flowproof=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        host=socket.gethostname(),
        partial=facts.partial,
        exit_code=exit_code,
        flows=flows,
        warnings=warnings,
        errors=errors,
        slots=facts.slots,
        tasks=facts.tasks,
        inputs=facts.inputs,
        origin=facts.origin,
        source=facts.source,
        population=facts.population,
    )


def _exit_code(
    ends: Set[tuple[Verdict, ExitCode]], *, interrupted: bool, allow_empty: bool
) -> ExitCode:
    if interrupted:
        return ExitCode.INTERRUPTED
    ran = tuple(exit_code for verdict, exit_code in ends if verdict is not Verdict.SKIPPED)
    return ExitCode.PASSED if allow_empty and not ran else combined_exit_code(ran)


def unreadable(spec: Path, project: Project, error: FlowproofError) -> FlowRecord:
    """A flow whose spec or suite cannot be used."""
    if (lacking := exhaustion(error)) is not None:
        reason = f"{error}{remedy(lacking.errno)}"
        return _unrun(spec, project, Verdict.ERROR, ExitCode.WORLD_ERROR, reason)
    verdict = Verdict.CAPABILITY_ERROR if isinstance(error, CapabilityError) else Verdict.ERROR
    reason = str(error)
    if of_its_suite(spec, project, error):
        reason = f"{reason.partition(_BREAK)[0]}\nall of it is told once, beside the flows"
    return _unrun(spec, project, verdict, error.exit_code, reason)


_BREAK = "\n"


def of_its_suite(spec: Path, project: Project, error: FlowproofError) -> str:
    """All of an error of several lines that is about the suite.yaml of a flow, and so the same
    for all its flows; empty for any other."""
    text = str(error)
    try:
        file = project.suite_file(spec.parent)
    except FlowproofError:
        return ""
    if file is None or not text.startswith(f"{relative(file, project.here)}:"):
        return ""
    return text if _BREAK in text else ""


def starved(spec: Path, project: Project, error: BaseException) -> FlowRecord:
    """A flow that could not be run since the system had nothing left of what that takes.

    :raises Exception: the error itself, if it is of another kind: our own code failed.
    """
    lacking = exhaustion(error)
    if lacking is None:
        raise error
    return kept_from_running(spec, project, f"{system_error(lacking)}{remedy(lacking.errno)}")


def untraced(job: FlowJob, project: Project) -> FlowRecord:
    """A flow of a suite that was never recorded: skipped, or an error if it is to be strict."""
    missing = TraceMissing(job.shown_trace, job.shown_path)
    verdict, code = Verdict.SKIPPED, ExitCode.PASSED
    if job.strict:
        verdict, code = Verdict.ERROR, missing.exit_code
    return _named(_unrun(job.spec_path, project, verdict, code, str(missing)), job.spec)


class Cut(Enum):
    """What ended a run before all of its flows had."""

    INTERRUPT = ExitCode.INTERRUPTED, "interrupted", "the run was interrupted before it began"
    GLOBAL_TIMEOUT = (
        ExitCode.WORLD_ERROR,
        "cut off by the time limit of the whole run",
        "the time limit of the whole run passed before it began",
    )

    def __init__(self, exit_code: ExitCode, running: str, waiting: str) -> None:
        self.exit_code = exit_code
        self.running = running
        self.waiting = waiting


def cut_off(spec: Path, project: Project, cut: Cut, running: Running | None) -> FlowRecord:
    """A flow that was ended while it was `running`, with what it had left by then; None: it was
    kept from beginning."""
    if running is None:
        return not_run(spec, project, cut.waiting)
    reason = f"{cut.running} while it ran"
    record = running.record
    if record is None:
        record = _read(_unrun(spec, project, Verdict.ERROR, cut.exit_code, reason), project)
        record = dataclasses.replace(record, started=running.started, duration=running.duration)
    elif record.verdict is Verdict.FAIL:
        # What the agent got wrong was known by then, and stays the verdict.
        record = dataclasses.replace(record, reason=f"{record.reason}\n{reason}")
    else:
        record = dataclasses.replace(
            record, verdict=Verdict.ERROR, exit_code=cut.exit_code, reason=reason
        )
    record = dataclasses.replace(record, slot=running.slot)
    return with_attempts(record, running.earlier)


def kept_from_running(spec: Path, project: Project, reason: str) -> FlowRecord:
    """A flow that could not begin because of what failed around it."""
    record = _unrun(spec, project, Verdict.ERROR, ExitCode.WORLD_ERROR, reason)
    return _read(record, project)


def not_run(spec: Path, project: Project, reason: str) -> FlowRecord:
    """A flow that does not run, because of what became of others or of the run."""
    return _read(_unrun(spec, project, Verdict.SKIPPED, ExitCode.PASSED, reason), project)


def _read(record: FlowRecord, project: Project) -> FlowRecord:
    """With what its spec says of it, where that can be read."""
    try:
        return _named(record, project.job(project.here / record.path).spec)
    except FlowproofError:
        return record


def _named(record: FlowRecord, spec: FlowSpec) -> FlowRecord:
    """With what the spec says of the flow, whose path alone was known."""
    return dataclasses.replace(
        record,
        name=spec.name,
        line=spec.position.line,
        tags=spec.tags,
        control=spec.control,
        description=spec.description or "",
    )


def _unrun(
    spec: Path, project: Project, verdict: Verdict, exit_code: ExitCode, reason: str
) -> FlowRecord:
    return FlowRecord(
        name=readable_name(spec) or spec.name.removesuffix(SUFFIX),
        path=relative(spec, project.here),
        line=1,
        phase=project.options.phase,
        verdict=verdict,
        exit_code=exit_code,
        duration=0.0,
        reason=reason,
    )
