"""Recomputes the chain, the head and the counts of `evidence.json`, which `evidence` wrote, and
looks at what `statement` says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse
from flowproof.model.outcome import Verdict
from flowproof.report.evidence import FILE_NAME, FIRST, SCHEMA, link, sealed
from flowproof.report.text import one_line

_DEPTH = 20


def evidence_problems(data: bytes, run_json_sha256: str | None) -> Iterator[str]:
    """What is wrong with the text of an `evidence.json`, each as the rest of a sentence.

    `run_json_sha256` is the digest of the `run.json` beside it, if there is one.
    """
    try:
        value = parse(data, max_depth=_DEPTH)
    except JsonError as error:
        yield f"is not JSON: {error}"
        return
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        yield f"does not say that its schema is {SCHEMA!r}"
        return
    flows, integrity = value.get("flows"), value.get("integrity")
    if not isinstance(flows, list) or not isinstance(integrity, dict):
        yield "has no flows, or no integrity"
        return
    yield from _chain(flows, integrity)
    around = {key: item for key, item in value.items() if key not in ("flows", "integrity")}
    last = integrity.get("last")
    if not isinstance(last, str) or integrity.get("head") != sealed(last, around):
        yield "was changed outside of its flows: its head is another"
    if run_json_sha256 is not None and integrity.get("run_json_sha256") != run_json_sha256:
        yield "is of another run.json than the one beside it"
    yield from _counts(flows, value.get("population"))


def statement_problems(data: bytes, evidence_sha256: str | None) -> Iterator[str]:
    """What is wrong with the text of a `statement.intoto.json`, each as the rest of a sentence.

    `evidence_sha256` is the digest of the `evidence.json` beside it, if there is one.
    """
    try:
        value = parse(data, max_depth=_DEPTH)
    except JsonError as error:
        yield f"is not JSON: {error}"
        return
    subjects = value.get("subject") if isinstance(value, dict) else None
    about = [
        one.get("digest")
        for one in (subjects if isinstance(subjects, list) else [])
        if isinstance(one, dict) and one.get("name") == FILE_NAME
    ]
    if not about:
        yield f"is not about an {FILE_NAME}"
    elif evidence_sha256 is not None and {"sha256": evidence_sha256} not in about:
        yield f"is about another {FILE_NAME} than the one beside it"


def _chain(flows: list[JsonValue], integrity: JsonObject) -> Iterator[str]:
    chain = FIRST
    if integrity.get("first") != FIRST:
        yield "does not begin its chain as every chain begins"
    for number, flow in enumerate(flows, 1):
        if not isinstance(flow, dict):
            yield f"has no entry where flow {number} is"
            return
        chain = link(chain, flow)
        if flow.get("chain") != chain:
            called = one_line(str(flow.get("path")), 200)
            yield f"was changed at flow {number} ({called}), or before: the chain breaks there"
            return
    if integrity.get("last") != chain:
        yield "ends its chain with another link than that of its last flow"


def _counts(flows: list[JsonValue], population: JsonValue) -> Iterator[str]:
    if not isinstance(population, dict):
        yield "has no population"
        return
    found = Counter(str(flow.get("verdict")) for flow in flows if isinstance(flow, dict))
    if population.get("verdicts") != {verdict.value: found[verdict.value] for verdict in Verdict}:
        yield "has other counts of verdicts than its flows"
    entries, began, waiting = (population.get(key) for key in ("entries", "began", "not_begun"))
    if entries != len(flows):
        yield f"counts {entries} entries and has {len(flows)}"
    if not isinstance(began, int) or not isinstance(waiting, int) or began + waiting != len(flows):
        yield "counts flows that began and did not, and together they are not all"
    chosen = [population.get(key) for key in ("discovered", "selected", "deselected")]
    match chosen:
        case [None, None, None]:
            pass
        case [int(discovered), int(selected), int(left)] if discovered == selected + left:
            pass
        case _:
            yield "has selected and deselected flows that are not all that were discovered"
