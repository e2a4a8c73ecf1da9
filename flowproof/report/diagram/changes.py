"""Which flows took much longer, or much less, than when the suite last ran."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flowproof.report.diagram.drawn import DrawnFlow
from flowproof.report.diagram.ticks import finite
from flowproof.report.words import Tone, seconds

_TIMES = 1.5
_APART = 0.5
_LONGEST = 1_000_000.0


@dataclass(frozen=True, slots=True)
class DurationChange:
    """A flow whose duration changed: `usual` and `now` in words (`1.25 s`), `symbol` (▲ longer,
    ▼ shorter) and `change` in words (`2.3 times as long`, `43 % of the time`)."""

    flow: DrawnFlow
    usual: str
    now: str
    symbol: str
    change: str
    tone: Tone


def duration_changes(flows: Iterable[DrawnFlow], limit: int = 20) -> tuple[DurationChange, ...]:
    """The flows whose duration differs most from `usual`, the largest difference first: at least
    1.5 times as long or as short, and half a second apart. Flows that did not run are left out.
    It takes one pass over the flows."""
    # The place decides between equal differences, so that the order is always the same.
    largest = heapq.nlargest(limit, _changed(flows), key=lambda found: (found[0], -found[1]))
    return tuple(_change(flow, usual, now) for _, _, flow, usual, now in largest)


def _changed(
    flows: Iterable[DrawnFlow],
) -> Iterator[tuple[float, int, DrawnFlow, float, float]]:
    for place, flow in enumerate(flows):
        usual, now = finite(flow.usual), finite(flow.duration)
        if flow.offset is None or usual is None or now is None:
            continue
        less, more = sorted((usual, now))
        if more - less >= _APART and more >= _TIMES * less:
            yield more - less, place, flow, usual, now


def _change(flow: DrawnFlow, usual: float, now: float) -> DurationChange:
    if now > usual:
        times = min(now / usual, _LONGEST) if usual else _LONGEST
        said = f"{times:.1f} times as long" if times < 100 else "over 100 times as long"
        return DurationChange(flow, seconds(usual), seconds(now), "▲", said, "warn")
    share = (
        f"{100 * now / usual:.0f} % of the time" if now >= usual / 100 else "under 1 % of the time"
    )
    return DurationChange(flow, seconds(usual), seconds(now), "▼", share, "quiet")
