"""A flow that has begun and not ended: what is left of it where its run is cut short.

`run` keeps one for each; `records.cut_off` makes a record of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord


@dataclass(slots=True)
class Running:
    """The last try of a flow, in its `slot`. `started` is RFC 3339 in UTC, `begun` and `ended` are
    seconds of the run's clock. `record` is how far it had come, where its engine knows; `earlier`
    are the records of the tries before it. `launched` is when its engine was given it, in seconds
    from the start of the run."""

    slot: int
    # Mutable: filled as the flow goes on.
    started: str = ""
    begun: float = 0.0
    ended: float | None = None
    launched: float | None = None
    record: FlowRecord | None = None
    earlier: Sequence[FlowRecord] = field(default_factory=tuple)

    def begin(self, started: str, begun: float) -> None:
        """Another try begins."""
        self.started, self.begun, self.record = started, begun, None
        self.launched = None

    def note(self, record: FlowRecord) -> None:
        """This is how far it came."""
        self.record = record

    @property
    def duration(self) -> float:
        """Seconds from the begin of the last try until it was over."""
        return 0.0 if self.ended is None else max(0.0, self.ended - self.begun)
