"""What a person sees while flows run: a live view on a terminal, plain lines anywhere else.

rich draws the live view and is imported only for it; the lines come from `console`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

from flowproof.model.clock import Clock, SystemClock
from flowproof.model.run_record import FlowRecord
from flowproof.report.console import (
    PLAIN,
    Style,
    flow_detail,
    flow_line,
    is_interactive,
    wants_color,
)
from flowproof.report.text import one_line
from flowproof.report.words import seconds

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live


class Progress(Protocol):
    """Told about flows as they start and end; flows may run at the same time."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def flow_started(self, name: str) -> None:
        """A flow begins. Several of one name may run at once."""

    def flow_ended(self, record: FlowRecord) -> None:
        """A flow has its verdict; it may be one that never started, such as a skipped one."""


def progress(
    stream: TextIO,
    environ: Mapping[str, str],
    *,
    total: int,
    color: bool | None = None,
    clock: Clock | None = None,
    verbose: bool = False,
) -> Progress:
    """The kind of progress that suits a stream. `color` overrides what the environment says;
    `verbose` also tells what the agents of green flows printed."""
    style = Style(wants_color(stream, environ) if color is None else color)
    if is_interactive(stream, environ):
        return LiveView(
            stream, total=total, style=style, clock=clock or SystemClock(), verbose=verbose
        )
    return PlainLines(stream, style=style, verbose=verbose)


class PlainLines:
    """One line per finished flow, details below it; no cursor is ever moved."""

    def __init__(self, stream: TextIO, *, style: Style = PLAIN, verbose: bool = False) -> None:
        self._stream = stream
        self._style = style
        self._verbose = verbose

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.flush()

    def flow_started(self, name: str) -> None:
        """Nothing: a line about a start would only repeat what the end says."""

    def flow_ended(self, record: FlowRecord) -> None:
        """Write the line of this flow and what stands below it."""
        self._stream.write(finished(record, self._style, verbose=self._verbose) + "\n")
        self._stream.flush()


class LiveView:
    """Running flows with their elapsed time, below the lines of those that ended.

    `total` is the number of flows of the run. The view disappears when the context is left.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        total: int,
        style: Style = PLAIN,
        clock: Clock | None = None,
        verbose: bool = False,
    ) -> None:
        self._stream = stream
        self._verbose = verbose
        self._total = total
        self._style = style
        self._clock = clock or SystemClock()
        self._running: list[tuple[str, float]] = []
        self._ended = 0
        self._red = 0
        self._live: Live | None = None
        self._console: Console | None = None

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        # Colours are decided here and come as ANSI text, so rich must neither add nor guess.
        self._console = Console(
            file=self._stream,
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
            refresh_per_second=8,
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

    def flow_started(self, name: str) -> None:
        """Show the flow as running from now on."""
        self._running.append((name, self._clock.monotonic()))

    def flow_ended(self, record: FlowRecord) -> None:
        """Move the flow from the running ones to the lines above."""
        for entry in self._running:
            if entry[0] == record.name:
                self._running.remove(entry)
                break
        self._ended += 1
        self._red += not record.verdict.green
        if self._console is not None:
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

    def _picture(self) -> RenderableType:
        from rich.text import Text

        now = self._clock.monotonic()
        # A tuple, because the thread that draws must not see the list change under it.
        lines = [
            f"{self._style.faint('…')} {one_line(name, 60)}  {seconds(now - since)}"
            for name, since in tuple(self._running)[:12]
        ]
        red = f", {self._red} not green" if self._red else ""
        lines.append(f"{self._ended} of {self._total} done, {len(self._running)} running{red}")
        return Text.from_ansi("\n".join(lines), no_wrap=True, overflow="ellipsis")


def finished(flow: FlowRecord, style: Style = PLAIN, *, verbose: bool = False) -> str:
    """The line of a flow that ended, with its details below."""
    detail = flow_detail(flow, style, verbose=verbose)
    line = flow_line(flow, style)
    return f"{line}\n{detail}" if detail else line
