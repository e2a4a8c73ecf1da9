"""The record of a flow says what happened, whichever task it ended in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowproof.errors import (
    CapabilityError,
    ExitCode,
    PortTaken,
    StaleTrace,
    TraceCorrupt,
    TraceMissing,
    UsageError,
)
from flowproof.flow.report import Ends, report, skipped
from flowproof.graph.result import TaskEnd
from flowproof.model.outcome import Verdict
from flowproof.model.task_state import TaskState
from tests.flow.support import SPEC, asking, ended, job, saying, trace, turn

SINCE = "2026-11-30T09:00:00Z"


def failed(error: BaseException) -> TaskEnd:
    return TaskEnd(TaskState.FAILED, error=error, cause=str(error))


@pytest.mark.parametrize(
    ("error", "verdict", "code", "reason"),
    [
        pytest.param(
            TraceMissing("a.trace.json", "a.flow.yaml"),
            Verdict.ERROR,
            ExitCode.AUTHOR_ERROR,
            "no trace at a.trace.json",
            id="the author",
        ),
        pytest.param(UsageError("no"), Verdict.ERROR, ExitCode.AUTHOR_ERROR, "no", id="usage"),
        pytest.param(PortTaken("46"), Verdict.ERROR, ExitCode.WORLD_ERROR, "46", id="the world"),
        pytest.param(
            CapabilityError("not built"),
            Verdict.CAPABILITY_ERROR,
            ExitCode.WORLD_ERROR,
            "not built",
            id="a capability",
        ),
        pytest.param(
            KeyError("x"),
            Verdict.ERROR,
            ExitCode.INTERNAL,
            "internal error: KeyError: 'x' (run again with --debug)",
            id="ourselves",
        ),
        pytest.param(
            ExceptionGroup("g", [UsageError("inside")]),
            Verdict.ERROR,
            ExitCode.AUTHOR_ERROR,
            "inside",
            id="alone in a group",
        ),
    ],
)
def test_an_error_decides(
    tmp_path: Path, error: BaseException, verdict: Verdict, code: ExitCode, reason: str
) -> None:
    made = report(job(tmp_path), Ends({"read_trace": failed(error)}), SINCE, debug=False)
    assert (made.verdict, made.exit_code) == (verdict, code)
    assert made.reason.startswith(reason)
    assert "Traceback" not in made.reason


def test_the_first_error_decides() -> None:
    ends = Ends({"a": failed(UsageError("first")), "b": failed(PortTaken("second"))})
    assert str(ends.error()) == "first"


def test_with_debug_an_internal_error_has_its_traceback(tmp_path: Path) -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        ends = Ends({"check": failed(error)})
    told = report(job(tmp_path), ends, SINCE, debug=True).reason
    assert "Traceback" in told
    assert "test_report.py" in told


def test_without_any_end_it_was_interrupted(tmp_path: Path) -> None:
    made = report(job(tmp_path), Ends({}), SINCE, debug=False)
    assert (made.verdict, made.exit_code) == (Verdict.ERROR, ExitCode.INTERRUPTED)


def test_what_is_known_is_told_whatever_failed(tmp_path: Path) -> None:
    spec = SPEC.replace("app: agent", "tags: [a, b]\ndescription: Greets.")
    made = job(tmp_path, spec, turn(asking("Say hello"), saying("Hello")))
    ends = Ends(
        {
            "read_trace": TaskEnd(
                TaskState.DONE, trace(turn(asking("Say hello"), saying("Hello")))
            ),
            "launch_agent": TaskEnd(TaskState.DONE, ended(3)),
            "collect_lanes": failed(RuntimeError("lost")),
        }
    )
    record = report(made, ends, SINCE, debug=False)
    assert (record.name, record.path, record.line) == ("Greeter", "a.flow.yaml", 1)
    assert (record.tags, record.description) == (("a", "b"), "Greets.")
    assert (record.driver, record.command, record.started) == ("command", "greet", SINCE)
    assert record.agent == ended(3)
    assert record.trace is not None
    assert record.trace.path == "a.trace.json"
    assert record.spec is not None
    assert len(record.spec.sha256) == len(record.trace.sha256) == 64


def test_a_trace_that_was_not_read_is_not_looked_at(tmp_path: Path) -> None:
    made = job(tmp_path)
    os.mkfifo(made.trace_path)
    corrupt = Ends({"read_trace": failed(TraceCorrupt("a.trace.json", "a pipe"))})
    assert report(made, corrupt, SINCE, debug=False).trace is None


def test_a_trace_that_is_stale_was_read(tmp_path: Path) -> None:
    made = job(tmp_path, SPEC, turn(asking("Say hello"), saying("Hello")))
    stale = Ends({"read_trace": failed(StaleTrace("mocks"))})
    assert report(made, stale, SINCE, debug=False).trace is not None


def test_a_recording_that_failed_names_no_trace(tmp_path: Path) -> None:
    made = job(tmp_path, SPEC, turn(asking("x"), saying("Hello")), phase="record")
    ends = Ends({"check": failed(UsageError("no"))})
    assert report(made, ends, SINCE, debug=False).trace is None


def test_a_skipped_flow_is_green_and_says_why(tmp_path: Path) -> None:
    record = skipped(job(tmp_path), SINCE, "not today")
    assert (record.verdict, record.exit_code, record.reason) == (
        Verdict.SKIPPED,
        ExitCode.PASSED,
        "not today",
    )
