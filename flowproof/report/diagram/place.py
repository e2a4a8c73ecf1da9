"""How high each node stands once the order of its column is known: as near to the mean of its
neighbours as the others let it. `order` gives the order, `layout` draws what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

_SWEEPS = 6


def heights(
    columns: Sequence[Sequence[int]],
    before: Mapping[int, Sequence[int]],
    after: Mapping[int, Sequence[int]],
    room: Callable[[int], int],
) -> dict[int, int]:
    """The middle of each node in pixels from the top of all. `room` is how much of its column a
    node takes, with the gap to the next; nodes keep their order and never overlap."""
    middles: dict[int, float] = {}
    for column in columns:
        middles |= _spread(column, [0.0] * len(column), room)
    still = 0
    for sweep in range(_SWEEPS):
        forth, last = sweep % 2 == 0, dict(middles)
        neighbours = before if forth else after
        for column in columns if forth else reversed(columns):
            wished = [_mean(node, neighbours[node], middles) for node in column]
            middles |= _spread(column, wished, room)
        still = still + 1 if middles == last else 0
        if still == 2:
            break  # neither way anything moves
    top = min((middles[node] - room(node) / 2 for column in columns for node in column), default=0)
    return {node: round(middle - top) for node, middle in middles.items()}


def _mean(node: int, neighbours: Sequence[int], middles: Mapping[int, float]) -> float:
    if not neighbours:
        return middles[node]
    return sum(middles[one] for one in neighbours) / len(neighbours)


def _spread(
    column: Sequence[int], wished: Sequence[float], room: Callable[[int], int]
) -> dict[int, float]:
    """The places nearest to those wished, by the least sum of squares, at which no two nodes
    overlap. Whoever would overlap moves as one block to the mean of what its nodes wish."""
    offsets: list[float] = []
    used = 0.0
    for node in column:
        offsets.append(used + room(node) / 2)
        used += room(node)
    blocks: list[tuple[float, int]] = []  # the sum of what its nodes wish, and their number
    for wish, offset in zip(wished, offsets, strict=True):
        total, number = wish - offset, 1
        while blocks and blocks[-1][0] * number >= total * blocks[-1][1]:
            total, number = total + blocks[-1][0], number + blocks[-1][1]
            blocks.pop()
        blocks.append((total, number))
    starts = [round(total / number) for total, number in blocks for _ in range(number)]
    return {
        node: start + offset for node, start, offset in zip(column, starts, offsets, strict=True)
    }
