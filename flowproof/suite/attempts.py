"""Trying a flow again: when that is worth it, and what the attempts together come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit, Captured
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord

KEPT = 4 * 1024
"""Bytes of each stream of an agent that stay of a try that was not the last."""


def again(record: FlowRecord) -> bool:
    """Whether another try may end otherwise: the agent or the world failed, and no author did."""
    if record.verdict is Verdict.CAPABILITY_ERROR:
        return False
    return record.exit_code in (ExitCode.FLOW_FAILED, ExitCode.WORLD_ERROR)


def given_up(record: FlowRecord, before: FlowRecord) -> str:
    """Why another try would be for nothing; empty where it may end otherwise. The agent asked
    twice in a row for the same thing that was not recorded; what else fails may do so by chance."""
    if record.divergence is None or record.divergence != before.divergence:
        return ""
    return "not tried again: the same divergence came twice"


def with_attempts(record: FlowRecord, earlier: Sequence[FlowRecord]) -> FlowRecord:
    """The last try, with those before it; one that passed only then is `flaky`."""
    if not earlier:
        return record
    attempts: list[AttemptRecord] = []
    for one in earlier:
        # Those of its own are tries whose worker was lost.
        own = AttemptRecord(
            one.verdict,
            one.exit_code,
            one.duration,
            one.reason,
            None if one.agent is None else _ending(one.agent),
        )
        attempts += (*one.attempts, own)
    attempts += record.attempts
    if not record.verdict.green:
        return replace(record, attempts=tuple(attempts))
    tries = "1 try" if len(earlier) == 1 else f"{len(earlier)} tries"
    reason = f"it passed after {tries} that did not: {earlier[0].reason}"
    return replace(record, verdict=Verdict.FLAKY, reason=reason, attempts=tuple(attempts))


def _ending(agent: AgentExit) -> AgentExit:
    return replace(agent, stdout=_tail(agent.stdout), stderr=_tail(agent.stderr))


def _tail(kept: Captured) -> Captured:
    """The end of what was kept of a stream, in whole characters."""
    data = kept.text.encode("utf-8", "replace")
    if len(data) <= KEPT:
        return kept
    tail = data[-KEPT:].decode("utf-8", "ignore")
    return Captured(f"[… its beginning is left out …]\n{tail}", kept.total)
