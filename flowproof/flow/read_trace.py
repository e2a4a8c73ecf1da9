"""Reads a flow's recording, and refuses one that was made under other mocks."""

from __future__ import annotations

from flowproof.dialects.names import SPOKEN
from flowproof.errors import CapabilityError, StaleTrace
from flowproof.flow.job import FlowJob
from flowproof.model.visible import visible
from flowproof.trace.changes import mock_changes, server_changes
from flowproof.trace.document import Trace
from flowproof.trace.file import read_trace as read_file


def read_trace(job: FlowJob) -> Trace:
    """The trace of a flow, checked against the mocks that its spec declares today.

    :raises TraceMissing: if there is none.
    :raises TraceCorrupt: if it cannot be read.
    :raises StaleTrace: if a mock was added, removed or edited since, or an MCP server was added
        or removed.
    :raises CapabilityError: if it was recorded in a dialect that this version does not speak.
    """
    trace = read_file(job.trace_path, job.shown_trace, job.shown_path)
    require_spoken(trace)
    changes = [
        *mock_changes(job.spec.mocks, trace.mocks),
        *server_changes(job.spec.mcp, trace.mcp),
    ]
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        what = "mocks and MCP servers" if job.spec.mcp or trace.mcp else "mocks"
        raise StaleTrace(
            f"the {what} in {job.shown_path} are not those that {job.shown_trace} was recorded "
            f"with:\n{listed}\nrecord again: flowproof record {job.shown_path}"
        )
    return trace


def require_spoken(trace: Trace) -> None:
    """Check that this version speaks every dialect in a trace.

    :raises CapabilityError: naming those that it does not.
    """
    if trace.side_calls:
        _require_known({call.operation.dialect for call in trace.side_calls})
    foreign = sorted({turn.operation.dialect for turn in trace.turns} - set(SPOKEN))
    if foreign:
        raise CapabilityError(
            f"the trace was recorded in {', '.join(foreign)}; this version reads "
            f"{', '.join(SPOKEN)}"
        )


def _require_known(side_endpoints: set[str]) -> None:
    from flowproof.dialects.side_endpoints import SIDE_ENDPOINTS

    if foreign := sorted(side_endpoints - SIDE_ENDPOINTS.keys()):
        raise CapabilityError(
            f"the trace holds calls of {visible(', '.join(foreign)[:200])}; this version knows "
            f"{', '.join(SIDE_ENDPOINTS)}"
        )
