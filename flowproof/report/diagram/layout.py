"""Places the boxes and lines of a graph from left to right. Pure; knows nothing of flows.

`layers` says in which column each box stands, `order` in which order, `place` how high; `dag`
makes the graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from flowproof.report.diagram.labels import fitting, text_width
from flowproof.report.diagram.layers import Columns, Lines, columns_of, not_implied, without_circles
from flowproof.report.diagram.order import behind, ordered
from flowproof.report.diagram.place import heights
from flowproof.report.words import Tone

Kind: TypeAlias = Literal["needs", "after"]

MAX_BOXES = 200
MAX_LINES = 1_000
PAGE_WIDTH = 1000
"""Pixels; parts that do not hang together stand beside each other as far as this."""
LABEL_SIZE = 13
NOTE_SIZE = 11
"""Sizes of the two lines of a box in pixels, as the style sheet has them."""
TEXT_LEFT = 28
"""Where the text of a box begins that has a symbol, in pixels from its left."""

_TALL, _LOW = 44, 32
_GAP, _JOINT = 14, 12
_BETWEEN = 36
_INSET = 10
_NARROWEST, _WIDEST = 72, 240
_HEAD = 6


@dataclass(frozen=True, slots=True)
class Node:
    """A box to place. `note` is its second line, `title` what a pointer at it is told; `open`
    boxes are drawn with a broken outline: nothing was judged there."""

    id: str
    label: str
    note: str = ""
    tone: Tone = "quiet"
    symbol: str = ""
    href: str = ""
    title: str = ""
    open: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from the node `first` to the node `then`, which waited for it."""

    first: str
    then: str
    kind: Kind = "needs"


@dataclass(frozen=True, slots=True)
class Box:
    """A node at its place, in pixels from the top left; `label` and `note` are cut to fit."""

    node: Node
    x: int
    y: int
    width: int
    height: int
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line as an SVG path. Lines of one kind that leave, or reach, one box share their
    way through the columns between, so they come in pieces; `head` is the arrow of the last."""

    kind: Kind
    path: str
    head: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph with everything at its place, `width` and `height` in pixels. `circular` counts the
    edges that were left out because they close a circle, `implied` those that follow from
    others."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    circular: int = 0
    implied: int = 0


def laid_out(nodes: Sequence[Node], edges: Sequence[Edge]) -> Drawing | None:
    """The graph from left to right: every node is placed, no two boxes overlap, every line goes
    to the right, and the same graph is always drawn the same.

    Edges that name unknown nodes, repeat, or follow from others are not drawn. None where there
    are more than `MAX_BOXES` nodes or `MAX_LINES` lines, which nobody could read.
    """
    if len(nodes) > MAX_BOXES:
        return None
    count = len(nodes)
    acyclic, circular = without_circles(count, _between(nodes, edges))
    lines = not_implied(count, acyclic)
    if len(lines) > MAX_LINES:
        return None
    parts = [_part([nodes[one] for one in members], of) for members, of in _parts(count, lines)]
    drawing = _packed(parts)
    return replace(drawing, circular=circular, implied=len(acyclic) - len(lines))


def _between(nodes: Sequence[Node], edges: Iterable[Edge]) -> dict[tuple[int, int], bool]:
    """Lines between the numbers of nodes; a need counts more than a mere order."""
    numbers: dict[str, int] = {}
    for number, node in enumerate(nodes):
        numbers.setdefault(node.id, number)
    found: dict[tuple[int, int], bool] = {}
    for edge in edges:
        first, then = numbers.get(edge.first), numbers.get(edge.then)
        if first is not None and then is not None and first != then:
            found[first, then] = found.get((first, then), True) and edge.kind == "after"
    return found


def _parts(count: int, lines: Lines) -> Iterator[tuple[list[int], dict[tuple[int, int], bool]]]:
    """What hangs together, with its lines by the place of nodes in it."""
    beside: list[list[int]] = [[] for _ in range(count)]
    for first, then in lines:
        beside[first].append(then)
        beside[then].append(first)
    part = [-1] * count
    members: list[list[int]] = []
    for start in range(count):
        if part[start] >= 0:
            continue
        part[start] = len(members)
        found = [start]
        for node in found:  # grows while it is walked
            for other in beside[node]:
                if part[other] < 0:
                    part[other] = part[start]
                    found.append(other)
        members.append(sorted(found))
    places = {node: at for found in members for at, node in enumerate(found)}
    own: list[dict[tuple[int, int], bool]] = [{} for _ in members]
    for (first, then), merely in lines.items():
        own[part[first]][places[first], places[then]] = merely
    yield from zip(members, own, strict=True)


@dataclass(frozen=True, slots=True)
class _Way:
    """A piece of a line: from the right of one column to the left of the next, or through a
    column that it only passes. With `ends` it has an arrow."""

    kind: Kind
    x: int
    y: int
    to_x: int
    to_y: int
    ends: bool

    def line(self, right: int, down: int) -> Line:
        x, y, to_x, to_y = self.x + right, self.y + down, self.to_x + right, self.to_y + down
        end = to_x - _HEAD + 1 if self.ends else to_x
        middle = (x + end) // 2
        way = f"H{end}" if y == to_y else f"C{middle} {y} {middle} {to_y} {end} {to_y}"
        wing = _HEAD // 2
        head = f"M{to_x} {to_y}l-{_HEAD}-{wing}v{2 * wing}z" if self.ends else ""
        return Line(self.kind, f"M{x} {y}{way}", head)


@dataclass(frozen=True, slots=True)
class _Part:
    width: int
    height: int
    boxes: list[Box]
    ways: list[_Way]


def _part(nodes: Sequence[Node], lines: Lines) -> _Part:
    columns = columns_of(len(nodes), lines)
    order = ordered(columns)
    high = _TALL if any(node.note for node in nodes) else _LOW
    middles = heights(
        order,
        columns.before,
        behind(columns),
        lambda one: high + _GAP if one < columns.count else _JOINT,
    )
    spans: dict[int, tuple[int, int]] = {}
    right = 0
    for column in order:
        wide = max([_width(nodes[one]) for one in column if one < columns.count], default=0)
        spans |= dict.fromkeys(column, (right, right + wide))
        right += wide + _BETWEEN
    boxes = [
        _box(node, *spans[number], middles[number] - high // 2, high)
        for number, node in enumerate(nodes)
    ]
    ways = list(_ways(columns, spans, middles))
    bottom = max(middles.values()) + (high + _GAP) // 2
    return _Part(right - _BETWEEN, bottom, boxes, ways)


def _ways(
    columns: Columns, spans: Mapping[int, tuple[int, int]], middles: Mapping[int, int]
) -> Iterator[_Way]:
    passed: set[int] = set()
    for (first, then), merely in columns.merely.items():
        kind: Kind = "after" if merely else "needs"
        left, right = spans[then]
        ends, y = then < columns.count, middles[then]
        yield _Way(kind, spans[first][1], middles[first], left, y, ends)
        # Lines that share a joint leave it as one.
        if not ends and then not in passed:
            passed.add(then)
            yield _Way(kind, left, y, right, y, False)


def _width(node: Node) -> int:
    wanted = max(text_width(node.label, LABEL_SIZE), text_width(node.note, NOTE_SIZE))
    return min(_WIDEST, max(_NARROWEST, math.ceil(wanted) + _left(node) + _INSET + 2))


def _left(node: Node) -> int:
    """Where the text of a box begins."""
    return TEXT_LEFT if node.symbol else _INSET


def _box(node: Node, x: int, right: int, y: int, high: int) -> Box:
    room = right - x - _left(node) - _INSET
    label, note = fitting(node.label, room, LABEL_SIZE), fitting(node.note, room, NOTE_SIZE)
    return Box(node, x, y, right - x, high, label, note)


def _packed(parts: Iterable[_Part]) -> Drawing:
    """Parts beside each other as far as a page is wide, the tallest first."""
    boxes: list[Box] = []
    lines: list[Line] = []
    wide = x = y = row = 0
    for part in sorted(parts, key=lambda part: -part.height):
        if x and x + part.width > PAGE_WIDTH:
            x, y = 0, y + row
            row = 0
        # A pixel on each side is for outlines.
        boxes += [replace(box, x=box.x + x + 1, y=box.y + y) for box in part.boxes]
        lines += [way.line(x + 1, y) for way in part.ways]
        wide, row = max(wide, x + part.width + 2), max(row, part.height)
        x += part.width + _BETWEEN
    return Drawing(wide, y + row, tuple(boxes), tuple(lines))
