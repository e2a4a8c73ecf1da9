"""What the index shows, made from the run record and a row per flow: `suite.html.j2` lays it out.

`html_facts` has its evidence block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowproof.errors import ExitCode
from flowproof.model.flow_spec import Control
from flowproof.model.origin import MOST_LEFT_OUT
from flowproof.model.outcome import Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import RunRecord
from flowproof.report.diagram.changes import DurationChange, duration_changes
from flowproof.report.diagram.dag import Diagram
from flowproof.report.diagram.dag import suite as suite_graph
from flowproof.report.diagram.timeline import Timeline, timeline
from flowproof.report.html_facts import FactGroup, evidence_groups, moment
from flowproof.report.html_row import FlowRow
from flowproof.report.words import (
    RUN_MARKS,
    VERDICTS,
    Words,
    counts_line,
    exit_means,
    headline,
    in_phases,
    proves,
    run_tone,
    seconds,
)

TAGS = 24
"""For how many tags, the most frequent, the index has a filter."""
LISTED = 500
"""How many flows that are not green are listed behind those with a diagnosis."""
SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Share:
    """One verdict of the run: `count` flows, after the `before` flows of verdicts shown first."""

    words: Words
    verdict: str
    count: int
    before: int


@dataclass(frozen=True, slots=True)
class ControlShown:
    """One control with the flows that stand for it, worst first; `more` are not listed."""

    control: Control
    words: Words
    verdict: str
    flows: tuple[FlowRow, ...]
    more: int


@dataclass(frozen=True, slots=True)
class RowShown:
    """A row of the table with what depends on the others: `tags` are numbers of filters."""

    flow: FlowRow
    tags: str
    place: str
    change: str


@dataclass(frozen=True, slots=True)
class SlowShown:
    """A slow flow; `share` is its part of the slowest one's time, in thousandths."""

    flow: FlowRow
    share: int


@dataclass(frozen=True, slots=True)
class SuiteShown:
    """The whole run, everything in words. `stages` are counts that lead from what was found to
    what ran. `passed_warned` says how many flows passed with warnings, `warned` counts all that
    have some. `unselected` are the paths of flows that were not to run, and `more_unselected`
    counts others. `columns` names those columns of the table that tell flows apart."""

    title: str
    tone: str
    mark: str
    ran: str
    when: str
    place: str
    stages: tuple[tuple[int, str], ...]
    left_out: str
    counts: str
    shares: tuple[Share, ...]
    exit_says: str
    passed_warned: str
    warned: int
    unselected: tuple[str, ...]
    more_unselected: int
    failures: tuple[FlowRow, ...]
    listed: tuple[FlowRow, ...]
    unlisted: int
    rows: Iterable[RowShown]
    tags: tuple[tuple[str, int], ...]
    columns: frozenset[str]
    containment: str
    controls: tuple[ControlShown, ...]
    timeline: Timeline | None
    graph: Diagram | None
    changes: tuple[DurationChange, ...]
    slowest: tuple[SlowShown, ...]
    proves: tuple[tuple[str, str], ...]
    evidence: tuple[FactGroup, ...]


def suite_shown(
    record: RunRecord, rows: Sequence[FlowRow], controls: Mapping[str, Control]
) -> SuiteShown:
    """The view of the index. `controls` are those of the rows, by id."""
    failed = [row for row in rows if not row.green]
    listed = [row for row in failed if row.diagnosis is None]
    tags = Counter(tag for row in rows for tag in dict.fromkeys(row.tags)).most_common(TAGS)
    phases = in_phases(record, (row.phase for row in rows if row.ran))
    tone = run_tone(record)
    contained = {row.containment for row in rows}
    left_out = record.population.left_out[:MOST_LEFT_OUT] if record.population else ()
    return SuiteShown(
        title=headline(record),
        tone=tone,
        mark=RUN_MARKS[tone],
        ran=_ran(record, phases),
        when=moment(record.started),
        place=_place(record),
        stages=tuple(_stages(record)),
        left_out=_left_out(record),
        counts=counts_line(record),
        shares=tuple(_shares(record)),
        exit_says=_exit_says(record),
        passed_warned=_passed_warned(rows),
        warned=sum(row.warned > 0 for row in rows),
        unselected=left_out,
        more_unselected=max(0, record.population.deselected - len(left_out))
        if record.population
        else 0,
        failures=tuple(row for row in failed if row.diagnosis is not None),
        listed=tuple(listed[:LISTED]),
        unlisted=max(0, len(listed) - LISTED),
        rows=_table(rows, [tag for tag, _ in tags], record),
        tags=tuple(tags),
        columns=frozenset(_columns(rows)),
        containment=contained.pop() if len(contained) == 1 else "",
        controls=tuple(_controls(rows, controls)),
        timeline=timeline(rows, record.duration, record.tasks, record.host),
        graph=suite_graph(rows, record.tasks),
        changes=duration_changes(rows, SLOWEST),
        slowest=tuple(_slowest(rows)),
        proves=proves(record, phases) if any(phases.values()) else (),
        evidence=evidence_groups(record, rows),
    )


_HOW: Mapping[Phase, str] = {
    "replay": "replayed from recordings",
    "record": "recorded against the model",
}


def _ran(record: RunRecord, phases: Mapping[Phase, int]) -> str:
    """What was done, in one phrase: a run may record what it cannot replay."""
    if not any(phases.values()):
        return f"It took {seconds(record.duration)}"
    if len(phases) == 1:
        (phase,) = phases
        how = _HOW[phase].capitalize()
    else:
        how = " and ".join(f"{count:,} {_HOW[phase]}" for phase, count in phases.items())
    return f"{how} in {seconds(record.duration)}"


def _place(record: RunRecord) -> str:
    """On what it ran, in a few words."""
    hosts = {flow for flow in (record.origin.ci if record.origin else "", record.host) if flow}
    return f"on {', '.join(sorted(hosts))}"


def _exit_says(record: RunRecord) -> str:
    if record.exit_code is ExitCode.PASSED:
        return ""
    return f"Exit code {int(record.exit_code)}: {exit_means(record)}."


def _passed_warned(rows: Sequence[FlowRow]) -> str:
    """How many flows passed and deserve a look all the same."""
    found = sum(row.green and row.ran and row.warned > 0 for row in rows)
    flows = "1 flow" if found == 1 else f"{found:,} flows"
    return f"{flows} passed with warnings." if found else ""


def _stages(record: RunRecord) -> Iterator[tuple[int, str]]:
    """How many flows there were, were selected, and ran: each a part of the one before, unless
    flows were repeated."""
    ran = len(record.flows) - record.counts()[Verdict.SKIPPED]
    population = record.population
    if population is not None:
        yield population.discovered, "found"
        yield population.selected, "selected"
        if len(record.flows) > population.selected:
            yield len(record.flows), "with repeats"
    yield ran, "ran"


def _left_out(record: RunRecord) -> str:
    """What a run that is partial says of itself."""
    if not record.partial:
        return ""
    population = record.population
    options = ", ".join(
        f"{name} {value}".strip() for name, value in (population.selection if population else ())
    )
    by = f" ({options})" if options else ""
    return f"It covers a selection of the suite{by} and does not vouch for the whole."


def _shares(record: RunRecord) -> Iterator[Share]:
    before = 0
    for verdict, count in record.counts().items():
        if count:
            yield Share(VERDICTS[verdict], verdict.value, count, before)
            before += count


def _columns(rows: Sequence[FlowRow]) -> Iterator[str]:
    if any(row.control for row in rows):
        yield "control"
    if len({row.containment for row in rows}) > 1:
        yield "contained"
    if len({(row.host, row.slot) for row in rows if row.slot}) > 1:
        yield "place"


def _table(rows: Sequence[FlowRow], tags: Sequence[str], record: RunRecord) -> Iterator[RowShown]:
    """What needs a look comes first; otherwise flows keep the order of the run."""
    number = {tag: str(at) for at, tag in enumerate(tags)}
    hosts = len({row.host for row in rows}) > 1
    for row in sorted(rows, key=_urgency):
        place = f"slot\N{NO-BREAK SPACE}{row.slot}" if row.slot else ""
        if hosts:
            place = f"{row.host or record.host} {place}".strip()
        yield RowShown(
            row,
            " ".join(number[tag] for tag in dict.fromkeys(row.tags) if tag in number),
            place,
            changed(row),
        )


def _urgency(row: FlowRow) -> int:
    if not row.green:
        return 0
    return {"warn": 1, "good": 2, "quiet": 3}[row.words.tone]


def changed(row: FlowRow) -> str:
    """How a flow's time differs from its usual one, if it does so clearly; else empty."""
    usual, took = row.usual, row.duration
    if not usual or usual <= 0 or abs(took - usual) < 0.5:
        return ""
    if took >= 1.5 * usual:
        return f"▲ usually {seconds(usual)}"
    if usual >= 1.5 * took:
        return f"▼ usually {seconds(usual)}"
    return ""


def _controls(
    rows: Sequence[FlowRow], controls: Mapping[str, Control], limit: int = 20
) -> Iterator[ControlShown]:
    flows: dict[str, list[FlowRow]] = {id: [] for id in controls}
    for row in rows:
        if row.control in flows:
            flows[row.control].append(row)
    for id, held in sorted(flows.items()):
        held.sort(key=_urgency)
        worst = held[0]
        yield ControlShown(
            controls[id], worst.words, worst.verdict, tuple(held[:limit]), len(held[limit:])
        )


def _slowest(rows: Sequence[FlowRow]) -> Iterator[SlowShown]:
    slow = sorted((row for row in rows if row.ran), key=lambda row: -row.duration)[:SLOWEST]
    # Of a few flows the table says as much.
    if len(rows) < 5 or not slow or not slow[0].duration > 0:
        return
    for row in slow:
        yield SlowShown(row, max(4, round(1000 * max(0.0, row.duration) / slow[0].duration)))
