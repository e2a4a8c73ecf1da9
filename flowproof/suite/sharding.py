"""Divides the flows of a suite among machines that do not talk to each other.

Every machine computes the whole plan from the same inputs and takes its own part of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flowproof.errors import UsageError
from flowproof.files import shortened


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` of `count`, counted from 1."""

    index: int
    count: int


def parse_shard(text: str) -> Shard:
    """Read `I/N`, such as `2/4`.

    :raises UsageError: if it is anything else, or I is not between 1 and N.
    """
    found = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
    if found is None:
        raise UsageError(f"--shard {shortened(text)}: it is written I/N, such as 2/4")
    shard = Shard(int(found[1]), int(found[2]))
    if not 1 <= shard.index <= shard.count:
        raise UsageError(f"--shard {shortened(text)}: I goes from 1 to N")
    return shard


def part_of(
    names: Sequence[str], shard: Shard, durations: Mapping[str, float] | None
) -> frozenset[str]:
    """The names that one shard runs. Together the shards run each name once.

    With `durations` in seconds, the longest go first, each to the shard with least to do so far
    (Graham's LPT rule, whose slowest shard takes at most 4/3 of the best plan's); a name without
    one counts as the median. Without durations every N-th name, in sorted order.
    """
    ordered = sorted(names)
    if not durations:
        return frozenset(ordered[shard.index - 1 :: shard.count])
    known = [durations[name] for name in ordered if name in durations]
    from statistics import median  # every suite loads this file, and few have shards

    usual = median(known) if known else 1.0
    seconds = {name: durations.get(name, usual) for name in ordered}
    # Of equal loads that with fewest names, or flows that take no time would all meet in one.
    loads = [(0.0, 0, index) for index in range(shard.count)]
    mine: list[str] = []
    for name in sorted(ordered, key=lambda name: (-seconds[name], name)):
        least, held, index = min(loads)
        loads[index] = (least + seconds[name], held + 1, index)
        if index == shard.index - 1:
            mine.append(name)
    return frozenset(mine)
