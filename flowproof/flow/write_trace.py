"""Writes the recording of a flow that passed; every other ending leaves the old one as it is."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

from flowproof.errors import WorldError
from flowproof.flow.boundary import Lanes
from flowproof.flow.held_keys import require_no_key
from flowproof.flow.job import FlowJob
from flowproof.model.clock import Clock, utc_text
from flowproof.trace.document import RecordedServer, Trace, recorded_mocks
from flowproof.trace.file import write_trace as write_file
from flowproof.version import __version__


def write_trace(job: FlowJob, lanes: Lanes, clock: Clock, environ: Mapping[str, str]) -> Trace:
    """Write the trace, whole or not at all, and return it. One that holds a key of the
    environment is not written.

    :raises KeyInTrace: if it does.
    :raises WorldError: if the system does not let it be written.
    """
    trace = Trace(
        flowproof=__version__,
        recorded=utc_text(clock.now()),
        spec_name=job.spec.name,
        spec_file=job.spec_path.name,
        spec_sha256=job.spec.sha256,
        driver=job.spec.agent.driver,
        platform=f"{sys.platform}-{platform.machine()}",
        containment="not contained",
        turns=lanes.turns,
        mocks=recorded_mocks(job.spec.mocks),
        retries_dropped=lanes.traffic.retries_dropped,
        side_calls=lanes.side_calls,
        unserved=lanes.traffic.unserved,
        mcp={
            one.server: RecordedServer(one.lane, recorded_mocks(server.tools))
            for one, server in zip(lanes.mcp, job.spec.mcp, strict=True)
        },
    )
    require_no_key(trace, environ)
    try:
        write_file(job.trace_path, trace)
    except OSError as error:
        raise WorldError(f"cannot write {job.shown_trace}: {error.strerror}") from error
    return trace
