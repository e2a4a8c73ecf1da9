"""What the index needs of one flow: a small row, kept while the flows themselves pass by.

`html` makes one per flow beside its page; `html_suite` and the diagrams read them.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.model.outcome import AssertionResult, Failed, Passed, Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord
from flowproof.report.html_diff import DiffShown, diff_shown
from flowproof.report.html_names import page_file, row_anchor
from flowproof.report.text import one_line, shortened
from flowproof.report.words import VERDICTS, Words, hints, outcome_says, seconds

TEXT_LIMIT = 4_000
"""How many characters of each text of a diagnosis stand in the index; the page has the rest."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a flow is not green. `claim` is the first assertion that does not hold, the
    `claim_number`th of its flow (0 where all hold), in a `line` of the spec, with what it `says`,
    and what was `expected` and `closest`."""

    reason: str
    claim: str
    claim_number: int
    line: int
    says: str
    expected: str
    closest: str
    diff: DiffShown | None
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One flow in the index. `page` names its page, `anchor` its row.

    `number` counts from 1 in the order of the run; `duration`, `offset` and `usual` are in
    seconds; `held` of `asserted` assertions hold. `diagnosis` is None for a green flow, and where
    there are too many.
    """

    number: int
    name: str
    path: str
    page: str
    anchor: str
    phase: Phase
    ran: bool
    verdict: str
    words: Words
    green: bool
    brief: str
    time: str
    duration: float
    usual: float | None
    offset: float | None
    slot: int
    host: str
    id: str
    needs: tuple[str, ...]
    after: tuple[str, ...]
    locks: tuple[str, ...]
    control: str
    containment: str
    tags: tuple[str, ...]
    held: int
    asserted: int
    attempts: int
    diagnosis: Diagnosis | None

    @property
    def href(self) -> str:
        """The page of the flow, as the index links to it."""
        return page_file(self.page)


def flow_row(flow: FlowRecord, number: int, page: str, *, diagnosed: bool) -> FlowRow:
    """The row of the flow that is the `number`th of the run; `diagnosed` if it is not green and
    the index shall say why."""
    return FlowRow(
        number=number,
        name=shortened(flow.name, 300),
        path=shortened(flow.path, 300),
        page=page,
        anchor=row_anchor(page),
        phase=flow.phase,
        ran=flow.verdict is not Verdict.SKIPPED,
        verdict=flow.verdict.value,
        words=VERDICTS[flow.verdict],
        green=flow.verdict.green,
        brief=one_line(flow.reason, 160),
        time="–" if flow.verdict is Verdict.SKIPPED else seconds(flow.duration),
        duration=flow.duration,
        usual=flow.usual,
        offset=flow.offset,
        slot=flow.slot,
        host=flow.host,
        id=flow.id,
        needs=flow.needs,
        after=flow.after,
        locks=flow.locks,
        control=flow.control.id if flow.control else "",
        containment=flow.containment,
        tags=flow.tags,
        held=sum(isinstance(result.outcome, Passed) for result in flow.assertions),
        asserted=len(flow.assertions),
        attempts=len(flow.attempts) + 1,
        diagnosis=_diagnosis(flow) if diagnosed and not flow.verdict.green else None,
    )


def _diagnosis(flow: FlowRecord) -> Diagnosis:
    number, first = _first_claim(flow)
    says, expected, closest = outcome_says(first.outcome) if first else ("", "", "")
    return Diagnosis(
        reason=shortened(flow.reason, TEXT_LIMIT),
        claim=shortened(first.source, TEXT_LIMIT) if first else "",
        claim_number=number,
        line=first.line if first else 0,
        says=shortened(says, TEXT_LIMIT),
        expected=shortened(expected, TEXT_LIMIT),
        closest=shortened(closest, TEXT_LIMIT),
        diff=diff_shown(flow.divergence) if flow.divergence else None,
        hints=hints(flow),
    )


def _first_claim(flow: FlowRecord) -> tuple[int, AssertionResult | None]:
    """The assertion to show: the first that failed, else the first that was not judged."""
    open_ones = [
        (number, result)
        for number, result in enumerate(flow.assertions, 1)
        if not isinstance(result.outcome, Passed)
    ]
    failed = [one for one in open_ones if isinstance(one[1].outcome, Failed)]
    return next(iter(failed or open_ones), (0, None))
