"""What a person sees while flows run: a live view on a terminal, plain lines anywhere else.

The view is `live_view`, loaded only where it is shown; the lines come from `console`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TextIO

from flowproof.model.clock import Clock
from flowproof.model.run_record import FlowRecord
from flowproof.report.ci import defused, obeys_its_log
from flowproof.report.console import PLAIN, Style, finished, is_interactive, wants_color


class Progress(Protocol):
    """Told about flows as they start and end; flows may run at the same time."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def engine_opened(self, slots: int) -> None:
        """So many flows run at once, which may be other than was thought before."""

    def flow_started(self, name: str, path: str) -> None:
        """A flow begins, or is tried again; its record will have this name and path."""

    def flow_ended(self, record: FlowRecord) -> None:
        """A flow has its verdict; it may be one that never started, such as a skipped one."""


def progress(
    stream: TextIO,
    environ: Mapping[str, str],
    *,
    total: int,
    jobs: int = 1,
    known: Sequence[tuple[str, float]] = (),
    color: bool | None = None,
    clock: Clock | None = None,
    verbose: bool = False,
) -> Progress:
    """The kind of progress that suits a stream. `color` overrides what the environment says;
    `verbose` also tells what the agents of green flows printed. The rest is as in `LiveView`."""
    style = Style(wants_color(stream, environ) if color is None else color)
    if is_interactive(stream, environ):
        from flowproof.report.live_view import LiveView

        return LiveView(
            stream,
            total=total,
            jobs=jobs,
            known=known,
            style=style,
            clock=clock,
            verbose=verbose,
        )
    return PlainLines(stream, style=style, verbose=verbose, defuse=obeys_its_log(environ))


class PlainLines:
    """One line per finished flow, details below it; no cursor is ever moved. `defuse` keeps a
    service that searches its log for commands from finding any."""

    def __init__(
        self,
        stream: TextIO,
        *,
        style: Style = PLAIN,
        verbose: bool = False,
        defuse: bool = False,
    ) -> None:
        self._stream = stream
        self._style = style
        self._verbose = verbose
        self._defuse = defuse

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.flush()

    def engine_opened(self, slots: int) -> None:
        """Nothing: the summary says how many ran at a time."""

    def flow_started(self, name: str, path: str) -> None:
        """Nothing: a line about a start would only repeat what the end says."""

    def flow_ended(self, record: FlowRecord) -> None:
        """Write the line of this flow and what stands below it."""
        text = finished(record, self._style, verbose=self._verbose) + "\n"
        # In one piece, so that nothing of another flow gets between.
        self._stream.write(defused(text) if self._defuse else text)
        self._stream.flush()
