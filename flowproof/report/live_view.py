"""The live view of a terminal: running flows, counts, a bar with the time left, and above them
what has ended. rich draws it; the lines of flows come from `console`.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self, TextIO, cast

from flowproof.model.clock import Clock, SystemClock
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from flowproof.report.console import PLAIN, Style, finished
from flowproof.report.remaining import Remaining
from flowproof.report.text import one_line
from flowproof.report.words import VERDICTS, about, seconds

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

SHOWN = 12
"""At most so many running flows have a line of their own, and fewer on a low terminal."""
MANY = 100
"""In a run of more flows, one that ended and gives nobody anything to do gets no line."""


@dataclass(slots=True)
class _Running:
    name: str
    path: str
    since: float
    tries: int = 1


class LiveView:
    """Running flows with their elapsed time, below the lines of those that ended.

    `total` is the number of flows of the run, `jobs` how many of them run at once; `known` pairs
    the path of each flow that was timed before with its seconds. The view disappears when the
    context is left. A terminal that is gone ends what is shown, and not the run.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        total: int,
        jobs: int = 1,
        known: Sequence[tuple[str, float]] = (),
        style: Style = PLAIN,
        clock: Clock | None = None,
        verbose: bool = False,
    ) -> None:
        self._stream = _Terminal(stream)
        self._verbose = verbose
        self._total = total
        self._style = style
        self._clock = clock or SystemClock()
        # Mutable: all that has happened. The thread that draws reads it under the lock.
        self._lock = threading.Lock()
        self._remaining = Remaining(known, total, jobs)
        self._running: dict[tuple[str, str], _Running] = {}
        self._counts: Counter[Verdict] = Counter()
        self._live: Live | None = None
        self._console: Console | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        # Colours are decided here and come as ANSI text, so rich must neither add nor guess.
        self._console = Console(
            file=cast("IO[str]", self._stream),
            force_terminal=True,
            color_system="standard" if self._style.color else None,
            no_color=not self._style.color,
            markup=False,
            highlight=False,
            emoji=False,
        )
        self._live = Live(
            console=self._console,
            get_renderable=self._picture,
            transient=True,
            refresh_per_second=5,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def engine_opened(self, slots: int) -> None:
        """Estimate with so many flows at once."""
        with self._lock:
            self._remaining.at_once(slots)

    def flow_started(self, name: str, path: str) -> None:
        """Show the flow as running from now on, or as being tried again."""
        with self._lock:
            running = self._running.get((path, name))
            if running is not None:
                running.tries += 1
                return
            self._running[path, name] = _Running(name, path, self._clock.monotonic())
            self._remaining.begun(path)

    def flow_ended(self, record: FlowRecord) -> None:
        """Move the flow from the running ones to the lines above."""
        with self._lock:
            if self._running.pop((record.path, record.name), None) is None:
                self._remaining.begun(record.path)
            if record.verdict is not Verdict.SKIPPED:
                self._remaining.ended(record.duration)
            self._counts[record.verdict] += 1
        if self._console is not None and self._told(record):
            from rich.text import Text

            self._console.print(
                Text.from_ansi(finished(record, self._style, verbose=self._verbose)),
                soft_wrap=True,
                end="\n",
            )

    def refresh(self) -> None:
        """Draw the view now rather than at its next turn."""
        if self._live is not None:
            self._live.refresh()

    def _told(self, record: FlowRecord) -> bool:
        if self._verbose or self._total <= MANY or record.warnings:
            return True
        return record.verdict not in (Verdict.PASS, Verdict.SKIPPED)

    def _picture(self) -> RenderableType:
        from rich.text import Text

        width, height = self._console.size if self._console is not None else (80, 25)
        with self._lock:
            lines = self._picture_lines(width, height)
        return Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def _picture_lines(self, width: int, height: int) -> list[str]:
        """What is drawn, at most `SHOWN` lines and four more, however many flows there are."""
        now = self._clock.monotonic()
        shown = max(1, min(SHOWN, height - 6))
        # Flows are kept in the order in which they began: those that run longest come first.
        lines = [
            self._line(one, now, width) for one in itertools.islice(self._running.values(), shown)
        ]
        more = len(self._running) - len(lines)
        if more > 0:
            lines.append(self._style.faint(f"… and {more} more running"))
        return [*lines, self._progress(now, width), self._verdicts()]

    def _line(self, one: _Running, now: float, width: int) -> str:
        elapsed = now - one.since
        time = seconds(elapsed)
        expected = self._remaining.expected(one.path)
        if expected is not None and expected >= 1:
            time += f" of about {seconds(expected)}"
        tried = f"  try {one.tries}" if one.tries > 1 else ""
        name = one_line(one.name, max(16, min(60, width - 32)))
        return f"{self._style.faint('…')} {name}  {time}{tried}"

    def _progress(self, now: float, width: int) -> str:
        ended = self._counts.total()
        room = max(8, min(30, width // 4))
        full = room if ended >= self._total else room * ended // max(1, self._total)
        bar = self._style.tone("━" * full, "good") + self._style.faint("─" * (room - full))
        left = self._remaining.seconds(
            (one.path, now - one.since) for one in self._running.values()
        )
        estimate = f", {about(left)} left" if left is not None and left >= 1 else ""
        return f"{bar} {ended} of {self._total} done, {len(self._running)} running{estimate}"

    def _verdicts(self) -> str:
        counted = (
            self._style.tone(f"{self._counts[verdict]} {verdict}", VERDICTS[verdict].tone)
            for verdict in Verdict
            if self._counts[verdict]
        )
        return ", ".join(counted)


class _Terminal:
    """A stream whose loss is nobody's error: the terminal was closed while flows ran on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def isatty(self) -> bool:
        return True
