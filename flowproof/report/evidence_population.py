"""How many flows there were and what became of them, counted while each is passed once.

Evidence must be complete: where counts do not add up there is none, and `evidence` stops.
"""

from __future__ import annotations

from collections import Counter

from flowproof.errors import CountsDiffer
from flowproof.model.flow_spec import Control
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.outcome import Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.evidence_flow import began, control, name, names, text


class Count:
    """What is told of all flows together; `add` takes each flow once.

    `entries` are the flows of the record, one that was to run twice counted twice, and `phases`
    those of the flows that were not skipped.
    """

    def __init__(self) -> None:
        self.entries = 0
        self.began = 0
        self.attempts = 0
        self.retried = 0
        self.verdicts: Counter[Verdict] = Counter()
        self.paths: set[str] = set()
        self.phases: Counter[Phase] = Counter()
        self._controls: dict[Control, Counter[Verdict]] = {}

    def add(self, flow: FlowRecord) -> None:
        """Count one flow."""
        self.entries += 1
        ran = began(flow)
        self.began += ran
        self.attempts += len(flow.attempts) + (ran or bool(flow.attempts))
        self.retried += bool(flow.attempts)
        self.verdicts[flow.verdict] += 1
        self.paths.add(flow.path)
        self.phases[flow.phase] += flow.verdict is not Verdict.SKIPPED
        if flow.control is not None:
            self._controls.setdefault(flow.control, Counter())[flow.verdict] += 1

    def controls(self) -> list[JsonValue]:
        """Each control with how many of its flows ended in each verdict."""
        return [
            {**(control(found) or {}), "flows": count.total(), "verdicts": _all(count)}
            for found, count in self._controls.items()
        ]


def population(record: RunRecord, count: Count) -> JsonObject:
    """The block of that name: all numbers, which add up.

    :raises CountsDiffer: if they do not.
    """
    require_sums(record, count)
    found = record.population
    return {
        "attempts": count.attempts,
        "began": count.began,
        "deselected": found.deselected if found else None,
        "discovered": found.discovered if found else None,
        "entries": count.entries,
        "flows": len(count.paths),
        "left_out": names(found.left_out) if found else [],
        "not_begun": count.entries - count.began,
        "retried": count.retried,
        "selected": found.selected if found else None,
        "selection": [[name(key), text(value)] for key, value in found.selection] if found else [],
        "verdicts": _all(count.verdicts),
    }


def require_sums(record: RunRecord, count: Count) -> None:
    """Check what the run says of its flows against what was counted.

    :raises CountsDiffer: if they disagree.
    """
    told, found = _all(Counter(dict(record.counts()))), _all(count.verdicts)
    if told != found:
        raise CountsDiffer(f"the run counts {told}, and its flows ended in {found}")
    whole = record.population
    if whole is None:
        return
    if not 0 <= whole.selected <= whole.discovered:
        raise CountsDiffer(f"{whole.selected} flows were selected of {whole.discovered} discovered")
    if len(whole.left_out) > whole.deselected:
        raise CountsDiffer(
            f"{whole.deselected} flows were left out, and {len(whole.left_out)} are named"
        )
    if whole.selected != len(count.paths):
        raise CountsDiffer(
            f"{whole.selected} flows were selected, and the run tells of {len(count.paths)}"
        )


def _all(count: Counter[Verdict]) -> JsonObject:
    return {verdict.value: count[verdict] for verdict in Verdict}
