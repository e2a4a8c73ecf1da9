"""Runs as evidence needs them: with all that an auditor asks, and with flows of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flowproof.errors import ExitCode
from flowproof.model.origin import Origin, Population, Source
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FileDigest, FlowRecord, RunRecord, TaskRecord
from flowproof.model.task_state import TaskState
from flowproof.report.write import Files
from tests.report.fixtures import flow_record, run_of, sample_run

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FIRST_TRY = AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 0.25, "it said no\nand left")


def flaky() -> FlowRecord:
    """A flow that passed when it was tried again."""
    return replace(
        flow_record("Sometimes"),
        path="smoke/sometimes.flow.yaml",
        verdict=Verdict.FLAKY,
        attempts=(FIRST_TRY,),
        slot=2,
        host="worker-3",
    )


def known_run(*flows: FlowRecord) -> RunRecord:
    """A run of which everything is known. Default: of every verdict but a skipped flow that ran."""
    run = run_of(*(flows or (*sample_run().flows[:6], flaky(), never_ran())))
    paths = {flow.path for flow in run.flows}
    return replace(
        run,
        slots=2,
        tasks=(TaskRecord("before_all", TaskState.DONE, 0.0, 0.1),),
        inputs=(FileDigest("uv.lock", "1c" * 32),),
        origin=Origin(
            actor="casey",
            trigger="push",
            ci="GitHub Actions",
            url="https://ci.example/runs/7",
            system="Linux",
            kernel="6.1.0",
            distribution="d1" * 32,
        ),
        source=Source("https://git.example/shop/agent", COMMIT, "main", changed=False),
        population=Population(
            len(paths) + 3, len(paths), (("--tag", "smoke and not slow"), ("-k", "x"))
        ),
    )


def never_ran() -> FlowRecord:
    """A flow that was skipped before anything of it ran."""
    return replace(
        flow_record("Payment in staging"),
        path="payment.flow.yaml",
        verdict=Verdict.SKIPPED,
        duration=0.0,
        reason="STAGING is not set",
        started="",
        trace=None,
        assertions=(),
        agent=None,
    )


def passing_run() -> RunRecord:
    """A complete run in which all is well."""
    return known_run(flow_record(), replace(flow_record("Second"), path="second.flow.yaml"))


def written(render: Callable[[RunRecord], Files], record: RunRecord) -> dict[str, bytes]:
    """The files of a report, each made in turn as a writer does."""
    made: dict[str, bytes] = {}
    for name, content in render(record):
        pieces = [content] if isinstance(content, bytes | str) else content
        made[name] = b"".join(one if isinstance(one, bytes) else one.encode() for one in pieces)
    return made


def value(data: bytes) -> Any:
    """What a JSON file holds."""
    return json.loads(data)
