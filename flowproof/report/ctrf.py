"""The run record in the Common Test Report Format, for dashboards and bots that read that.

One JSON file, written flow by flow. `junit` says the same to those that read XML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

from flowproof.model.clock import instant
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.outcome import AssertionResult, Failed, Passed, Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord, RunRecord
from flowproof.model.web_address import web_address
from flowproof.report.evidence_flow import milliseconds, name
from flowproof.report.text import bounded, readable, without_colours
from flowproof.report.words import exit_means, headline
from flowproof.version import __version__

FILE_NAME = "ctrf-report.json"
VERSION = "0.2.0"
"""The version of the format."""

Status: TypeAlias = Literal["passed", "failed", "skipped"]

_STATUSES = ("passed", "failed", "skipped", "pending", "other")
_MESSAGE = 4_000
_TRACE = 16_000
_LINES = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TESTS = '"tests": []'


def render(record: RunRecord) -> Iterable[tuple[str, Iterator[str]]]:
    """The report of kind `ctrf`: one JSON file."""
    return [(FILE_NAME, pieces(record))]


def pieces(record: RunRecord) -> Iterator[str]:
    """The text of the report, test by test.

    What went wrong beside the flows is a test of its own, and so is a red run in which no flow
    is red: who reads only this file must see red where the exit code is.
    """
    beside = _beside(record)
    before, after = write(_report(record, len(beside)), indent=2).split(_TESTS)
    yield f"{before}{_TESTS[:-1]}"
    comma = ""
    for test in chain((_test(flow, record.suite) for flow in record.flows), beside):
        shown = write(test, indent=2).replace("\n", "\n      ")
        yield f"{comma}\n      {shown}"
        comma = ","
    yield f"\n    ]{after}\n" if comma else f"]{after}\n"


def status(verdict: Verdict) -> Status:
    """What a verdict is in this format, which knows no test that could not be judged: what must
    not look green is `failed`. `rawStatus` has the verdict itself."""
    if verdict is Verdict.SKIPPED:
        return "skipped"
    return "passed" if verdict.green else "failed"


def _report(record: RunRecord, beside: int) -> JsonObject:
    """The report without its tests."""
    report: JsonObject = {
        "reportFormat": "CTRF",
        "specVersion": VERSION,
        "reportId": _uuid(record.id),
        "runId": name(record.id) or "run",
        "generatedBy": f"flowproof {__version__}",
        "results": {
            "tool": {"name": "flowproof", "version": name(record.flowproof)},
            "summary": _summary(record, beside),
            "tests": [],
            "environment": _environment(record),
        },
    }
    started = instant(record.started)
    if started is not None:
        report["timestamp"] = record.started
    return report


def _summary(record: RunRecord, beside: int) -> JsonObject:
    counts: Counter[str] = Counter()
    for verdict, count in record.counts().items():
        counts[status(verdict)] += count
    counts["failed"] += beside
    start = _epoch(record.started)
    took = max(0, milliseconds(record.duration))
    numbers: JsonObject = {one: counts[one] for one in _STATUSES}
    return {
        "tests": counts.total(),
        **numbers,
        "flaky": record.counts()[Verdict.FLAKY],
        "suites": 1,
        "start": start,
        "stop": start + took,
        "duration": took,
        "extra": {
            "exitCode": int(record.exit_code),
            "partial": record.partial,
            "result": _text(headline(record)),
        },
    }


def _environment(record: RunRecord) -> JsonObject:
    found: JsonObject = {
        "reportName": f"flowproof {name(record.command)}",
        "appName": name(record.suite),
        "healthy": not record.exit_code,
        "testEnvironment": record.phase,
    }
    source, origin = record.source, record.origin
    told = {
        "buildUrl": web_address(origin.url) if origin else "",
        "repositoryUrl": source.repository if source else "",
        "commit": source.commit if source else "",
        "branchName": source.branch if source else "",
        "osPlatform": origin.system if origin else record.platform,
        "osRelease": origin.kernel if origin else "",
    }
    found |= {key: name(value) for key, value in told.items() if value}
    found["extra"] = {
        "host": name(record.host),
        "python": name(record.python),
        "changed": source.changed if source else None,
    }
    return found


def _test(flow: FlowRecord, suite: str) -> JsonObject:
    made: JsonObject = {
        "name": _named(flow.name or flow.path),
        "status": status(flow.verdict),
        "rawStatus": flow.verdict.value,
        "duration": max(0, milliseconds(flow.duration)),
        "suite": [_named(suite), *map(name, PurePosixPath(flow.path).parent.parts)],
        "filePath": name(flow.path),
        "line": flow.line,
        "tags": [name(tag) for tag in flow.tags],
        "labels": _labels(flow),
        "steps": [_step(one) for one in flow.assertions],
        "flaky": flow.verdict is Verdict.FLAKY,
        "retries": len(flow.attempts),
    }
    if flow.started and (start := _epoch(flow.started)):
        made |= {"start": start, "stop": start + max(0, milliseconds(flow.duration))}
    if flow.attempts:
        made["retryAttempts"] = [_attempt(at, one) for at, one in enumerate(flow.attempts, 1)]
    if flow.slot:
        made["threadId"] = f"{name(flow.host)} {flow.slot}".strip()
    if flow.reason:
        made["message"] = _text(flow.reason)
    if flow.trace is not None:
        made["attachments"] = [
            {"name": "trace", "contentType": "application/json", "path": name(flow.trace.path)}
        ]
    return made if flow.verdict.green else made | _diagnosis(flow)


def _diagnosis(flow: FlowRecord) -> JsonObject:
    """What a person needs to see why a flow is not green."""
    made: JsonObject = {}
    if flow.divergence is not None:
        made["trace"] = _text(str(flow.divergence), _TRACE)
    if flow.agent is not None:
        made["stdout"] = _lines(flow.agent.stdout.tail)
        made["stderr"] = _lines(flow.agent.stderr.tail)
    return made


def _labels(flow: FlowRecord) -> JsonObject:
    labels: JsonObject = {"phase": flow.phase, "containment": name(flow.containment)}
    if flow.control is not None:
        labels["control"] = name(flow.control.id)
        if flow.control.references:
            labels["references"] = [name(one) for one in flow.control.references]
    return labels


def _step(result: AssertionResult) -> JsonObject:
    match result.outcome:
        case Passed():
            end = "passed"
        case Failed():
            end = "failed"
        case _:
            end = "other"
    return {"name": _named(result.source), "status": end}


def _attempt(number: int, one: AttemptRecord) -> JsonObject:
    made: JsonObject = {
        "attempt": number,
        "status": status(one.verdict),
        "duration": max(0, milliseconds(one.duration)),
    }
    return made | {"message": _text(one.reason)} if one.reason else made


def _beside(record: RunRecord) -> list[JsonObject]:
    """Tests for what made the run red and is no flow."""
    said = [_text(error) for error in record.errors]
    green = all(verdict.green for verdict, count in record.counts().items() if count)
    if record.exit_code and green and not said:
        said = [_text(f"{headline(record)} (exit {int(record.exit_code)}: {exit_means(record)})")]
    return [
        {
            "name": f"(suite, not a flow) {number}",
            "status": "failed",
            "rawStatus": "error",
            "duration": 0,
            "suite": [_named(record.suite)],
            "message": text,
        }
        for number, text in enumerate(said, 1)
    ]


def _uuid(id: str) -> str:
    """One that is always the same for a run, so that a report made again is the same report."""
    from uuid import NAMESPACE_URL, uuid5

    return str(uuid5(NAMESPACE_URL, f"flowproof:{name(id)}"))


def _epoch(moment: str) -> int:
    """Milliseconds since 1970; 0 for what is no time."""
    found = instant(moment)
    return 0 if found is None else max(0, int((found - _EPOCH).total_seconds()) * 1000)


def _named(text: str) -> str:
    return _text(text) or "(no name)"


def _text(text: str, limit: int = _MESSAGE) -> str:
    return bounded(readable(without_colours(text)), limit)


def _lines(text: str) -> list[JsonValue]:
    return list(_text(text).splitlines()[-_LINES:])
