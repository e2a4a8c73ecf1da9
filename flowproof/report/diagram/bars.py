"""Places bars on an axis of time, and merges those that nobody could tell apart. `timeline` says
what ran, the template draws it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from flowproof.report.diagram.labels import fitting, text_width
from flowproof.report.words import Tone, Words, seconds

BARS = 2_000
"""So many bars are drawn singly."""
WIDTH = 1000
BAR_SIZE = 11
"""The width of a timeline and the size of the text in a bar, in pixels."""
_RIGHT = 26
_THIN = 2.0
_SYMBOL, _NAME = 14, 44
"""From this width on a bar has room for its symbol, and for its name."""
_TALL = 14
_LOUDER: tuple[Tone, ...] = ("quiet", "good", "warn", "bad")


class Span(Protocol):
    """What a bar stands for; `offset` and `duration` in seconds."""

    @property
    def name(self) -> str: ...
    @property
    def words(self) -> Words: ...
    @property
    def offset(self) -> float: ...
    @property
    def duration(self) -> float: ...
    @property
    def href(self) -> str: ...
    @property
    def says(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Axis:
    """Time from 0 to `span` seconds, from `left` pixels on to near the right of the drawing."""

    left: int
    span: float

    def x(self, time: float) -> float:
        """Where a time is, in pixels."""
        return round(self.left + time * (WIDTH - _RIGHT - self.left) / self.span, 1)


@dataclass(frozen=True, slots=True)
class Bar:
    """One flow or task in its lane, `x` and `width` in pixels; no width where it did not run.
    `label` begins at `label_x`, in the bar or beside it, and may be empty."""

    x: float
    width: float
    tone: Tone
    label: str
    label_x: float
    title: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Merged:
    """Many bars of one tone in one lane, as an SVG path from the top of the lane's bars."""

    tone: Tone
    path: str
    title: str


def drawn_bars(
    lanes: Sequence[Sequence[Span]], axis: Axis
) -> Iterator[tuple[tuple[Bar, ...], tuple[Merged, ...]]]:
    """For each lane the bars that are drawn singly, and the others merged by tone."""
    places = [(lane, at) for lane, spans in enumerate(lanes) for at in range(len(spans))]
    if len(places) > BARS:
        places.sort(key=lambda place: _counts(lanes[place[0]][place[1]]), reverse=True)
    single: dict[int, set[int]] = defaultdict(set)
    for lane, at in places[:BARS]:
        single[lane].add(at)
    for lane, spans in enumerate(lanes):
        alone = single[lane]
        bars = tuple(_bar(axis, span) for at, span in enumerate(spans) if at in alone)
        rest = (span for at, span in enumerate(spans) if at not in alone)
        yield bars, tuple(_merged(axis, rest))


def _counts(span: Span) -> tuple[bool, float]:
    return span.words.tone == "bad", span.duration


def _edges(axis: Axis, span: Span) -> tuple[float, float]:
    x = axis.x(span.offset)
    return x, round(max(_THIN, axis.x(span.offset + span.duration) - x), 1)


def _bar(axis: Axis, span: Span) -> Bar:
    x, width = _edges(axis, span)
    label = ""
    if width >= _NAME:
        label = fitting(f"{span.words.symbol} {span.name}", width - 9, BAR_SIZE)
    if not label and width >= _SYMBOL:
        label = span.words.symbol
    inset = 5 if width >= _NAME else (width - text_width(label, BAR_SIZE)) / 2
    return Bar(x, width, span.words.tone, label, round(x + inset, 1), span.says, span.href)


def _merged(axis: Axis, spans: Iterable[Span]) -> Iterator[Merged]:
    tones: dict[Tone, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        x, width = _edges(axis, span)
        tones[span.words.tone].append((math.floor(x), math.ceil(x + width)))
    for tone in _LOUDER:
        if found := tones[tone]:
            columns = "".join(
                f"M{start} 0h{end - start}v{_TALL}h{start - end}z"
                for start, end in _joined(sorted(found))
            )
            yield Merged(tone, columns, f"{len(found):,} that were too brief to stand alone")


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that touch, as one; they come sorted."""
    first: int | None = None
    last = 0
    for start, end in spans:
        if first is None:
            first, last = start, end
        elif start <= last:
            last = max(last, end)
        else:
            yield first, last
            first, last = start, end
    if first is not None:
        yield first, last


def noted_bar(axis: Axis, span: Span | None, words: Words, title: str) -> Bar:
    """A bar that is alone in its lane, with its state and time beside it; None did not run."""
    if span is None:
        return Bar(axis.left, 0, words.tone, f"{words.symbol} {words.phrase}", axis.left + 4, title)
    x, width = _edges(axis, span)
    label = f"{words.symbol} {seconds(span.duration)}"
    if words.tone != "good":
        label = f"{words.symbol} {words.phrase} · {seconds(span.duration)}"
    wide = text_width(label, BAR_SIZE)
    if x + width + 5 + wide <= WIDTH:
        label_x = x + width + 5
    else:
        label_x = x + 6 if width > wide + 10 else max(0, x - wide - 5)
    return Bar(x, width, words.tone, label, round(label_x, 1), title)
