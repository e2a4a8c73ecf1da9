"""Which graphs a report draws: the tasks of one flow, and the flows of a suite that wait.

`groups` sees which flows wait and puts them together, `layout` places the boxes, the macro `graph`
of the template `diagram.html.j2` shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowproof.model.run_record import FlowRecord, TaskRecord
from flowproof.report.diagram.drawn import STATES, Cell, DrawnFlow, Table, task_says
from flowproof.report.diagram.groups import Group, SharedLock, grouped, shared_locks
from flowproof.report.diagram.labels import TITLE_LIMIT
from flowproof.report.diagram.layout import MAX_BOXES, MAX_LINES, Drawing, Edge, Node, laid_out
from flowproof.report.diagram.suite_tasks import around
from flowproof.report.text import one_line
from flowproof.report.words import seconds

_NAMED = 10
"""So many flows or tasks that one waits for are named."""


@dataclass(frozen=True, slots=True)
class Diagram:
    """A graph to show. `drawing` is None where it is too large to read, or nothing waits and only
    locks are to be told; `notes` say so, and how to read it. `table` says the same in text."""

    title: str
    drawing: Drawing | None
    notes: tuple[str, ...]
    table: Table
    shared: tuple[SharedLock, ...] = ()


def tasks(flow: FlowRecord) -> Diagram | None:
    """The graph of the tasks of one flow, each with its state in words and its time; None where
    the record has no tasks."""
    if not flow.tasks:
        return None
    known = {task.id for task in flow.tasks}
    edges = [Edge(need, one.id) for one in flow.tasks for need in one.needs if need in known]
    drawing, notes = None, ["The record does not say which task waited for which."]
    if edges or len(flow.tasks) == 1:
        drawing = laid_out([_task_box(task) for task in flow.tasks[: MAX_BOXES + 1]], edges)
        notes = list(_notes(drawing, len(flow.tasks), edges))
    title = "The tasks of this flow and what each waited for"
    return Diagram(title, drawing, tuple(notes), _task_table(flow.tasks))


def _task_box(task: TaskRecord) -> Node:
    words = STATES[task.state]
    time = "" if task.duration is None else seconds(task.duration)
    # A task that is done says so by its symbol; its time is what is of interest.
    note = time if words.tone == "good" and time else " · ".join(filter(None, (words.phrase, time)))
    return Node(
        id=task.id,
        label=task.id,
        note=note,
        tone=words.tone,
        symbol=words.symbol,
        title=one_line(task_says(task), TITLE_LIMIT),
        open=task.started is None,
    )


def _task_table(tasks: Sequence[TaskRecord]) -> Table:
    rows = tuple(
        (
            Cell(task.id),
            Cell(STATES[task.state].phrase),
            Cell("" if task.duration is None else seconds(task.duration)),
            Cell(_listed(task.needs)),
            Cell(one_line(task.cause)),
        )
        for task in tasks[:MAX_BOXES]
    )
    heads = ("Task", "State", "Took", "Waits for", "Why")
    return Table("The tasks as a table", heads, rows, _left_out(len(tasks) - MAX_BOXES, "task"))


def suite(flows: Iterable[DrawnFlow], tasks: Sequence[TaskRecord] = ()) -> Diagram | None:
    """The flows of a run that wait for another or for a command of the suite, and `tasks`, which
    are these commands (`RunRecord.tasks`). None where nothing waits and nothing is shared.

    Many flows that wait for the same and ended the same are drawn as one box.
    """
    rows = list(flows)
    commands = around(rows, tasks)
    groups, alone = grouped(rows, commands.home)
    shared, more = shared_locks(rows)
    if not groups and not shared:
        return None
    names = {group.id: group.name for group in groups}
    drawing, notes = None, list[str]()
    edges = [*commands.edges(groups), *(edge for group in groups for edge in _edges(group))]
    if groups:
        first, last = commands.first, commands.last
        named = Counter(group.name for group in groups)
        flow_boxes = (_flow_box(group, alike=named[group.name] > 1) for group in groups)
        boxes = [*map(_task_box, first), *flow_boxes, *map(_task_box, last)]
        drawing = laid_out(boxes, edges)
        notes += _notes(drawing, len(boxes), edges)
        notes += _groups_note(groups, alone)
    if more:
        notes.append(f"{_counted(more, 'more thing')} that flows share {_are(more)} not listed.")
    title = "What the flows of this run wait for"
    table = _suite_table(commands.first, groups, commands.last, edges, names)
    return Diagram(title, drawing, tuple(notes), table, shared)


def _flow_box(group: Group, *, alike: bool) -> Node:
    # Of flows of one name the file tells which is meant.
    file = group.id.rpartition("/")[2] if alike and group.count == 1 else ""
    return Node(
        id=group.id,
        label=group.name,
        note=" · ".join(filter(None, (group.words.phrase, file))),
        tone=group.words.tone,
        symbol=group.words.symbol,
        href=group.href,
        title=one_line(f"{group.name}: {group.words.phrase}{group.among}", TITLE_LIMIT),
        open=group.words.tone == "quiet",
    )


def _edges(group: Group) -> Iterator[Edge]:
    for need in group.needs:
        yield Edge(need, group.id)
    for first in group.after:
        yield Edge(first, group.id, "after")


def _suite_table(
    first: Sequence[TaskRecord],
    groups: Sequence[Group],
    last: Sequence[TaskRecord],
    edges: Iterable[Edge],
    names: Mapping[str, str],
) -> Table:
    waits: dict[tuple[str, str], list[str]] = {}
    for edge in edges:
        waits.setdefault((edge.then, edge.kind), []).append(names.get(edge.first, edge.first))

    def waiting(id: str) -> tuple[Cell, Cell]:
        needs, after = waits.get((id, "needs"), ()), waits.get((id, "after"), ())
        return Cell(_listed(needs)), Cell(_listed(after))

    def of_tasks(tasks: Iterable[TaskRecord]) -> Iterator[tuple[Cell, ...]]:
        for task in tasks:
            yield Cell(task.id), Cell(STATES[task.state].phrase), *waiting(task.id)

    rows = [
        *of_tasks(first),
        *((Cell(one.name, one.href), Cell(one.words.phrase), *waiting(one.id)) for one in groups),
        *of_tasks(last),
    ]
    heads = ("Flow", "Result", "Needs a pass of", "Comes after")
    more = _left_out(len(rows) - MAX_BOXES, "row")
    return Table("What waits for what, as a table", heads, tuple(rows[:MAX_BOXES]), more)


def _notes(drawing: Drawing | None, boxes: int, edges: Sequence[Edge]) -> Iterator[str]:
    if drawing is None:
        what = f"{boxes:,} boxes" if boxes > MAX_BOXES else f"more than {MAX_LINES:,} lines"
        limit = f"{MAX_BOXES} boxes" if boxes > MAX_BOXES else "so many"
        yield f"This graph has {what}, too many to read: more than {limit} are not drawn."
        return
    kinds = {line.kind for line in drawing.lines}
    if kinds == {"needs", "after"}:
        yield "Along a solid line the first had to pass, along a broken line only to end."
    elif kinds == {"after"}:
        yield "Along a broken line the first had to end, whether it passed or not."
    if drawing.circular:
        yield (
            f"{_counted(drawing.circular, 'line')} {_are(drawing.circular)} left out, to "
            "break circles in which everything would wait for itself."
        )
    elif drawing.implied:
        yield "A line that follows from others is not drawn; the table has them all."


def _groups_note(groups: Sequence[Group], alone: int) -> Iterator[str]:
    if any(group.count > 1 for group in groups):
        yield "Flows that wait for the same and ended the same are drawn as one box."
    if alone:
        verb = "waits" if alone == 1 else "wait"
        yield (
            f"{_counted(alone, 'flow')} {verb} for nothing, and nothing for "
            f"{'it' if alone == 1 else 'them'}: not drawn."
        )


def _listed(names: Sequence[str]) -> str:
    named = ", ".join(one_line(name, 100) for name in names[:_NAMED])
    return f"{named} and {len(names) - _NAMED} more" if len(names) > _NAMED else named


def _left_out(count: int, what: str) -> str:
    return f"{_counted(count, f'more {what}')} {_are(count)} not listed." if count > 0 else ""


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
