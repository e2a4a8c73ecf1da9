"""What ran when: a lane per slot with a bar per flow, or a lane per task of one flow.

`bars` places and merges them, `ticks` divides the time; the macro `timeline` of the template
`diagram.html.j2` shows it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flowproof.model.run_record import FlowRecord, TaskRecord
from flowproof.report.diagram.bars import BARS, WIDTH, Axis, Bar, Merged, drawn_bars, noted_bar
from flowproof.report.diagram.drawn import STATES, Cell, DrawnFlow, Table, task_says
from flowproof.report.diagram.labels import TITLE_LIMIT, fitting, text_width
from flowproof.report.diagram.ticks import finite, ticks
from flowproof.report.text import one_line
from flowproof.report.words import Words, seconds

MAX_LANES = 100
LISTED = 200
"""So many flows are told in text; beyond, their lanes."""
TOP, LANE = 26, 24
LANE_SIZE = 12
"""The height of the axis, of a lane, and of the text that names a lane, in pixels."""
_LABEL = 190


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the drawing that begins `y` pixels from its top. `merged` lie behind `bars`."""

    y: int
    label: str
    title: str
    bars: tuple[Bar, ...]
    merged: tuple[Merged, ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes over one axis of time. `ticks` are places on it with what they say; lanes are named
    left of `left`, all in pixels. `table` says in text what the drawing shows."""

    title: str
    width: int
    height: int
    left: int
    ticks: tuple[tuple[float, str], ...]
    lanes: tuple[Lane, ...]
    notes: tuple[str, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Ran:
    """Something that ran, in seconds from the start; `what` is one word for it."""

    name: str
    words: Words
    offset: float
    duration: float
    href: str = ""

    @property
    def end(self) -> float:
        return self.offset + self.duration

    @property
    def says(self) -> str:
        """What a pointer is told."""
        name, took = one_line(self.name, 100), seconds(self.duration)
        return f"{name}: {self.words.phrase}, {took}, began at {_at(self.offset)}"


@dataclass(slots=True)
class _Found:
    """What one pass over the flows finds. Mutable: filled by it."""

    lanes: dict[tuple[str, int], list[Ran]] = field(default_factory=lambda: defaultdict(list))
    idle: int = 0
    again: int = 0


def timeline(
    flows: Iterable[DrawnFlow],
    duration: float,
    tasks: Sequence[TaskRecord] = (),
    host: str = "this host",
) -> Timeline | None:
    """Which flow ran when, on which slot of which host, and the commands of the suite, which are
    `tasks` (`RunRecord.tasks`), in a run of `duration` seconds, where flows that name no other
    host ran on `host`. None where nothing ran.

    Beyond 2,000 bars only those of flows that failed and of the longest stay single; the others
    become one where they share a pixel of their lane, without a link. The notes say so. It takes
    one pass over the flows.
    """
    found = _found(flows)
    commands = _commands(tasks)
    slots = dict(sorted(found.lanes.items()))
    hosts = len({where for where, _ in slots})
    named = [(f"commands of {one}" if len(commands) > 1 else "commands") for one in commands]
    named += [_lane_name(where or host, slot, hosts) for where, slot in slots]
    lanes = [*commands.values(), *slots.values()]
    if not lanes:
        return None
    span = max([finite(duration) or 0.0, *(ran.end for lane in lanes for ran in lane)])
    shown = _drawn(named[:MAX_LANES], lanes[:MAX_LANES], span)
    few = sum(map(len, lanes)) <= LISTED
    table = _flow_table(named, lanes) if few else _lane_table(named, lanes, span)
    notes = tuple(_notes(found, lanes, list(slots.values()), span))
    return Timeline("When each flow ran", *shown, notes, table)


def _found(flows: Iterable[DrawnFlow]) -> _Found:
    found = _Found()
    for flow in flows:
        offset, took = finite(flow.offset), finite(flow.duration)
        if offset is None or took is None:
            found.idle += 1
            continue
        ran = Ran(flow.name, flow.words, offset, took, flow.href)
        found.lanes[flow.host, flow.slot].append(ran)
        found.again += flow.attempts > 1
    return found


def _commands(tasks: Iterable[TaskRecord]) -> dict[str, list[Ran]]:
    found: dict[str, list[Ran]] = {}
    for task in tasks:
        started, took = finite(task.started), finite(task.duration)
        if started is not None and took is not None:
            ran = Ran(task.id, STATES[task.state], started, took)
            found.setdefault(task.id.partition(" ")[2] or ".", []).append(ran)
    return found


def _lane_name(host: str, slot: int, hosts: int) -> str:
    if hosts < 2:
        return f"slot {slot}" if slot else "flows"
    return f"{host}, slot {slot}" if slot else host


def _drawn(
    names: Sequence[str], lanes: Sequence[Sequence[Ran]], span: float
) -> tuple[int, int, int, tuple[tuple[float, str], ...], tuple[Lane, ...]]:
    axis = _axis(names, span)
    bars = drawn_bars(lanes, axis)
    shown = tuple(
        Lane(TOP + at * LANE, fitting(name, _LABEL, LANE_SIZE), one_line(name, TITLE_LIMIT), *found)
        for at, (name, found) in enumerate(zip(names, bars, strict=True))
    )
    return WIDTH, TOP + len(lanes) * LANE, axis.left, _places(axis), shown


def _axis(names: Iterable[str], span: float) -> Axis:
    wide = max(text_width(fitting(name, _LABEL, LANE_SIZE), LANE_SIZE) for name in names)
    return Axis(int(wide) + 14, span or 1.0)


def _places(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((axis.x(time), said) for time, said in ticks(axis.span))


def _flow_table(names: Sequence[str], lanes: Sequence[Sequence[Ran]]) -> Table:
    ran = [(one, name) for name, lane in zip(names, lanes, strict=True) for one in lane]
    rows = tuple(
        (
            Cell(one.name, one.href),
            Cell(one.words.phrase),
            Cell(name),
            Cell(_at(one.offset)),
            Cell(seconds(one.duration)),
        )
        for one, name in sorted(ran, key=lambda pair: pair[0].offset)
    )
    heads = ("Flow", "Result", "Where", "Began at", "Took")
    return Table("What ran when, as a table", heads, rows)


def _lane_table(names: Sequence[str], lanes: Sequence[Sequence[Ran]], span: float) -> Table:
    rows = []
    for name, lane in list(zip(names, lanes, strict=True))[:LISTED]:
        busy = sum(one.duration for one in lane)
        ran = Cell(f"{len(lane):,}")
        rows.append((Cell(name), ran, Cell(seconds(busy)), Cell(_share(busy, span))))
    heads = ("Where", "Ran", "Busy for", "Share of the time")
    more = f"{len(lanes) - LISTED:,} more are not listed." if len(lanes) > LISTED else ""
    return Table("How busy each slot was, as a table", heads, tuple(rows), more)


def _notes(
    found: _Found, lanes: Sequence[Sequence[Ran]], slots: Sequence[Sequence[Ran]], span: float
) -> Iterator[str]:
    if len(slots) > 1 and span:
        busy = sum(one.duration for lane in slots for one in lane)
        yield f"{len(slots)} slots, busy for {_share(busy, span * len(slots))} of the time."
    total = sum(map(len, lanes))
    if total > BARS:
        yield (
            f"{total:,} bars: the {BARS:,} of flows that failed or took longest are drawn singly, "
            "others become one where they share a pixel."
        )
    if len(lanes) > MAX_LANES:
        yield f"{len(lanes):,} lanes: the first {MAX_LANES} are drawn."
    if found.again:
        yield "Of a flow that was tried again, only the last try is drawn."
    if found.idle:
        flows = "1 flow" if found.idle == 1 else f"{found.idle:,} flows"
        yield f"{flows} did not run."


def _at(offset: float) -> str:
    return seconds(offset) if offset else "0 s"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def task_timeline(flow: FlowRecord) -> Timeline | None:
    """When each task of a flow ran, a lane for each; None where no task ran."""
    tasks = flow.tasks[:MAX_LANES]
    ran = {
        at: Ran(task.id, STATES[task.state], started, took)
        for at, task in enumerate(tasks)
        if (started := finite(task.started)) is not None
        and (took := finite(task.duration)) is not None
    }
    if not ran:
        return None
    span = max([finite(flow.duration) or 0.0, *(one.end for one in ran.values())])
    axis = _axis([task.id for task in tasks], span)
    lanes = tuple(
        Lane(
            TOP + at * LANE,
            fitting(task.id, _LABEL, LANE_SIZE),
            one_line(task.id, TITLE_LIMIT),
            (noted_bar(axis, ran.get(at), STATES[task.state], one_line(task_says(task))),),
        )
        for at, task in enumerate(tasks)
    )
    height = TOP + len(lanes) * LANE
    notes = tuple(_task_notes(flow.tasks, tasks, ran))
    table = _task_table(tasks, ran)
    title = "When each task ran"
    return Timeline(title, WIDTH, height, axis.left, _places(axis), lanes, notes, table)


def _task_notes(
    every: Sequence[TaskRecord], tasks: Sequence[TaskRecord], ran: Mapping[int, Ran]
) -> Iterator[str]:
    """Why a task may seem to last too long, and what is left out."""
    ends = {ran[at].name: ran[at].end for at in ran}
    held = {
        need: None
        for at, one in ran.items()
        for need in tasks[at].needs
        if ends.get(need, 0.0) >= one.end > one.offset
    }
    if held:
        names = one_line(", ".join(held), TITLE_LIMIT)
        yield f"What others need stays open until they have ended: {names}."
    if len(every) > len(tasks):
        yield f"{len(every):,} tasks: the first {MAX_LANES} are drawn."


def _task_table(tasks: Sequence[TaskRecord], ran: Mapping[int, Ran]) -> Table:
    rows = tuple(
        (
            Cell(task.id),
            Cell(STATES[task.state].phrase),
            Cell(_at(ran[at].offset) if at in ran else ""),
            Cell(seconds(ran[at].duration) if at in ran else ""),
        )
        for at, task in enumerate(tasks)
    )
    heads = ("Task", "State", "Began at", "Took")
    return Table("When each task ran, as a table", heads, rows)
