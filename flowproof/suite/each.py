"""One flow between the hooks that its suite has for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.flow.job import FlowJob
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from flowproof.suite.hooks import HookFailed, SuiteCommands
from flowproof.suite.project import Project
from flowproof.suite.records import kept_from_running


async def surrounded(
    commands: SuiteCommands,
    job: FlowJob,
    project: Project,
    flow: Callable[[], Awaitable[FlowRecord]],
) -> FlowRecord:
    """Run `before_each`, the flow and `after_each`. A hook that fails makes the flow an `error`;
    `after_each` also runs where `before_each` failed, since that may have done half its work, but
    not where the run is cut short: what is left is for `after_all`."""
    spec = str(job.spec_path)
    try:
        await commands.before_each(spec)
        record = await flow()
    except HookFailed as error:
        record = kept_from_running(job.spec_path, project, str(error))
    try:
        await commands.after_each(spec)
    except HookFailed as error:
        reason = "\n".join(filter(None, (str(error), record.reason)))
        if record.exit_code in (ExitCode.PASSED, ExitCode.WORLD_ERROR):
            return replace(
                record, verdict=Verdict.ERROR, exit_code=ExitCode.WORLD_ERROR, reason=reason
            )
        # What the agent or the author got wrong stays the verdict.
        return replace(record, reason="\n".join((record.reason, str(error))))
    return record
