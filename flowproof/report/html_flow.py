"""What the page of one flow shows, made from its record: `report/flow.html.j2` only lays it out.

`html` puts the pages together; `html_suite` is its counterpart for the index.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Control
from flowproof.model.outcome import AssertionResult, Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord
from flowproof.report.diagram.dag import Diagram
from flowproof.report.diagram.dag import tasks as task_graph
from flowproof.report.diagram.timeline import Timeline, task_timeline
from flowproof.report.html_body import Body, Room
from flowproof.report.html_conversation import TalksShown, talks_shown
from flowproof.report.html_diff import DiffShown, diff_shown
from flowproof.report.html_inputs import InputsShown, answered_by, inputs_shown
from flowproof.report.html_mcp import LaneShown, call_anchors, lanes_shown
from flowproof.report.mcp_words import SERVERS_RAN, lane_line
from flowproof.report.text import shortened, without_colours
from flowproof.report.words import (
    PROVES,
    PROVES_NOT,
    VERDICTS,
    Words,
    agent_end,
    hints,
    notes,
    outcome_says,
    outcome_words,
    seconds,
    side_calls,
)

MOST = 1_000
"""Assertions, tries and warnings of a page, each; specs have a dozen."""
_LINE = 2_000
"""Characters of a text that is shown as one line."""
_TURN = re.compile(r"\bin turn ([0-9]{1,6})\b|\bturn ([0-9]{1,6}) holds\b")
_CALL = re.compile(r"\bin call ([0-9]{1,6}) to ([a-z][a-z0-9_-]{0,200})")
_CONTAINMENT: Mapping[str, str] = {
    "not contained": (
        "Nothing kept the agent from the network or from files: what it did there was neither "
        "limited nor watched, and this page says nothing of it."
    ),
}


@dataclass(frozen=True, slots=True)
class AssertionShown:
    """One assertion with its outcome in words; `number` counts from 1. `turns` are those that the
    outcome speaks of, as far as they are on the page, and `calls` those of MCP servers, each with
    its label and anchor."""

    number: int
    words: Words
    source: str
    place: str
    message: str
    expected: Body | None
    closest: Body | None
    turns: tuple[int, ...]
    calls: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class StreamShown:
    """What the agent wrote to one stream."""

    title: str
    body: Body


@dataclass(frozen=True, slots=True)
class AttemptShown:
    """An earlier try; `number` counts from 1."""

    number: int
    words: Words
    time: str
    reason: Body | None
    ended: str
    streams: tuple[StreamShown, ...]


@dataclass(frozen=True, slots=True)
class FlowShown:
    """One flow, everything in words. `answered` says where its answers come from, `ended` how its
    agent did, and `ran` how long it ran;
    `contained` what its containment means; `proves` what the flow shows and what it does not."""

    record: FlowRecord
    words: Words
    time: str
    answered: str
    reason: Body | None
    control: tuple[tuple[str, str], ...]
    attempts: tuple[AttemptShown, ...]
    warnings: tuple[str, ...]
    hints: tuple[str, ...]
    diff: DiffShown | None
    assertions: tuple[AssertionShown, ...]
    held: str
    graph: Diagram | None
    times: Timeline | None
    talks: TalksShown
    lanes: tuple[LaneShown, ...]
    ended: str
    ran: str
    survivors: tuple[str, ...]
    streams: tuple[StreamShown, ...]
    facts: tuple[tuple[str, str], ...]
    contained: str
    inputs: InputsShown
    proves: tuple[str, ...]


def flow_shown(flow: FlowRecord) -> FlowShown:
    """The view of a flow. Its texts share the room of one page."""
    room = Room()
    # Who comes first has its texts whole: the conversation may need all of what is left.
    assertions = tuple(_assertions(flow, room))
    streams = tuple(_streams(flow.agent, room))
    attempts = tuple(_attempts(flow.attempts, room))
    return FlowShown(
        record=flow,
        words=VERDICTS[flow.verdict],
        time=seconds(flow.duration),
        answered=answered_by(flow),
        reason=room.prose(flow.reason) if flow.reason else None,
        control=tuple(_control(flow.control)) if flow.control else (),
        attempts=attempts,
        warnings=flow.warnings[:MOST],
        hints=hints(flow),
        diff=diff_shown(flow.divergence) if flow.divergence else None,
        assertions=assertions,
        held=_held(assertions, len(flow.assertions)),
        graph=task_graph(flow),
        times=task_timeline(flow),
        talks=talks_shown(flow.trajectory, room, _spoken(assertions), flow.mcp),
        lanes=lanes_shown(flow.mcp, flow.trajectory, flow.divergence),
        ended=f"The agent {agent_end(flow.agent)}." if flow.agent else "",
        ran=seconds(flow.agent.duration) if flow.agent else "",
        survivors=flow.agent.survivors[:MOST] if flow.agent else (),
        streams=streams,
        facts=tuple(_traffic_facts(flow)),
        contained=_CONTAINMENT.get(flow.containment, ""),
        inputs=inputs_shown(flow),
        proves=_proves(flow),
    )


def _assertions(flow: FlowRecord, room: Room) -> Iterator[AssertionShown]:
    known = {turn.number for turn in flow.trajectory.turns}
    anchors = call_anchors(flow.mcp)
    for number, result in enumerate(flow.assertions[:MOST], 1):
        message, expected, closest = outcome_says(result.outcome)
        yield AssertionShown(
            number=number,
            words=outcome_words(result.outcome),
            source=shortened(result.source, _LINE),
            place=f"{shortened(flow.path, _LINE)}:{result.line}",
            message=shortened(message, 2 * _LINE),
            expected=room.data(expected) if expected else None,
            closest=room.data(closest) if closest else None,
            turns=tuple(_turns_of(result, known)),
            calls=tuple(_calls_of(result, anchors)),
        )


def _turns_of(result: AssertionResult, known: set[int]) -> Iterator[int]:
    """The turns that an outcome names, at most five."""
    texts = (text[: 5 * _LINE] for text in outcome_says(result.outcome))
    named = (int(one or other) for text in texts for one, other in _TURN.findall(text))
    yield from [number for number in dict.fromkeys(named) if number in known][:5]


def _calls_of(
    result: AssertionResult, anchors: Mapping[tuple[str, int], str]
) -> Iterator[tuple[str, str]]:
    """The calls of MCP servers that an outcome names, at most five."""
    texts = (text[: 5 * _LINE] for text in outcome_says(result.outcome))
    named = dict.fromkeys((server, int(no)) for text in texts for no, server in _CALL.findall(text))
    for server, number in [place for place in named if place in anchors][:5]:
        yield f"call {number} to {server}", anchors[server, number]


def _spoken(assertions: Sequence[AssertionShown]) -> Mapping[int, Sequence[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for one in assertions:
        for turn in one.turns:
            found[turn].append(one.number)
    return found


def _held(assertions: Sequence[AssertionShown], total: int) -> str:
    """How many assertions ended how."""
    if not total:
        return "This flow asserts nothing."
    if total > len(assertions):
        return f"The first {len(assertions):,} of {total:,}; the run record has the others."
    counts = Counter(one.words.phrase for one in assertions)
    if counts["holds"] == total:
        return {1: "It holds.", 2: "Both hold."}.get(total, f"All {total} hold.")
    told = (
        f"{count} {phrase if count == 1 else _PLURALS.get(phrase, phrase)}"
        for phrase, count in counts.items()
    )
    return f"{', '.join(told)}."


_PLURALS: Mapping[str, str] = {
    "holds": "hold",
    "does not hold": "do not hold",
}


def _streams(agent: AgentExit | None, room: Room) -> Iterator[StreamShown]:
    if agent is None:
        return
    for name, stream in (("stdout", agent.stdout), ("stderr", agent.stderr)):
        if stream.total:
            count = "1 byte" if stream.total == 1 else f"{stream.total:,} bytes"
            yield StreamShown(f"{name}, {count}", room.plain(without_colours(stream.text)))


def _attempts(attempts: Sequence[AttemptRecord], room: Room) -> Iterator[AttemptShown]:
    for number, one in enumerate(attempts[:MOST], 1):
        yield AttemptShown(
            number=number,
            words=VERDICTS[one.verdict],
            time=seconds(one.duration),
            reason=room.prose(one.reason) if one.reason else None,
            ended=f"The agent {agent_end(one.agent)}." if one.agent else "",
            streams=tuple(_streams(one.agent, room)),
        )


def _control(control: Control) -> Iterator[tuple[str, str]]:
    yield "Control", control.id
    if control.title:
        yield "Title", control.title
    if control.description:
        yield "Description", control.description
    if control.references:
        yield "References", ", ".join(control.references)
    if control.owner:
        yield "Owner", control.owner


def _traffic_facts(flow: FlowRecord) -> Iterator[tuple[str, str]]:
    traffic = flow.traffic
    yield "Model traffic", _traffic(flow)
    if traffic.side_calls:
        held = traffic.side_recorded
        of_them = f"; the trace holds {held:,} different" if held else ""
        yield "Beside the conversation", f"{side_calls(traffic.side_calls)}{of_them}"
    for lane in flow.mcp[:MOST]:
        yield f"MCP server {shortened(lane.server, 100)}", lane_line(lane)
    for one in traffic.unserved[:MOST]:
        times = "once" if one.count == 1 else f"{one.count:,} times"
        yield "Asked for and not served", f"{one.method} {one.path}, {times}"
    for note in notes(flow):
        yield "Note", note


def _traffic(flow: FlowRecord) -> str:
    traffic = flow.traffic
    requests = "1 request" if traffic.requests == 1 else f"{traffic.requests:,} requests"
    if traffic.side_calls:
        requests += f" and {side_calls(traffic.side_calls)}"
    if flow.phase == "replay":
        return f"{requests}; {traffic.served:,} of {traffic.recorded:,} recorded turns served"
    dropped = traffic.retries_dropped
    failures = "1 transient failure" if dropped == 1 else f"{dropped:,} transient failures"
    left_out = f"; {failures} left out" if dropped else ""
    return f"{requests}; {traffic.recorded:,} turns recorded{left_out}"


def _proves(flow: FlowRecord) -> tuple[str, ...]:
    servers = (SERVERS_RAN[flow.phase],) if flow.mcp else ()
    match flow.verdict:
        case Verdict.SKIPPED:
            return ("Nothing: this flow did not run.",)
        case Verdict.ERROR | Verdict.CAPABILITY_ERROR:
            return (
                "Nothing: this flow could not be judged. That is neither a pass nor a fault of "
                "the agent.",
            )
        case Verdict.PASS_NOTHING_ASSERTED:
            bare = "Here nothing was asserted, so only the requests were compared."
            return PROVES[flow.phase], bare, *servers, PROVES_NOT[flow.phase]
        case Verdict.PASS | Verdict.FLAKY | Verdict.FAIL:
            return PROVES[flow.phase], *servers, PROVES_NOT[flow.phase]
