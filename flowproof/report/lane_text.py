"""The lanes of a trace as text for a terminal, and as JSON. Pure.

Counterparts: `trajectory_text`, which shows the conversation that they belong to; `html_mcp`, which
shows the lanes of a run on a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from flowproof.model.mcp import (
    Broken,
    CallOutcome,
    Lane,
    McpCall,
    McpEvent,
    Result,
    RpcError,
    Unanswered,
)
from flowproof.model.mcp_calls import arguments_of, led_to
from flowproof.model.trajectory import Trajectory
from flowproof.report.mcp_words import turns_asking
from flowproof.report.text import one_line

_CALLS, _EVENTS = 1_000, 100
_ASKED, _ANSWERED = 1_000, 300
"""Characters of what is asked and answered; `--json` shows all."""


def lanes_text(lanes: Sequence[Lane], trajectory: Trajectory) -> str:
    """Every lane: its calls with how they ended, each with the turn in which the model asked for
    it where that can be told; then its events. Empty for none."""
    led, turns = led_to(trajectory, lanes), turns_asking(trajectory)
    asked = {place: turns[number] for place, number in led.items()}
    return "\n\n".join("\n".join(_lane(lane, asked)) for lane in lanes)


def lanes_json(lanes: Sequence[Lane], trajectory: Trajectory) -> JsonValue:
    """The same whole, as a list of objects."""
    led, turns = led_to(trajectory, lanes), turns_asking(trajectory)
    asked = {place: turns[number] for place, number in led.items()}
    return [
        {
            "server": lane.server,
            "calls": [
                _call_json(number, call, asked.get((lane.server, number)))
                for number, call in enumerate(lane.calls, 1)
            ],
            "events": [_event_json(event) for event in lane.events],
        }
        for lane in lanes
    ]


def _lane(lane: Lane, asked: Mapping[tuple[str, int], int]) -> Iterator[str]:
    calls = "1 call" if len(lane.calls) == 1 else f"{len(lane.calls):,} calls"
    others = len(lane.events)
    events = f", {others:,} other {'message' if others == 1 else 'messages'}" if others else ""
    yield f"mcp {one_line(lane.server, 60)}  ({calls}{events})"
    several = len({call.connection for call in lane.calls}) > 1
    for number, call in enumerate(lane.calls[:_CALLS], 1):
        facts = [f"connection {call.connection}"] if several else []
        if (turn := asked.get((lane.server, number))) is not None:
            facts.append(f"asked for in turn {turn}")
        facts += ["mocked"] if call.mocked else []
        about = f"  ({'; '.join(facts)})" if facts else ""
        yield f"  call {number}  {_asks(call)}{about}"
        yield f"    ← {_ended(call.outcome)}"
    if (more := len(lane.calls) - _CALLS) > 0:
        yield f"  … and {more:,} more, which --json shows"
    yield from _events(lane.events)


def _asks(call: McpCall) -> str:
    if call.tool is not None:
        return f"{one_line(call.tool, 100)}({one_line(write(arguments_of(call)), _ASKED)})"
    params = "" if call.params is None else f" {one_line(write(call.params), _ASKED)}"
    return f"{one_line(call.method, 100)}{params}"


def _ended(outcome: CallOutcome) -> str:
    match outcome:
        case Result({"isError": True} as value):
            return f"error of the tool: {one_line(write(value), _ANSWERED)}"
        case Result(value):
            return one_line(write(value), _ANSWERED)
        case RpcError(value):
            return f"JSON-RPC error: {one_line(write(value), _ANSWERED)}"
        case Broken(None, text):
            return f"no answer, the connection ended: {one_line(text, _ANSWERED)}"
        case Broken(status, text):
            return f"no answer, HTTP status {status}: {one_line(text, _ANSWERED)}"
        case Unanswered():
            return "not answered"
        case _:
            assert_never(outcome)


def _events(events: Sequence[McpEvent]) -> Iterator[str]:
    for event in events[:_EVENTS]:
        what = "asks" if "id" in event.message else "notifies"
        method = event.message.get("method")
        shown = one_line(method, 100) if isinstance(method, str) else "something"
        place = f"after call {event.seen:,}" if event.seen else "before any call"
        answer = "" if event.answer is None else f" ← {one_line(write(event.answer.value), 300)}"
        yield f"  the {event.sender} {what} {shown}  ({place} came){answer}"
    if (more := len(events) - _EVENTS) > 0:
        yield f"  … and {more:,} more, which --json shows"


def _call_json(number: int, call: McpCall, turn: int | None) -> JsonValue:
    made: JsonObject = {
        "number": number,
        "connection": call.connection,
        "method": call.method,
        "params": call.params,
        "mocked": call.mocked,
        "turn": turn,
    }
    match call.outcome:
        case Result(value):
            return {**made, "outcome": "result", "answer": value}
        case RpcError(value):
            return {**made, "outcome": "error", "answer": value}
        case Broken(status, text):
            return {**made, "outcome": "broken", "answer": {"status": status, "text": text}}
        case Unanswered():
            return {**made, "outcome": "unanswered", "answer": None}
        case _:
            assert_never(call.outcome)


def _event_json(event: McpEvent) -> JsonValue:
    return {
        "connection": event.connection,
        "sender": event.sender,
        "message": dict(event.message),
        "seen": event.seen,
        "answer": None if event.answer is None else event.answer.value,
    }
