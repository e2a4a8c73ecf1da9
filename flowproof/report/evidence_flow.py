"""One flow as evidence: what was asked of it, what came of it, and by which files.

`evidence` chains the entries and puts the rest of the file around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from flowproof.model.flow_spec import Control
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp_record import McpRecord
from flowproof.model.outcome import AssertionResult, Failed, Passed, Uncertifiable, Unjudged
from flowproof.model.run_record import AttemptRecord, FileDigest, FlowRecord
from flowproof.report.mcp_words import failed_calls
from flowproof.report.text import bounded, readable, without_colours
from flowproof.report.words import outcome_says

TEXT_LIMIT = 4_000
"""How many bytes of a text that an agent or a model had a hand in are kept."""

_LONE = re.compile("[\ud800-\udfff]")
_LONGEST_MS = 10**12


def entry(flow: FlowRecord, host: str) -> JsonObject:
    """The entry of a flow, without its link of the chain. `host` is that of the run.

    Durations are whole milliseconds, and no text holds a lone surrogate: every reader of JSON
    makes the same bytes of it.
    """
    return {
        "agent": _agent(flow),
        "assertions": [_assertion(one) for one in flow.assertions],
        "attempts": _attempts(flow),
        "command": name(flow.command),
        "containment": name(flow.containment),
        "control": control(flow.control),
        "description": text(flow.description),
        "divergence": _divergence(flow),
        "driver": name(flow.driver),
        "duration_ms": milliseconds(flow.duration),
        "environment": names(flow.environment),
        "exit_code": int(flow.exit_code),
        "host": name(flow.host or host),
        "id": name(flow.id),
        "inputs": digests(flow.inputs),
        "line": flow.line,
        "mcp": [_lane(one) for one in flow.mcp],
        "name": name(flow.name),
        "path": name(flow.path),
        "phase": flow.phase,
        "reason": text(flow.reason),
        "recording": _recording(flow),
        "spec": digest(flow.spec),
        "started": name(flow.started) or None,
        "tags": names(flow.tags),
        "trace": digest(flow.trace),
        "traffic": {
            "recorded": flow.traffic.recorded,
            "requests": flow.traffic.requests,
            "retries_dropped": flow.traffic.retries_dropped,
            "served": flow.traffic.served,
            "side_calls": flow.traffic.side_calls,
        },
        "verdict": flow.verdict.value,
        "warnings": [text(warning) for warning in flow.warnings],
    }


def began(flow: FlowRecord) -> bool:
    """Whether anything of a flow was run, and not only read."""
    return flow.offset is not None or bool(flow.started)


def control(found: Control | None) -> JsonObject | None:
    """A control as evidence names it."""
    if found is None:
        return None
    return {
        "description": text(found.description) if found.description is not None else None,
        "id": name(found.id),
        "owner": name(found.owner) if found.owner is not None else None,
        "references": names(found.references),
        "title": name(found.title) if found.title is not None else None,
    }


def digest(file: FileDigest | None) -> JsonObject | None:
    """A file with its digest; None where there was none."""
    return None if file is None else {"path": name(file.path), "sha256": name(file.sha256)}


def digests(files: Iterable[FileDigest]) -> list[JsonValue]:
    """Several files with their digests."""
    return [digest(file) for file in files]


def milliseconds(seconds: float) -> int:
    """A duration in whole milliseconds; one that no run takes is cut to thirty years."""
    return round(max(-_LONGEST_MS, min(seconds * 1000, _LONGEST_MS)))


def name(value: str) -> str:
    """A text that names something, unchanged but for halves of characters."""
    return _LONE.sub("\ufffd", value)


def names(values: Iterable[str]) -> list[JsonValue]:
    """Several such texts."""
    return [name(value) for value in values]


def text(value: str) -> str:
    """A text for people: made visible, and of a long one the beginning and the end."""
    return bounded(readable(without_colours(value)), TEXT_LIMIT, "; run.json has the whole text")


def _agent(flow: FlowRecord) -> JsonObject | None:
    if flow.agent is None:
        return None
    return {
        "error": text(flow.agent.error),
        "status": flow.agent.status,
        "survivors": names(flow.agent.survivors),
        "timed_out": flow.agent.timed_out,
    }


def _recording(flow: FlowRecord) -> JsonObject | None:
    found = flow.recording
    if found is None:
        return None
    return {
        "flowproof": name(found.flowproof) or None,
        "models": names(found.models),
        "recorded": name(found.recorded) or None,
    }


def _assertion(result: AssertionResult) -> JsonObject:
    message, expected, closest = outcome_says(result.outcome)
    return {
        "closest": text(closest),
        "expected": text(expected),
        "line": result.line,
        "message": text(message),
        "outcome": _OUTCOMES[type(result.outcome)],
        "source": text(result.source),
    }


_OUTCOMES = {
    Passed: "passed",
    Failed: "failed",
    Unjudged: "unjudged",
    Uncertifiable: "uncertifiable",
}


def _attempts(flow: FlowRecord) -> list[JsonValue]:
    """All tries, the last one too; none of a flow that did not begin."""
    if not began(flow) and not flow.attempts:
        return []
    verdict = "pass" if flow.verdict.value == "flaky" else flow.verdict.value
    last: JsonObject = {
        "attempt": len(flow.attempts) + 1,
        "duration_ms": milliseconds(flow.duration),
        "exit_code": int(flow.exit_code),
        "reason": text(flow.reason),
        "verdict": verdict,
    }
    return [*(_attempt(at, one) for at, one in enumerate(flow.attempts, 1)), last]


def _attempt(number: int, one: AttemptRecord) -> JsonObject:
    return {
        "attempt": number,
        "duration_ms": milliseconds(one.duration),
        "exit_code": int(one.exit_code),
        "reason": text(one.reason),
        "verdict": one.verdict.value,
    }


def _divergence(flow: FlowRecord) -> JsonObject | None:
    found = flow.divergence
    if found is None:
        return None
    return {
        "kind": name(found.kind),
        "message": text(found.message),
        "path": name(found.path) if found.path is not None else None,
        "request": found.request,
        "server": name(found.server) or None,
        "turn": found.turn,
    }


def _lane(lane: McpRecord) -> JsonObject:
    return {
        "calls": lane.made,
        "connections": lane.connections,
        "contacted": lane.contacted,
        "failed": sum(1 for _ in failed_calls(lane)),
        "mocked": lane.mocked,
        "notifications": lane.notifications,
        "problems": [text(one) for one in lane.problems],
        "requests": lane.requests,
        "server": name(lane.server),
        "transport": lane.transport,
    }
