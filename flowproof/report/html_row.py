"""What the index needs of one flow: a small row, kept while the flows themselves pass by.

`html` makes one per flow beside its page; `html_suite` and the diagrams read them.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import REFUSALS, AssertionResult, Failed, Passed, Unjudged, Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord
from flowproof.report.html_diff import DiffShown, diff_shown
from flowproof.report.html_names import page_file, row_anchor
from flowproof.report.text import one_line, shortened, without_colours
from flowproof.report.words import (
    VERDICTS,
    Words,
    agent_end,
    hints,
    outcome_says,
    outcome_words,
    seconds,
)

TEXT_LIMIT = 4_000
"""How many characters of each text of a diagnosis stand in the index; the page has the rest."""
LAST_LINES = 8
"""So many lines of what a crashed agent printed stand in the index, from the end."""
_LINE = 400
_ALL_HELD, _NONE_ASSERTED = 10**6, 2 * 10**6


@dataclass(frozen=True, slots=True)
class Printed:
    """The last lines that an agent wrote to one stream, headed by how it ended."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a flow is not green. `claim` is the first assertion that does not hold, the
    `claim_number`th of its flow (0 where all hold), in a `line` of the spec, with its outcome in
    `claim_words`, what it `says`, and what was `expected` and `closest`. `printed` is of an agent
    that crashed or was still running."""

    reason: str
    claim: str
    claim_words: Words | None
    claim_number: int
    line: int
    says: str
    expected: str
    closest: str
    diff: DiffShown | None
    hints: tuple[str, ...]
    printed: Printed | None


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One flow in the index. `page` names its page, `anchor` its row.

    `number` counts from 1 in the order of the run; `duration`, `offset` and `usual` are in
    seconds; `held` of `asserted` assertions hold, and `unjudged` were not judged. `warned` counts
    its warnings. `models` answered it, in a recording of `recorded`, which may be empty.
    `diagnosis` is None for a green flow, and where there are too many.
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
    unjudged: int
    warned: int
    models: tuple[str, ...]
    recorded: str
    attempts: int
    diagnosis: Diagnosis | None

    @property
    def href(self) -> str:
        """The page of the flow, as the index links to it."""
        return page_file(self.page)

    @property
    def held_says(self) -> str:
        """How its assertions did, in a few words."""
        if not self.ran:
            return "–"
        if not self.asserted:
            return "none"
        if self.unjudged == self.asserted:
            return f"{self.unjudged} not judged"
        return f"{self.held} of {self.asserted} hold"

    @property
    def standing(self) -> int:
        """The order of rows by their assertions: the smaller, the more do not hold."""
        if not self.ran or not self.asserted:
            return _NONE_ASSERTED
        return self.held - self.asserted or _ALL_HELD


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
        unjudged=sum(isinstance(result.outcome, Unjudged) for result in flow.assertions),
        warned=len(flow.warnings),
        models=flow.recording.models if flow.recording else (),
        recorded=flow.recording.recorded if flow.recording else "",
        attempts=len(flow.attempts) + 1,
        diagnosis=_diagnosis(flow) if diagnosed and not flow.verdict.green else None,
    )


def _diagnosis(flow: FlowRecord) -> Diagnosis:
    number, first = _first_claim(flow)
    says, expected, closest = outcome_says(first.outcome) if first else ("", "", "")
    return Diagnosis(
        reason=shortened(flow.reason, TEXT_LIMIT),
        claim=shortened(first.source, TEXT_LIMIT) if first else "",
        claim_words=outcome_words(first.outcome) if first else None,
        claim_number=number,
        line=first.line if first else 0,
        says=shortened(says, TEXT_LIMIT),
        expected=shortened(expected, TEXT_LIMIT),
        closest=shortened(closest, TEXT_LIMIT),
        diff=diff_shown(flow.divergence) if flow.divergence else None,
        hints=hints(flow),
        printed=_printed(flow.agent) if flow.agent else None,
    )


def _printed(agent: AgentExit) -> Printed | None:
    """How the output of an agent ended that crashed or was still running: why, most often. What it
    was refused with is told already."""
    if not agent.timed_out and agent.status in (0, None):
        return None
    streams = (("stderr", agent.stderr.text), ("stdout", agent.stdout.text))
    name, text = next(((name, text) for name, text in streams if text.strip()), ("", ""))
    lines = without_colours(text).strip().splitlines()
    shown = "\n".join(shortened(line, _LINE) for line in lines[-LAST_LINES:])
    if not shown or any(refusal in shown for refusal in REFUSALS):
        return None
    ends = "" if len(lines) <= LAST_LINES else f", the last {LAST_LINES} lines"
    return Printed(f"The agent {agent_end(agent)}. Its {name}{ends}:", shown)


def _first_claim(flow: FlowRecord) -> tuple[int, AssertionResult | None]:
    """The assertion to show: the first that failed, else the first that was not judged."""
    open_ones = [
        (number, result)
        for number, result in enumerate(flow.assertions, 1)
        if not isinstance(result.outcome, Passed)
    ]
    failed = [one for one in open_ones if isinstance(one[1].outcome, Failed)]
    return next(iter(failed or open_ones), (0, None))
