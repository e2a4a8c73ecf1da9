"""What a person sees while flows run, loaded no earlier than there is something to show."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from flowproof.cli.options import Output, OutputLost, for_a_reader

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord
    from flowproof.report.live import Progress


def view_for(flows: int, output: Output, environ: Mapping[str, str]) -> Progress:
    """A live view where several flows run on a terminal; else a line for each that ended."""
    if flows > 1 and not output.quiet:
        from flowproof.report.console import is_interactive
        from flowproof.report.live import progress

        if is_interactive(sys.stderr, environ):
            return progress(
                sys.stderr, environ, total=flows, color=output.color, verbose=output.verbose
            )

    def tell(record: FlowRecord) -> None:
        if output.quiet and record.verdict.green:
            return
        from flowproof.report.console import Style, wants_color
        from flowproof.report.live import PlainLines

        color = wants_color(sys.stderr, environ) if output.color is None else output.color
        lines = PlainLines(sys.stderr, style=Style(color), verbose=output.verbose)
        with contextlib.suppress(OutputLost), for_a_reader(sys.stderr):
            lines.flow_ended(record)

    return Late(tell)


class Late:
    """Passes on only what has ended."""

    def __init__(self, tell: Callable[[FlowRecord], None]) -> None:
        self._tell = tell

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def flow_started(self, name: str) -> None:
        """Nothing."""

    def flow_ended(self, record: FlowRecord) -> None:
        """Tell of it."""
        self._tell(record)
