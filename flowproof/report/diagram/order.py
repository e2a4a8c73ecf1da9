"""In which order the nodes of a column stand, so that few lines cross: sweeps over the columns
put each node at the mean place of its neighbours. `layers` makes the columns.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

from flowproof.report.diagram.layers import Columns

_SWEEPS = 8

Neighbours = Mapping[int, Sequence[int]]


def behind(columns: Columns) -> dict[int, list[int]]:
    """For each node and joint where its lines go to, in the column after."""
    found: dict[int, list[int]] = {node: [] for node in columns.before}
    for node, firsts in columns.before.items():
        for first in firsts:
            found[first].append(node)
    return found


def ordered(columns: Columns) -> list[list[int]]:
    """The columns, each in the order in which the fewest lines cross that a fixed number of
    sweeps found."""
    now = [list(column) for column in columns.columns]
    after = behind(columns)
    best, fewest = [list(column) for column in now], _crossings(now, columns.before)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        forth = sweep % 2 == 0
        neighbours: Neighbours = columns.before if forth else after
        span = range(1, len(now)) if forth else range(len(now) - 2, -1, -1)
        for at in span:
            now[at] = _by_mean(now[at], now[at - 1 if forth else at + 1], neighbours)
        crossings = _crossings(now, columns.before)
        if crossings < fewest:
            best, fewest = [list(column) for column in now], crossings
    return best


def _by_mean(column: list[int], beside: list[int], neighbours: Neighbours) -> list[int]:
    place = {node: at for at, node in enumerate(beside)}
    # A node without neighbours stays about where it was.
    scale = len(beside) / max(1, len(column))
    means: dict[int, float] = {}
    for at, node in enumerate(column):
        found = neighbours[node]
        means[node] = sum(place[one] for one in found) / len(found) if found else at * scale
    return sorted(column, key=means.__getitem__)


def _crossings(columns: Sequence[Sequence[int]], before: Neighbours) -> int:
    count = 0
    for first, then in pairwise(columns):
        place = {node: at for at, node in enumerate(first)}
        seen: list[int] = []
        for node in then:
            places = sorted(place[one] for one in before[node])
            count += sum(len(seen) - bisect_right(seen, at) for at in places)
            for at in places:
                insort(seen, at)
    return count
