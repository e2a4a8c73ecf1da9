"""Judges a run: evaluates every assertion and decides the verdict.

A verdict that is not green ends the task as failed, so that nothing after it writes a trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from flowproof.checks.interface import Evidence
from flowproof.checks.registry import check_all
from flowproof.checks.warnings import guard_warnings
from flowproof.errors import FlowproofError
from flowproof.flow.boundary import Lanes
from flowproof.flow.job import FlowJob
from flowproof.flow.judge import Judgement, judge
from flowproof.flow.resolve_env import Prepared
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Assertion, AssertNoToolCall, AssertToolCall, Times
from flowproof.model.outcome import AssertionResult, Failed, Passed, Uncertifiable, Unjudged
from flowproof.model.trajectory import Trajectory
from flowproof.model.visible import compact


@dataclass(frozen=True, slots=True)
class Checked:
    """A judged run."""

    judgement: Judgement
    results: tuple[AssertionResult, ...]
    trajectory: Trajectory
    warnings: tuple[str, ...]


class NotGreen(FlowproofError):
    """The flow was judged, and it is not green."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        super().__init__(checked.judgement.reason.partition("\n")[0])


def check(job: FlowJob, prepared: Prepared, ended: AgentExit, lanes: Lanes) -> Checked:
    """Judge one run.

    :raises NotGreen: if it is not green; the exception holds all that was found.
    """
    trajectory = trajectory_of(lanes.turns)
    evidence = Evidence(trajectory, strict=job.spec.strict, line=job.spec.position.line)
    results = check_all(prepared.assertions, evidence)
    if lanes.divergence is not None or lanes.problems:
        results = tuple(_as_far_as_it_went(prepared.assertions, results))
    judgement = judge(job.spec.agent, job.phase, ended, lanes, results, strict=job.strict)
    warnings = (*guard_warnings(prepared.assertions, trajectory), *_refusals(job, lanes))
    checked = Checked(judgement, results, trajectory, warnings)
    if not judgement.verdict.green:
        raise NotGreen(checked)
    return checked


def _as_far_as_it_went(
    assertions: Sequence[Assertion], results: Sequence[AssertionResult]
) -> Iterator[AssertionResult]:
    """What the results say of a run that broke off: what more turns could change is open."""
    # A strict flow has one result more, of no assertion: an unlisted call stays one.
    for assertion, result in zip_longest(assertions, results):
        if isinstance(result.outcome, (Unjudged, Uncertifiable, _final(assertion))):
            yield result
        else:
            open = Unjudged("the run broke off before this could be shown")
            yield replace(result, outcome=open)


def _final(assertion: Assertion | None) -> type[Passed] | type[Failed] | tuple[()]:
    """The outcome of an assertion that no later turn could change."""
    match assertion:
        case None | AssertNoToolCall():
            return Failed
        case AssertToolCall(times=None | Times(maximum=None)):
            return Passed
        case _:
            return ()


def _refusals(job: FlowJob, lanes: Lanes) -> Iterator[str]:
    """What a recording holds that its author may not want to keep."""
    if job.phase == "replay":
        return
    for number, turn in enumerate(lanes.turns, 1):
        response = turn.response
        said = response.text if response.text is not None else compact(response.body)
        if response.status >= 400:
            yield f"turn {number} was answered with status {response.status}: {said[:300]}"
        elif response.text is not None:
            yield f"turn {number} was answered with {response.content_type}, not JSON: {said[:300]}"
