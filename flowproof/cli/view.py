"""What a person sees while flows run, loaded no earlier than there is something to show."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from flowproof.cli.options import Output, OutputLost, for_a_reader, say

if TYPE_CHECKING:
    from flowproof.model.clock import Clock
    from flowproof.model.run_record import FlowRecord
    from flowproof.report.live import Progress
    from flowproof.suite.plan import PlannedFlow


def view_for(
    planned: Sequence[PlannedFlow], jobs: int, output: Output, environ: Mapping[str, str]
) -> Progress:
    """A live view where several flows run on a terminal; else a line for each that ended."""
    if len(planned) > 1 and not output.quiet:
        from flowproof.report.console import is_interactive
        from flowproof.report.live import progress

        if is_interactive(sys.stderr, environ):
            return progress(
                sys.stderr,
                environ,
                total=len(planned),
                jobs=jobs,
                known=[(_path(one), one.seconds) for one in planned if one.seconds is not None],
                color=output.color,
                verbose=output.verbose,
            )

    def tell(record: FlowRecord) -> None:
        if output.quiet and record.verdict.green:
            return
        from flowproof.report.ci import obeys_its_log
        from flowproof.report.console import Style, wants_color
        from flowproof.report.live import PlainLines

        color = wants_color(sys.stderr, environ) if output.color is None else output.color
        lines = PlainLines(
            sys.stderr,
            style=Style(color),
            verbose=output.verbose,
            defuse=obeys_its_log(environ),
        )
        with contextlib.suppress(OutputLost), for_a_reader(sys.stderr):
            lines.flow_ended(record)

    return Late(tell)


def _path(one: PlannedFlow) -> str:
    """The path of a flow as its record will have it: each of its repetitions has the same."""
    return one.id.removesuffix(f" [{one.repetition}]") if one.repetition else one.id


@contextlib.contextmanager
def foldable(
    flows: int, output: Output, environ: Mapping[str, str], clock: Clock
) -> Iterator[None]:
    """Lets a reader of GitLab's log fold what is said inside, where that is more than a flow."""
    from flowproof.report.ci import gitlab_section, gitlab_section_end, on_gitlab

    if flows < 2 or output.quiet or not on_gitlab(environ):
        yield
        return
    say(gitlab_section("flowproof_flows", f"{flows} flows", clock.now()))
    try:
        yield
    finally:
        say(gitlab_section_end("flowproof_flows", clock.now()))


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

    def engine_opened(self, slots: int) -> None:
        """Nothing."""

    def flow_started(self, name: str, path: str) -> None:
        """Nothing."""

    def flow_ended(self, record: FlowRecord) -> None:
        """Tell of it."""
        self._tell(record)
