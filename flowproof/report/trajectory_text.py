"""A trajectory as text for a terminal. Pure; `html_conversation` shows the same on a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from flowproof.model.jsonvalue import JsonValue, scalars
from flowproof.model.mcp import Lane
from flowproof.model.trajectory import Message, ToolParameters, Trajectory, TurnView
from flowproof.model.turn import SideCall
from flowproof.report.lane_text import lanes_json
from flowproof.report.run_json import dump_part
from flowproof.report.text import one_line, readable
from flowproof.report.words import side_calls

_BODY = 4000
"""Characters of one message that are shown; the trace itself holds the rest."""
_CALLS = 100
_INPUT = 100


@dataclass(frozen=True, slots=True)
class SideCallShown:
    """A side call without its answer, which the trace holds. `number` counts from 1, `path`
    includes the query, and `request` is null where there was no body."""

    number: int
    endpoint: str
    method: str
    path: str
    request: JsonValue
    status: int


@dataclass(frozen=True, slots=True)
class _Shown:
    turns: tuple[TurnView, ...]
    parameters: tuple[ToolParameters, ...]
    side_calls: tuple[SideCallShown, ...]
    mcp: JsonValue


def trajectory_text(trajectory: Trajectory) -> str:
    """Every turn with what its request adds to an earlier one, and its answer."""
    turns = trajectory.turns
    bases = [None if turn.base is None else turns[turn.base - 1] for turn in turns]
    return "\n\n".join(
        "\n".join(_turn(turn, base)) for turn, base in zip(turns, bases, strict=True)
    )


def side_calls_text(calls: Sequence[SideCall]) -> str:
    """How many calls of which endpoints stand beside the conversation, then each by its number
    with what it asks for and the status of its answer; empty for none."""
    if not calls:
        return ""
    names = Counter(call.operation.dialect for call in calls)
    listed = ", ".join(f"{one_line(name, 60)} ({count})" for name, count in names.items())
    lines = [f"{side_calls(len(calls))}: {listed}"]
    for number, call in enumerate(calls[:_CALLS], 1):
        facts = f"{one_line(call.operation.dialect, 60)}; status {call.response.status}"
        asked = one_line(side_input(call), _INPUT)
        lines.append(f"  side call {number}  ({facts})" + (f"  {asked}" if asked else ""))
    if len(calls) > _CALLS:
        lines.append(f"  … and {len(calls) - _CALLS} more, which --json shows")
    return "\n".join(lines)


def side_input(call: SideCall) -> str:
    """What a side call asks for, in short: the texts in its request, or its path without any."""
    if not isinstance(call.request, dict):
        return call.operation.path
    found: list[str] = []
    room = _INPUT
    for text in islice(scalars(call.request), _INPUT):
        if room <= 0:
            break
        found.append(text[: room + 1])
        room -= len(found[-1]) + 1
    return " ".join(found)


def shown_json(
    trajectory: Trajectory, calls: Sequence[SideCall], lanes: Sequence[Lane] = ()
) -> str:
    """The trajectory as one JSON object, with the calls beside it under `side_calls` and the
    lanes of MCP servers under `mcp`."""
    beside = tuple(
        SideCallShown(
            number,
            call.operation.dialect,
            call.method,
            call.operation.path,
            call.request,
            call.response.status,
        )
        for number, call in enumerate(calls, 1)
    )
    mcp = lanes_json(lanes, trajectory) if lanes else []
    return dump_part(_Shown(trajectory.turns, trajectory.parameters, beside, mcp))


def _turn(turn: TurnView, base: TurnView | None) -> Iterator[str]:
    facts = [turn.dialect]
    if turn.model:
        facts.append(one_line(turn.model, 80))
    if turn.status != 200:
        facts.append(f"status {turn.status}")
    if turn.unreadable:
        facts.append("an answer that cannot be read")
    if turn.tokens:
        facts.append(f"{turn.tokens[0]} tokens in, {turn.tokens[1]} out")
    if turn.mocked:
        facts.append(f"mocked: {', '.join(one_line(name, 60) for name in turn.mocked)}")
    yield f"turn {turn.number}  ({'; '.join(facts)})"
    if turn.base is not None:
        messages = "1 message" if turn.kept == 1 else f"{turn.kept} messages"
        if not turn.continues:
            yield f"  has the instructions of turn {turn.base}"
        elif turn.added:
            yield f"  continues turn {turn.base} after {messages}"
        else:
            yield f"  repeats the request of turn {turn.base} ({messages})"
    offered = turn.tools if base is None else [t for t in turn.tools if t not in base.tools]
    withdrawn = [] if base is None else [t for t in base.tools if t not in turn.tools]
    served = {*turn.served, *(base.served if base else ())}
    for verb, names in (("offers", offered), ("no longer offers", withdrawn)):
        if names:
            yield f"  {verb} {', '.join(_offered(name, served) for name in names)}"
    for message in (*turn.added, *turn.answers):
        yield from _message(message)


def _offered(name: str, served: Collection[str]) -> str:
    return one_line(name, 60) + (" (run by the provider)" if name in served else "")


def _message(message: Message) -> Iterator[str]:
    name = f" ({one_line(message.tool, 60)})" if message.tool else ""
    head = f"  {message.role}{name}: "
    lines = _cut(readable(message.text)).splitlines() if message.text else []
    yield (head + (lines[0] if lines else "")).rstrip()
    for line in lines[1:]:
        yield f"    {line}"
    for attachment in message.attachments:
        yield f"    [{one_line(attachment, 200)}]"
    for call in message.tool_calls:
        by = " (run by the provider)" if call.served else ""
        yield f"    → {one_line(call.name, 60)}({one_line(call.text, 1000)}){by}"


def _cut(text: str) -> str:
    left = len(text) - _BODY
    return text if left <= 0 else f"{text[:_BODY]}… ({left} characters more)"
