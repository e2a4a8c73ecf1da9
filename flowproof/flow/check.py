"""Judges a run: evaluates every assertion and decides the verdict.

A verdict that is not green ends the task as failed, so that nothing after it writes a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from flowproof.checks.interface import Evidence
from flowproof.checks.registry import check_all
from flowproof.checks.warnings import (
    VacuousGuard,
    guard_warnings,
    interception_warnings,
    known_tools,
    mock_warnings,
    vacuous_guards,
)
from flowproof.errors import FlowproofError
from flowproof.flow.answers import said
from flowproof.flow.boundary import Lanes
from flowproof.flow.job import FlowJob, relative
from flowproof.flow.judge import Judgement, judge
from flowproof.flow.resolve_env import Prepared
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Assertion, AssertNoToolCall, AssertToolCall, Times
from flowproof.model.outcome import AssertionResult, Failed, Passed, Uncertifiable, Unjudged
from flowproof.model.served import listed
from flowproof.model.trajectory import Trajectory
from flowproof.model.turn import SideCall
from flowproof.model.visible import visible

if TYPE_CHECKING:
    from flowproof.checks.lane_warnings import Offers


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
    evidence = Evidence(
        trajectory,
        strict=job.spec.strict,
        line=job.spec.position.line,
        lanes=tuple(one.lane for one in lanes.mcp),
    )
    results = check_all(prepared.assertions, evidence)
    answered = any(turn.answers for turn in trajectory.turns)
    if (
        lanes.divergence is not None
        or lanes.problems
        or lanes.refused_key
        or any(one.divergence is not None or one.problems for one in lanes.mcp)
        or not (answered or job.spec.agent.keep_retries)
    ):
        results = tuple(_as_far_as_it_went(prepared.assertions, results))
    declared = [mock.tool for mock in job.spec.mocks]
    offers = _offers(job, lanes)
    vacuous = vacuous_guards(prepared.assertions, trajectory, declared, offers)
    if job.strict:
        results = tuple(_unproven(prepared.assertions, results, vacuous))
    failed = list(_failed_side_calls(job, lanes))
    doubts = (*_unserved(lanes), *(text for text, doubtful in failed if doubtful))
    judgement = judge(
        job.spec.agent,
        job.phase,
        ended,
        lanes,
        results,
        answered=answered,
        asserted=len(results) > len(vacuous),
        strict=job.strict,
        doubts=doubts,
    )
    warnings = (
        *interception_warnings(
            job.spec.mocks,
            prepared.assertions,
            offers.kept(known_tools(trajectory)) if offers is not None else (),
            trajectory,
        ),
        *guard_warnings(vacuous),
        *mock_warnings(job.spec.mocks, trajectory),
        *_task_warnings(prepared, trajectory),
        # Without any answer of a model, they are the reason of the verdict.
        *(_refusals(job, lanes, trajectory) if answered or job.spec.agent.keep_retries else ()),
        *_place(job, prepared, ended, lanes),
        *_unserved(lanes),
        *(text for text, _ in failed),
        *(note for one in lanes.mcp for note in one.notes),
    )
    checked = Checked(judgement, results, trajectory, warnings)
    if not judgement.verdict.green:
        raise NotGreen(checked)
    return checked


def _offers(job: FlowJob, lanes: Lanes) -> Offers | None:
    """What the MCP servers of a flow offer; None where it has none."""
    if not job.spec.mcp:
        return None
    from flowproof.checks.lane_warnings import Offers

    declared = {server.name: [mock.tool for mock in server.tools] for server in job.spec.mcp}
    return Offers([one.lane for one in lanes.mcp], declared)


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


def _unproven(
    assertions: Sequence[Assertion],
    results: Sequence[AssertionResult],
    vacuous: Sequence[VacuousGuard],
) -> Iterator[AssertionResult]:
    """The results of a strict run, in which a guard that could not fail holds nothing."""
    for assertion, result in zip_longest(assertions, results):
        found = next((one for one in vacuous if one.guard is assertion), None)
        # A guard that did fail, or that nothing can show, says more than this.
        if found is not None and isinstance(result.outcome, Passed):
            reason = f"{found.reason}, so this could not fail; {found.remedy}"
            yield replace(result, outcome=Unjudged(reason))
        else:
            yield result


def _task_warnings(prepared: Prepared, trajectory: Trajectory) -> Iterator[str]:
    """An agent that does not read its task replays whatever the spec says."""
    task = prepared.task.strip()
    said = (message.text or "" for turn in trajectory.turns for message in turn.added)
    if task and trajectory.turns and not any(task in text for text in said):
        yield "the task stands in no request as it was given: does the agent read FLOWPROOF_PROMPT?"


def _place(job: FlowJob, prepared: Prepared, ended: AgentExit, lanes: Lanes) -> Iterator[str]:
    """Where an agent ran that did not find a file: most often it is not where its author thinks."""
    if (
        _found_nothing(ended)
        and lanes.traffic.requests == 0
        and job.spec.agent.cwd is None
        and prepared.cwd != job.spec_path.parent
    ):
        yield (
            f"the agent ran in {relative(prepared.cwd, job.spec_path.parent)} as seen from its "
            "spec (the suite's folder, or the current one); `cwd: .` means the spec's own folder"
        )


_NOT_FOUND = re.compile(r"(?i)no such file|no module named|cannot find|can't open|not found from")


def _found_nothing(ended: AgentExit) -> bool:
    """Whether an agent, or what starts it, missed a file or a command."""
    if ended.timed_out or ended.status == 0:
        return False
    return ended.status == 127 or bool(_NOT_FOUND.search(f"{ended.error}\n{ended.stderr.text}"))


def _final(assertion: Assertion | None) -> type[Passed] | type[Failed] | tuple[()]:
    """The outcome of an assertion that no later turn could change."""
    match assertion:
        case None | AssertNoToolCall():
            return Failed
        case AssertToolCall(times=None | Times(maximum=None)):
            return Passed
        case _:
            return ()


def _refusals(job: FlowJob, lanes: Lanes, trajectory: Trajectory) -> Iterator[str]:
    """What a recording holds that its author may not want to keep."""
    if job.phase == "replay":
        return
    unreadable = trajectory.unreadable_turns()
    for number, turn in enumerate(lanes.turns, 1):
        if number in unreadable:
            yield f"turn {number} holds an answer that flowproof cannot read: {said(turn.response)}"
        elif turn.response.status >= 400 or turn.response.text is not None:
            yield f"turn {number} holds no answer of a model: {said(turn.response)}"


_LISTED = 5
_SHOWN = 200


def _unserved(lanes: Lanes) -> Iterator[str]:
    """What an agent asked for in vain beside its turns, and went on without."""
    found = [one for one in lanes.traffic.unserved if one.kind != "upgrade"]
    # Without any turn they are the reason of the verdict.
    if found and lanes.traffic.requests:
        yield (
            "the agent also asked for what flowproof does not serve, so nothing of it is tested: "
            f"{listed(found, _LISTED)}"
        )


def _failed_side_calls(job: FlowJob, lanes: Lanes) -> Iterator[tuple[str, bool]]:
    """The side calls without a success, by endpoint and status; and whether a strict run refuses
    them.

    Clients look for lists, models and counts of tokens where an upstream may well have none, and
    do without. An embedding is asked for to be used.
    """
    failed: dict[tuple[str, int], list[SideCall]] = {}
    for call in lanes.side_calls:
        if call.response.status >= 300 or call.response.text is not None:
            failed.setdefault((call.operation.dialect, call.response.status), []).append(call)
    for (name, _), calls in failed.items():
        first = calls[0]
        count = "a side call" if len(calls) == 1 else f"{len(calls)} side calls"
        asked = f"{first.method} {visible(first.operation.path[:_SHOWN])}"
        text = f"{count} of {name} ({asked}) failed: {said(first.response)}"
        yield text, name.endswith(".embeddings") and not job.spec.agent.keep_retries
