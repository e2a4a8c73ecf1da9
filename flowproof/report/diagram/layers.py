"""In which column each node of a graph stands: right of all it waits for, and never too many in
one. Nodes are numbers from 0; `layout` turns them into boxes.

A line that passes columns gets a joint in each of them. Lines of one kind that begin, or end, at
one node share their joints, so that a node with many lines does not fill the columns beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

TALLEST = 12
"""More boxes than this do not stand in one column."""

Lines = Mapping[tuple[int, int], bool]
"""Lines from one node to another, and whether the second merely comes after the first."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Nodes by column. Numbers below `count` are the nodes themselves, the others joints.

    `before` has for each node and joint where its lines come from, in the column before;
    `merely` says of each such line whether it is merely one of order.
    """

    count: int
    columns: tuple[tuple[int, ...], ...]
    before: Mapping[int, tuple[int, ...]]
    merely: Mapping[tuple[int, int], bool]


def without_circles(count: int, lines: Lines) -> tuple[dict[tuple[int, int], bool], int]:
    """The lines without those that close a circle, and how many these were."""
    after: list[list[int]] = [[] for _ in range(count)]
    for first, then in lines:
        after[first].append(then)
    state = bytearray(count)  # 0 not seen, 1 on the way, 2 done
    back: set[tuple[int, int]] = set()
    for start in range(count):
        way = [] if state[start] else [(start, iter(after[start]))]
        state[start] = state[start] or 1
        while way:
            node, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[node] = 2
                way.pop()
            elif state[following] == 1:
                back.add((node, following))
            elif not state[following]:
                state[following] = 1
                way.append((following, iter(after[following])))
    return {line: merely for line, merely in lines.items() if line not in back}, len(back)


def in_order(count: int, lines: Iterable[tuple[int, int]]) -> list[int]:
    """The nodes, each after all that have a line to it; lines must not make circles."""
    after: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for first, then in lines:
        after[first].append(then)
        waits[then] += 1
    ready = [node for node in range(count) if not waits[node]]
    for node in ready:  # grows while it is walked
        for following in after[node]:
            waits[following] -= 1
            if not waits[following]:
                ready.append(following)
    return ready


def not_implied(count: int, lines: Lines) -> dict[tuple[int, int], bool]:
    """The lines that do not follow from others. Where `a` needs `b` and `b` needs `c`, that `a`
    needs `c` is clear; a need does not follow from a mere order."""
    order = in_order(count, lines)
    before: dict[int, list[int]] = defaultdict(list)
    for first, then in lines:
        before[then].append(first)
    place = {node: at for at, node in enumerate(order)}
    # Sets of nodes as bits: what has to be passed, and what merely to end, before each node.
    needed, ended = [0] * count, [0] * count
    kept: dict[tuple[int, int], bool] = {}
    for node in order:
        # The nearest first: what it implies is known when the farther one is looked at.
        for first in sorted(before[node], key=place.__getitem__, reverse=True):
            merely = lines[first, node]
            if not ((ended if merely else needed)[node] >> first) & 1:
                kept[first, node] = merely
            if not merely:
                needed[node] |= needed[first] | 1 << first
            ended[node] |= ended[first] | 1 << first
    return {line: merely for line, merely in lines.items() if line in kept}


def columns_of(count: int, lines: Lines) -> Columns:
    """Every node in the column after the last that it waits for; a node that waits for none
    stands right before the first that waits for it. Lines must not make circles."""
    column = _earliest(count, lines)
    places = _none_too_tall(count, lines, column)
    columns: list[list[int]] = [[] for _ in range(max(places, default=-1) + 1)]
    for node, at in enumerate(places):
        columns[at].append(node)
    before: dict[int, list[int]] = {node: [] for node in range(count)}
    merely: dict[tuple[int, int], bool] = {}

    def joined(first: int, then: int, kind: bool) -> None:
        if (first, then) not in merely:
            merely[first, then] = kind
            before.setdefault(then, []).append(first)

    leaving = Counter((first, kind) for (first, _), kind in lines.items())
    coming = Counter((then, kind) for (_, then), kind in lines.items())
    joints: dict[tuple[int, bool, int], int] = {}
    for (first, then), kind in lines.items():
        # The end at which more lines meet is where they run together.
        meet = first if leaving[first, kind] >= coming[then, kind] else then
        last = first
        for at in range(places[first] + 1, places[then]):
            joint = joints.setdefault((meet, kind, at), count + len(joints))
            if joint not in before:
                columns[at].append(joint)
            joined(last, joint, kind)
            last = joint
        joined(last, then, kind)
    return Columns(
        count,
        tuple(map(tuple, columns)),
        {node: tuple(firsts) for node, firsts in before.items()},
        merely,
    )


def _earliest(count: int, lines: Lines) -> list[int]:
    order = in_order(count, lines)
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for first, then in lines:
        before[then].append(first)
        after[first].append(then)
    column = [0] * count
    for node in order:
        column[node] = 1 + max((column[first] for first in before[node]), default=-1)
    for node in order:
        if not before[node] and after[node]:
            column[node] = min(column[then] for then in after[node]) - 1
    return column


def _none_too_tall(count: int, lines: Lines, column: Sequence[int]) -> list[int]:
    """The columns once each that has too many nodes is spread over several: first those that
    nothing waits for, so that lines to the next column stay short."""
    waited = {first for first, _ in lines}
    members: dict[int, list[int]] = defaultdict(list)
    for node in range(count):
        members[column[node]].append(node)
    places = [0] * count
    first = 0
    for at in sorted(members):
        nodes = sorted(members[at], key=waited.__contains__)
        number = -(-len(nodes) // TALLEST)
        for index, node in enumerate(nodes):
            places[node] = first + index * number // len(nodes)
        first += number
    return places
