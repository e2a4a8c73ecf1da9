"""Decides a flow's verdict from what its run left. Pure; the order of the reasons matters.

What the agent did wrong is a `fail`; what kept it from being judged is an `error`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowproof.errors import ExitCode
from flowproof.flow.answers import is_foreign, said
from flowproof.flow.boundary import Lanes
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Agent
from flowproof.model.outcome import (
    AssertionResult,
    Failed,
    Uncertifiable,
    Unjudged,
    Verdict,
)
from flowproof.model.phase import Phase
from flowproof.model.served import CLOUDS, none_served

if TYPE_CHECKING:
    from flowproof.flow.mcp import McpOutcome


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a flow is not green."""

    verdict: Verdict
    exit_code: ExitCode
    text: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, with its reason where it is not a plain pass."""

    verdict: Verdict
    exit_code: ExitCode
    reason: str = ""


def judge(
    agent: Agent,
    phase: Phase,
    ended: AgentExit,
    lanes: Lanes,
    results: Sequence[AssertionResult],
    *,
    answered: bool,
    asserted: bool,
    strict: bool,
    doubts: Sequence[str] = (),
) -> Judgement:
    """The verdict of a flow that ran to its end.

    `answered` says whether any turn holds an answer of a model, `asserted` whether any assertion
    could have failed. `doubts` are what a strict run takes for its author's errors. The first
    finding decides, since it explains those after it; all are told.
    """
    doubts = doubts if strict else ()
    findings = list(_findings(agent, phase, ended, lanes, results, doubts, answered=answered))
    if findings:
        reason = "\n".join(finding.text for finding in findings)
        return Judgement(findings[0].verdict, findings[0].exit_code, reason)
    if asserted:
        return Judgement(Verdict.PASS, ExitCode.PASSED)
    nothing = "nothing was asserted that could have failed" if results else "nothing was asserted"
    if strict:
        return Judgement(Verdict.ERROR, ExitCode.AUTHOR_ERROR, f"{nothing} (strict)")
    return Judgement(Verdict.PASS_NOTHING_ASSERTED, ExitCode.PASSED, nothing)


def _findings(
    agent: Agent,
    phase: Phase,
    ended: AgentExit,
    lanes: Lanes,
    results: Sequence[AssertionResult],
    doubts: Sequence[str],
    *,
    answered: bool,
) -> Iterator[Finding]:
    if ended.error and lanes.traffic.requests:
        yield Finding(Verdict.ERROR, ExitCode.WORLD_ERROR, ended.error)
        return
    if ended.error:
        yield _author(f"the agent could not be started: {ended.error}")
        return
    if lanes.no_upstream:
        yield from (_author(f"cannot record: {reason}") for reason in lanes.no_upstream)
        return
    if faults := [fault for one in lanes.mcp for fault in one.faults]:
        yield from (_author(f"cannot record: {fault}") for fault in faults)
        return
    # A refused tool call changes what the agent tells the model next, so its lane comes first.
    diverged = [*(one.divergence for one in lanes.mcp), lanes.divergence]
    if any(diverged):
        # What the agent did after it was refused says nothing about the agent.
        yield from (_fault(found.message) for found in diverged if found is not None)
        return
    if ended.timed_out:
        yield _fault(f"the agent was still running after {agent.timeout:g} s and was ended")
    if lanes.refused_key:
        yield _author(f"the upstream refused the credentials: {lanes.refused_key}\n{_ALLOWED}")
    problems = [*(problem for one in lanes.mcp for problem in one.problems), *lanes.problems]
    for problem in problems:
        yield Finding(Verdict.ERROR, ExitCode.WORLD_ERROR, problem)
    if lanes.refused_key or problems:
        return
    if lanes.traffic.requests == 0:
        yield _fault(_no_requests(phase, ended, lanes))
        return
    if not answered and not agent.keep_retries:
        yield _no_answer(phase, lanes)
        return
    if lanes.unconsumed:
        yield _fault(_unconsumed(lanes))
    if lanes.side_missing:
        yield _fault(_side_missing(lanes))
    yield from (_fault(text) for one in lanes.mcp for text in _of_server(one))
    if not ended.timed_out and ended.status != agent.expect_exit:
        yield _fault(_exit(agent, ended))
    yield from _assertion_findings(results)
    yield from map(_author, doubts)


_SHOWN = 20
_ALLOWED = "if that is what the flow is about, set agent.keep_retries: true"


def _no_answer(phase: Phase, lanes: Lanes) -> Finding:
    """Errors alone make no recording: an agent that shrugs them off would pass for ever."""
    answers = [turn.response for turn in lanes.turns]
    told = "; ".join(dict.fromkeys(map(said, answers[:_SHOWN])))
    allowed = "" if answers and all(map(is_foreign, answers)) else f" ({_ALLOWED})"
    if phase == "replay":
        return _author(f"the recording holds no answer of a model: {told}{allowed}")
    asked = " and ".join(place.url for place in lanes.places[:_SHOWN])
    text = f"no request got an answer of a model from {asked}: {told}"
    named = dict.fromkeys(place.named_by for place in lanes.places if place.named_by)
    if named and any(one.status == 404 or is_foreign(one) for one in answers):
        text += f"; is {' and '.join(named)} right?"
    return Finding(Verdict.ERROR, ExitCode.WORLD_ERROR, text + allowed)


def _fault(text: str) -> Finding:
    return Finding(Verdict.FAIL, ExitCode.FLOW_FAILED, text)


def _author(text: str) -> Finding:
    return Finding(Verdict.ERROR, ExitCode.AUTHOR_ERROR, text)


def _assertion_findings(results: Sequence[AssertionResult]) -> Iterator[Finding]:
    """One finding per way of not holding; the results themselves say which and why."""
    failed = [r for r in results if isinstance(r.outcome, Failed)]
    if failed:
        yield _fault(_of_assertions(failed, results, "failed"))
    unjudged = [r for r in results if isinstance(r.outcome, Unjudged)]
    if unjudged:
        yield _author(_of_assertions(unjudged, results, "could not be judged"))
    uncertain = [r for r in results if isinstance(r.outcome, Uncertifiable)]
    if uncertain:
        text = _of_assertions(uncertain, results, "could not be certified")
        yield Finding(Verdict.CAPABILITY_ERROR, ExitCode.WORLD_ERROR, text)


def _of_assertions(
    found: Sequence[AssertionResult], results: Sequence[AssertionResult], what: str
) -> str:
    assertions = "1 assertion" if len(results) == 1 else f"{len(results)} assertions"
    first = ", first" if len(found) > 1 else ""
    return f"{len(found)} of {assertions} {what}{first}: {found[0].source}"


def _exit(agent: Agent, ended: AgentExit) -> str:
    expected = f", expected {agent.expect_exit}" if agent.expect_exit else ""
    return f"the agent {_ending(ended)}{expected}"


def _ending(ended: AgentExit) -> str:
    if ended.status is not None and ended.status < 0:
        return f"was ended by signal {-ended.status}"
    return f"exited with status {ended.status}"


def _no_requests(phase: Phase, ended: AgentExit, lanes: Lanes) -> str:
    beside = _beside(lanes)
    if unserved := lanes.traffic.unserved:
        return none_served(unserved, beside)
    if beside:
        return (
            f"no model request arrived, only {beside}: those are beside a conversation, and "
            "without one there is nothing to test"
        )
    if ended.timed_out:
        return "no model request had reached flowproof's proxy by then"
    if ended.status:
        return f"the agent {_ending(ended)} before it sent any model request"
    return f"{_made_none(phase, lanes)}\n{_BASE_URL} {CLOUDS}"


_BASE_URL = (
    "If it did make one, it went elsewhere. Most often a client takes its base URL from somewhere "
    "else than the variables that flowproof sets (OPENAI_BASE_URL, ANTHROPIC_BASE_URL, "
    "GOOGLE_GEMINI_BASE_URL, OLLAMA_HOST …): map the variable it reads in agent.env, such as "
    'MY_BASE_URL: "${flowproof.proxy_url}".'
)


def _made_none(phase: Phase, lanes: Lanes) -> str:
    if phase == "record":
        return "the agent made no model call, so nothing was recorded"
    recorded = lanes.traffic.recorded
    turns = "1 turn" if recorded == 1 else f"{recorded} turns"
    return f"the agent made no model call; the recording has {turns}"


def _beside(lanes: Lanes) -> str:
    """How many side calls there were, and to which endpoints; empty for none."""
    count = lanes.traffic.side_calls
    names = sorted({call.operation.dialect for call in lanes.side_calls})
    of = f" ({', '.join(names)})" if names else ""
    return f"{count} side {'call' if count == 1 else 'calls'}{of}" if count else ""


def _unconsumed(lanes: Lanes) -> str:
    numbers = lanes.unconsumed
    shown = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    turns = "turn" if len(numbers) == 1 else "turns"
    return (
        f"the agent made fewer model calls than recorded: {lanes.traffic.served} of "
        f"{lanes.traffic.recorded} turns were used; never requested: {turns} {shown}"
    )


def _of_server(found: McpOutcome) -> Iterator[str]:
    """What an agent did not do with an MCP server."""
    if not found.contacted:
        stdio = found.transport == "stdio"
        what = "spawned flowproof's MCP stand-in" if stdio else "contacted flowproof's MCP listener"
        kind = "command" if stdio else "url"
        yield (
            f"the agent never {what} for `{found.server}`: have its MCP configuration take the "
            f"{kind} of that server from {found.variable}"
        )
    elif found.unconsumed:
        shown = ", ".join(found.unconsumed[:10]) + (" …" if len(found.unconsumed) > 10 else "")
        made = len(found.lane.calls)
        calls = "1 call" if made == 1 else f"{made} calls"
        yield (
            f"the agent made fewer calls to the MCP server `{found.server}` than recorded, "
            f"{calls} of {made + len(found.unconsumed)}; never made: {shown}"
        )


def _side_missing(lanes: Lanes) -> str:
    missing = lanes.side_missing
    shown = ", ".join(missing[:10]) + (" …" if len(missing) > 10 else "")
    calls = "side call" if len(missing) == 1 else "side calls"
    return f"the agent made fewer side calls than recorded: never requested: {calls} {shown}"
