"""An unsigned in-toto statement that says how a run ended: what external tools sign.

Statement v1 with the predicate `test-result` v0.1. `evidence` writes it beside what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FileDigest, FlowRecord, RunRecord
from flowproof.model.web_address import web_address
from flowproof.report.evidence_flow import name

FILE_NAME = "statement.intoto.json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"

_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_SHA256 = re.compile("[0-9a-f]{64}")


def pieces(record: RunRecord, evidence: str, sha256: str) -> Iterator[str]:
    """The text of the statement; `sha256` is the digest of the file `evidence`.

    Subjects are the commit that was tested and the evidence. Where the commit alone does not
    tell what ran, or none is known, they are all specs and traces too.
    """
    inputs = _Inputs()
    tests: dict[str, list[JsonValue]] = {"passed": [], "warned": [], "failed": []}
    skipped = False
    for flow in record.flows:
        inputs.add(flow)
        end = _end(flow)
        skipped |= end == ""
        if end:
            tests[end].append(test_name(flow))
    inputs.others.update((one.path, one.sha256) for one in record.inputs)
    predicate: JsonObject = {
        "result": _result(record, warned=skipped or bool(tests["warned"])),
        "configuration": _described(inputs.tested | inputs.others),
        "passedTests": tests["passed"],
        "warnedTests": tests["warned"],
        "failedTests": tests["failed"],
    }
    if record.origin is not None and (url := web_address(record.origin.url)):
        predicate["url"] = url
    statement: JsonObject = {
        "_type": STATEMENT,
        "subject": _subjects(record, inputs, FileDigest(evidence, sha256)),
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    yield write(statement, indent=2) + "\n"


def test_name(flow: FlowRecord) -> str:
    """How a flow is called in the lists: its path, and its name, which tells repetitions apart."""
    return name(f"{flow.path}: {flow.name}")


class _Inputs:
    """The files that decided what the flows did, each once."""

    def __init__(self) -> None:
        self.tested: set[tuple[str, str]] = set()
        self.others: set[tuple[str, str]] = set()

    def add(self, flow: FlowRecord) -> None:
        """Take in the spec, the trace and the other inputs of a flow."""
        self.tested.update((one.path, one.sha256) for one in (flow.spec, flow.trace) if one)
        self.others.update((one.path, one.sha256) for one in flow.inputs)


def _end(flow: FlowRecord) -> str:
    """The list that a flow belongs to; none if it did not run."""
    if flow.verdict is Verdict.SKIPPED:
        return ""
    if not flow.verdict.green:
        return "failed"
    return "passed" if flow.verdict is Verdict.PASS and not flow.warnings else "warned"


def _result(record: RunRecord, *, warned: bool) -> str:
    if record.exit_code or not all(verdict.green for verdict, n in record.counts().items() if n):
        return "FAILED"
    return "WARNED" if warned or record.partial or record.warnings or not record.flows else "PASSED"


def _subjects(record: RunRecord, inputs: _Inputs, evidence: FileDigest) -> list[JsonValue]:
    subjects: list[JsonValue] = []
    source = record.source
    commit = source.commit if source is not None and _COMMIT.fullmatch(source.commit) else ""
    if source is not None and commit:
        named: JsonObject = {"name": name(source.repository)} if source.repository else {}
        subjects.append({**named, "digest": {"gitCommit": commit}})
    if source is None or not commit or source.changed is not False:
        subjects += _described(inputs.tested)
    return [*subjects, *_described({(evidence.path, evidence.sha256)})]


def _described(files: set[tuple[str, str]]) -> list[JsonValue]:
    """Files as resource descriptors; one whose digest is none cannot be described."""
    return [
        {"name": name(path), "digest": {"sha256": sha256}}
        for path, sha256 in sorted(files)
        if _SHA256.fullmatch(sha256)
    ]
