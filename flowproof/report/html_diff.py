"""A divergence side by side: line by line, with what changed inside a line marked.

`boundary.change` cuts the two sides; the macro of `report/diff.html.j2` lays out what is made here.
What is compared is bounded first: such text may be made to be slow to compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal, TypeAlias

from flowproof.model.outcome import EXTRA_CALL, Divergence, Sides
from flowproof.report.html_marks import WORK, Piece, Work, alike, common, marked, whole

LONGEST_SIDE = 6_000
"""Characters of either side that are shown."""
MOST_LINES = 120
"""Changed lines in one place that are compared with each other, and shown."""
_CONTEXT = 4
"""Lines that are shown before and after a change."""

RowKind: TypeAlias = Literal["same", "changed", "recorded", "sent", "gap", "cut"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of both sides. A row that only one side has is `recorded` or `sent`, with nothing on
    the other; a `gap` stands for `skipped` lines that are the same, a `cut` for others."""

    kind: RowKind
    left: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class DiffShown:
    """A divergence, ready to be laid out. `kind` and `path` say where it is; `left` and `right`
    head the two sides, of which `absent` names the one that has nothing there. `above` and
    `below` tell how much is left out; `blanks` whether white space is marked. `nothing` is what
    stands on a side that has nothing."""

    message: str
    kind: str
    path: str
    left: str
    right: str
    rows: tuple[Row, ...]
    absent: Literal["", "left", "right"] = ""
    above: str = ""
    below: tuple[str, str] = ("", "")
    blanks: bool = False
    nothing: str = "nothing here"


def diff_shown(found: Divergence) -> DiffShown:
    """The view of a divergence; it has no rows where no values are compared."""
    sides = found.sides or _of_excerpt(found)
    extra = found.kind == EXTRA_CALL
    if sides is None:
        rows: tuple[Row, ...] = ()
        absent: Literal["", "left", "right"] = ""
    else:
        rows = tuple(_rows(sides))
        absent = "left" if sides.recorded is None else "right" if sides.replayed is None else ""
    recorded, sent = ("call", "call") if found.server else ("turn", "request")
    return DiffShown(
        message=found.message,
        kind=found.kind,
        path=found.path or "",
        left="Recorded" if found.turn is None or extra else f"Recorded, {recorded} {found.turn}",
        right=f"This run, {sent} {found.request}",
        rows=rows,
        absent=absent,
        above=_left_out(sides.above) if sides else "",
        below=_below(sides) if sides else ("", ""),
        blanks=any(piece.kind == "blank" for row in rows for piece in (*row.left, *row.right)),
        nothing="nothing more was recorded" if extra else "nothing here",
    )


def _of_excerpt(found: Divergence) -> Sides | None:
    """The sides as far as the excerpt has them, as in records that hold nothing else."""
    if not found.excerpt:
        return None
    left, right = (
        "\n".join(line.text for line in found.excerpt[:MOST_LINES] if line.mark in marks)
        for marks in ((" ", "-"), (" ", "+"))
    )
    return Sides(left, right)


def _left_out(count: int) -> str:
    return f"{count:,} characters" if count > 1 else "1 character" if count == 1 else ""


def _below(sides: Sides) -> tuple[str, str]:
    texts = sides.recorded or "", sides.replayed or ""
    left, right = (
        _left_out(more + max(0, len(text) - LONGEST_SIDE))
        for text, more in zip(texts, sides.below, strict=True)
    )
    return left, right


def _rows(sides: Sides) -> Iterator[Row]:
    left, right = (
        None if text is None else text[:LONGEST_SIDE].split("\n")
        for text in (sides.recorded, sides.replayed)
    )
    if left is None or right is None:
        yield from _changed(left or (), right or (), Work(0))
        return
    work = Work(WORK)
    blocks = [*_blocks(left, right)]
    for place, (same, (low, high), (start, end)) in enumerate(blocks):
        if same:
            yield from _unchanged(left[low:high], place > 0, place < len(blocks) - 1)
        else:
            yield from _changed(left[low:high], right[start:end], work)


Span: TypeAlias = tuple[int, int]


def _blocks(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[bool, Span, Span]]:
    """Runs of items that both have, and those between; bounded where comparing would be slow."""
    head = common(left, right)
    tail = common(left[head:][::-1], right[head:][::-1])
    ends = len(left) - tail, len(right) - tail
    middle = left[head : ends[0]], right[head : ends[1]]
    if head:
        yield True, (0, head), (0, head)
    if max(map(len, middle)) > MOST_LINES:
        yield False, (head, ends[0]), (head, ends[1])
    else:
        matcher = SequenceMatcher(None, *middle, autojunk=False)
        for kind, low, high, start, end in matcher.get_opcodes():
            spans = (low + head, high + head), (start + head, end + head)
            yield kind == "equal", *spans
    if tail:
        yield True, (ends[0], len(left)), (ends[1], len(right))


def _unchanged(lines: Sequence[str], before: bool, after: bool) -> Iterator[Row]:
    """Lines that are the same, with a gap where they are far from a change `before` or `after`."""
    first = _CONTEXT if before else 0
    last = len(lines) - (_CONTEXT if after else 0)
    if last - first < 3:
        first = last = len(lines)
    yield from (_same(line) for line in lines[:first])
    if last > first:
        yield Row("gap", skipped=last - first)
    yield from (_same(line) for line in lines[last:])


def _same(line: str) -> Row:
    pieces = (Piece("same", line),)
    return Row("same", pieces, pieces)


def _changed(left: Sequence[str], right: Sequence[str], work: Work) -> Iterator[Row]:
    """Lines that differ, those that are alike beside each other."""
    olds, news = left[:MOST_LINES], right[:MOST_LINES]
    low = start = 0
    for old, new in (*alike(olds, news), (len(olds), len(news))):
        for one, other in zip_longest(olds[low:old], news[start:new]):
            yield _row(one, other, work)
        if old < len(olds):
            yield _row(olds[old], news[new], work)
        low, start = old + 1, new + 1
    if (more := max(len(left), len(right)) - MOST_LINES) > 0:
        yield Row("cut", skipped=more)


def _row(old: str | None, new: str | None, work: Work) -> Row:
    if old is None or new is None:
        if old is not None:
            return Row("recorded", left=whole(old))
        return Row("sent", right=whole(new or ""))
    left, right = marked(old, new, work)
    return Row("changed", left, right)
