"""The run record as evidence for an auditor: who ran what, when, on what, with what result.

`evidence.json` has sorted keys, an indentation of two blanks and whole numbers only; `canonical`
of any part of it is its form under RFC 8785. `verify` recomputes what is chained here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from flowproof.model.clock import instant, utc_text
from flowproof.model.jsonvalue import JsonObject, JsonValue, canonical, write
from flowproof.model.run_record import RunRecord
from flowproof.model.web_address import web_address
from flowproof.report import run_json, statement
from flowproof.report.evidence_flow import digests, entry, milliseconds, name, text
from flowproof.report.evidence_population import Count, population
from flowproof.report.words import exit_means, headline, in_phases, proves

SCHEMA = "flowproof.evidence/1"
FILE_NAME = "evidence.json"
FIRST = "0" * 64
"""What the first link of the chain is made with."""

UNSIGNED = (
    "These digests show that a file was changed by accident. They are not signed: whoever changes "
    "a file on purpose can compute them anew. Sign statement.intoto.json or SHA256SUMS to rule "
    "that out."
)
_ABSENT: Mapping[str, str] = {
    "population": "the run did not count the flows that it left out",
    "what": "the suite lies in no git repository, or git did not answer in time",
    "who": "the run did not note who started it",
}


def render(record: RunRecord, *, run_json_sha256: str = "") -> Iterable[tuple[str, Iterator[str]]]:
    """The report of kind `evidence`: the evidence, then an unsigned in-toto statement about it.
    The digest of the record as `run.json` holds it is computed, unless it is given.

    :raises CountsDiffer: while the evidence is made, if the counts of the run do not add up.
    """
    seen = _Digest()
    yield FILE_NAME, seen.of(pieces(record, run_json_sha256))
    if not seen.whole:  # nobody wrote the file before asking for the next
        for _ in seen.of(pieces(record, run_json_sha256)):
            pass
    yield statement.FILE_NAME, statement.pieces(record, FILE_NAME, seen.sha256)


def pieces(record: RunRecord, run_json_sha256: str = "") -> Iterator[str]:
    """The text of `evidence.json` flow by flow; the digest is as in `render`.

    :raises CountsDiffer: if the counts of the run do not add up.
    """
    yield "{\n"
    yield from _blocks(_before(record), comma=True)
    yield '  "flows": ['
    chain, count = FIRST, Count()
    for flow in record.flows:
        count.add(flow)
        item = entry(flow, record.host)
        chain = link(chain, item)
        shown = write(item | {"chain": chain}, indent=2, sort_keys=True)
        yield f"{',' * (count.entries > 1)}\n    " + shown.replace("\n", "\n    ")
    yield "\n  ],\n" if count.entries else "],\n"
    rest = _after(record, count)
    around = _before(record) | rest
    integrity = _integrity(chain, around, run_json_sha256 or run_digest(record))
    yield from _blocks({"integrity": integrity}, comma=True)
    yield from _blocks(rest, comma=False)
    yield "}\n"


def link(before: str, item: JsonObject) -> str:
    """The link of the chain for a flow: SHA-256 over the link before it, as hexadecimal text,
    and the canonical form of its entry without `chain`."""
    return sealed(before, {key: value for key, value in item.items() if key != "chain"})


def sealed(before: str, value: JsonObject) -> str:
    """SHA-256 over a text and the canonical form of a value."""
    return hashlib.sha256((before + canonical(value)).encode()).hexdigest()


def run_digest(record: RunRecord) -> str:
    """The SHA-256 of the record as `run.json` holds it."""
    seen = hashlib.sha256()
    for piece in run_json.pieces(record):
        seen.update(piece.encode())
    return seen.hexdigest()


def around(record: RunRecord, count: Count) -> JsonObject:
    """All blocks but `flows` and `integrity`. The flows have been counted.

    :raises CountsDiffer: if the counts of the run do not add up.
    """
    return _before(record) | _after(record, count)


class _Digest:
    """Computes the digest of what passes through."""

    def __init__(self) -> None:
        self.sha256 = ""
        self.whole = False

    def of(self, content: Iterator[str]) -> Iterator[str]:
        seen = hashlib.sha256()
        for piece in content:
            seen.update(piece.encode())
            yield piece
        self.sha256, self.whole = seen.hexdigest(), True


def _before(record: RunRecord) -> JsonObject:
    """The blocks that come before the flows when keys are sorted."""
    looked = {"population": record.population, "what": record.source, "who": record.origin}
    return {
        "absent": {key: _ABSENT[key] for key, found in looked.items() if found is None},
        "errors": [text(one) for one in record.errors],
        "exceptions": [],
    }


def _after(record: RunRecord, count: Count) -> JsonObject:
    """The blocks that come after the flows and `integrity`."""
    proven = proves(record, in_phases(record, count.phases.elements()))
    return {
        "population": population(record, count),
        "proves": [does for does, _ in proven],
        "proves_not": [does_not for _, does_not in proven],
        "run": {
            "command": name(record.command),
            "controls": count.controls(),
            "exit_code": int(record.exit_code),
            "exit_means": exit_means(record),
            "id": name(record.id),
            "partial": record.partial,
            "phase": record.phase,
            "result": text(headline(record)),
            "suite": name(record.suite),
        },
        "schema": SCHEMA,
        "tasks": [
            {"cause": text(task.cause), "id": name(task.id), "state": task.state.value}
            for task in record.tasks
        ],
        "warnings": [text(one) for one in record.warnings],
        "what": _what(record),
        "when": _when(record),
        "who": _who(record),
    }


def _what(record: RunRecord) -> JsonObject:
    source = record.source
    return {
        "branch": name(source.branch) if source else None,
        "changed": source.changed if source else None,
        "changes_sha256": (name(source.changes) or None) if source else None,
        "commit": name(source.commit) if source else None,
        "inputs": digests(record.inputs),
        "repository": name(source.repository) if source else None,
    }


def _when(record: RunRecord) -> JsonObject:
    start = instant(record.started)
    end = None
    if start is not None:
        try:
            end = utc_text(start + timedelta(seconds=record.duration))
        except OverflowError:
            end = None
    return {
        "duration_ms": milliseconds(record.duration),
        "end": end,
        "start": name(record.started),
        "timezone": "UTC",
    }


def _who(record: RunRecord) -> JsonObject:
    origin = record.origin
    return {
        "actor": name(origin.actor) if origin else None,
        "ci": name(origin.ci) if origin else None,
        "distribution_sha256": name(origin.distribution) if origin else None,
        "flowproof": name(record.flowproof),
        "host": name(record.host),
        "kernel": name(origin.kernel) if origin else None,
        "platform": name(record.platform),
        "python": name(record.python),
        "slots": record.slots,
        "system": name(origin.system) if origin else None,
        "trigger": name(origin.trigger) if origin else None,
        "url": web_address(origin.url) if origin else None,
    }


def _integrity(chain: str, around: JsonObject, run_json_sha256: str) -> JsonObject:
    return {
        "algorithm": "sha256",
        "first": FIRST,
        "head": sealed(chain, around),
        "last": chain,
        "note": UNSIGNED,
        "run_json_sha256": run_json_sha256,
    }


def _blocks(blocks: Mapping[str, JsonValue], *, comma: bool) -> Iterator[str]:
    last = len(blocks) - 1
    for at, (key, value) in enumerate(sorted(blocks.items())):
        shown = write(value, indent=2, sort_keys=True).replace("\n", "\n  ")
        yield f'  "{key}": {shown}{"," if comma or at < last else ""}\n'
