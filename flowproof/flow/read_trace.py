"""Reads a flow's recording, and refuses one that was made under other mocks."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects.names import SPOKEN
from flowproof.errors import CapabilityError, StaleTrace
from flowproof.flow.job import FlowJob
from flowproof.model.flow_spec import Mock
from flowproof.model.visible import visible
from flowproof.trace.document import RecordedMock, Trace, recorded_mocks
from flowproof.trace.file import read_trace as read_file


def read_trace(job: FlowJob) -> Trace:
    """The trace of a flow, checked against the mocks that its spec declares today.

    :raises TraceMissing: if there is none.
    :raises TraceCorrupt: if it cannot be read.
    :raises StaleTrace: if a mock was added, removed or edited since.
    :raises CapabilityError: if it was recorded in a dialect that this version does not speak.
    """
    trace = read_file(job.trace_path, job.shown_trace, job.shown_path)
    require_spoken(trace)
    changes = list(_mock_changes(job.spec.mocks, trace))
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise StaleTrace(
            f"the mocks in {job.shown_path} are not those that {job.shown_trace} was recorded "
            f"with:\n{listed}\nrecord again: flowproof record {job.shown_path}"
        )
    return trace


def _mock_changes(declared: Iterable[Mock], trace: Trace) -> Iterable[str]:
    now = {tool: mock for tool, mock in recorded_mocks(declared).items() if mock.results}
    then: dict[str, RecordedMock] = {
        tool: mock for tool, mock in trace.mocks.items() if mock.results
    }
    for tool in [*now, *(tool for tool in then if tool not in now)]:
        if tool not in then:
            yield f"tool `{tool}`: its mock was added after recording"
        elif tool not in now:
            yield f"tool `{tool}`: its mock was removed after recording"
        elif not now[tool].matches(then[tool]):
            yield f"tool `{tool}`: its result was edited after recording"


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
