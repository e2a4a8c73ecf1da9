"""What a run comes to once its flows are over: records of those that did not come to their end,
and the record of all. `run` loads this when agents have run, since records are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from flowproof.flow.job import relative
from flowproof.graph.result import TaskEnd
from flowproof.model.clock import utc_text
from flowproof.model.origin import MOST_LEFT_OUT, Population
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.suite.flow_store import FlowStore
from flowproof.suite.plan import PlannedFlow
from flowproof.suite.project import Project
from flowproof.suite.records import (
    Cut,
    RunFacts,
    cut_off,
    kept_from_running,
    not_run,
    run_record,
    starved,
)
from flowproof.suite.run_store import new_run_id
from flowproof.suite.running import Running

if TYPE_CHECKING:
    from flowproof.suite.hook_tasks import HookTasks
    from flowproof.suite.provenance import Provenance
    from flowproof.suite.run import RunOptions


@dataclass(frozen=True, slots=True)
class Ended:
    """A run whose flows are over. `ends` are of the tasks of its graph. It was `cut_short` by an
    interrupt, if it was `interrupted`, or else by the time limit; `stopped` is as in `run`.
    `found` is what is known of where it comes from."""

    planned: Sequence[PlannedFlow]
    project: Project
    options: RunOptions
    started: datetime
    slots: int
    flows: FlowStore
    running: Mapping[str, Running]
    ends: Mapping[str, TaskEnd]
    errors: list[str]
    hooks: HookTasks | None
    found: Provenance | None
    stopped: bool
    cut_short: bool
    interrupted: bool

    def note_errors(self) -> None:
        """Add to the errors what the end of the run tells."""
        if self.hooks is not None:
            self.hooks.note_ends(self.ends)
        if self.cut_short and not self.interrupted:
            seconds = self.options.global_timeout
            self.errors.append(f"the time limit of the whole run passed ({seconds:g} s)")

    def unfinished(self) -> Iterator[tuple[PlannedFlow, FlowRecord]]:
        """A record for every flow that did not come to its end."""
        cut = Cut.INTERRUPT if self.interrupted else Cut.GLOBAL_TIMEOUT
        failed = {} if self.hooks is None else self.hooks.failed
        for one in self.planned:
            if self.flows.verdict(one.id) is not None:
                continue
            end = self.ends.get(one.id)  # none if the engine was still being opened
            if end is not None and end.error is not None:
                record = starved(one.spec, self.project, end.error)
            elif why := failed.get(one.suite or ""):
                record = kept_from_running(one.spec, self.project, why)
            elif end is not None and not self.cut_short:
                reason = f"what it needs could not run: {end.cause}"
                record = not_run(one.spec, self.project, reason)
            else:
                record = cut_off(one.spec, self.project, cut, self.running.get(one.id))
            yield one, record

    def record(self, duration: float) -> RunRecord:
        """The record of a run of so many seconds, whose flows all have theirs."""
        options = self.options
        return run_record(
            RunFacts(
                id=new_run_id(self.started, options.chance),
                suite=options.suite,
                command=options.command,
                phase=self.project.options.phase,
                started=utc_text(self.started),
                partial=options.partial or self.stopped or self.cut_short,
                slots=self.slots,
                tasks=() if self.hooks is None else self.hooks.records(),
                inputs=() if self.found is None else self.found.inputs,
                origin=None if self.found is None else self.found.origin,
                source=None if self.found is None else self.found.source,
                population=self._population(),
            ),
            self.flows.in_order(one.id for one in self.planned),
            duration,
            interrupted=self.interrupted,
            allow_empty=options.allow_empty,
            fail_on_flaky=options.fail_on_flaky,
            warnings=options.warnings,
            errors=tuple(self.errors),
        )

    def _population(self) -> Population | None:
        if self.options.discovered is None:
            return None
        selected = len({one.spec for one in self.planned})
        # What a flow needs need not lie where flows were looked for.
        found = max(self.options.discovered, selected)
        paths = sorted(relative(spec, self.project.here) for spec in self.options.left_out)
        left_out = tuple(paths[: min(MOST_LEFT_OUT, found - selected)])
        return Population(found, selected, self.options.selection, left_out)
