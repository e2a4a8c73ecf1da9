"""Trying a flow again: when that is worth it, and what the attempts together come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord


def again(record: FlowRecord) -> bool:
    """Whether another try may end otherwise: the agent or the world failed, and no author did."""
    if record.verdict is Verdict.CAPABILITY_ERROR:
        return False
    return record.exit_code in (ExitCode.FLOW_FAILED, ExitCode.WORLD_ERROR)


def with_attempts(record: FlowRecord, earlier: Sequence[FlowRecord]) -> FlowRecord:
    """The last try, with those before it; one that passed only then is `flaky`."""
    if not earlier:
        return record
    attempts: list[AttemptRecord] = []
    for one in earlier:
        # Those of its own are tries whose worker was lost.
        own = AttemptRecord(one.verdict, one.exit_code, one.duration, one.reason)
        attempts += (*one.attempts, own)
    attempts += record.attempts
    if not record.verdict.green:
        return replace(record, attempts=tuple(attempts))
    tries = "1 try" if len(earlier) == 1 else f"{len(earlier)} tries"
    reason = f"it passed after {tries} that did not: {earlier[0].reason}"
    return replace(record, verdict=Verdict.FLAKY, reason=reason, attempts=tuple(attempts))
