"""Puts what crossed the boundaries to MCP servers into the run record, as much as people read.

Counterparts: `flow.mcp`, which tells what crossed them; `report`, which shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from flowproof.flow.mcp import McpOutcome
from flowproof.model.jsonvalue import JsonValue, write
from flowproof.model.mcp import (
    Broken,
    CallOutcome,
    Lane,
    McpEvent,
    Result,
    RpcError,
    Unanswered,
)
from flowproof.model.mcp_calls import arguments_of, led_to
from flowproof.model.mcp_record import McpCallRecord, McpEventRecord, McpOutcomeKind, McpRecord
from flowproof.model.trajectory import Trajectory

MOST_CALLS, MOST_EVENTS = 2_000, 500
"""Calls and events of a lane that the record lists; the trace holds all."""
TEXT, TEXTS = 20_000, 4_000_000
"""Characters of one text, and of all texts of a lane together."""
STDERR = 20_000
"""Characters of what a server wrote, from its end."""
_LISTED = 100
"""Problems and missing calls."""


def mcp_records(outcomes: Sequence[McpOutcome], trajectory: Trajectory) -> tuple[McpRecord, ...]:
    """The records of all servers of a flow, in its order."""
    led = led_to(trajectory, [one.lane for one in outcomes])
    return tuple(_record(one, led) for one in outcomes)


def _record(outcome: McpOutcome, led: Mapping[tuple[str, int], int]) -> McpRecord:
    lane, room = outcome.lane, _Room()
    requests = sum("id" in event.message for event in lane.events)
    return McpRecord(
        server=outcome.server,
        transport=outcome.transport,
        variable=outcome.variable,
        contacted=outcome.contacted,
        connections=len(
            {call.connection for call in lane.calls} | {one.connection for one in lane.events}
        ),
        made=len(lane.calls),
        mocked=sum(call.mocked for call in lane.calls),
        notifications=len(lane.events) - requests,
        requests=requests,
        calls=tuple(_calls(lane, led, room)),
        events=tuple(_event(event, room) for event in lane.events[:MOST_EVENTS]),
        missing=outcome.unconsumed[:_LISTED],
        problems=(*outcome.faults, *outcome.problems)[:_LISTED],
        stderr=outcome.stderr[-STDERR:],
    )


def _calls(lane: Lane, led: Mapping[tuple[str, int], int], room: _Room) -> Iterator[McpCallRecord]:
    for number, call in enumerate(lane.calls[:MOST_CALLS], 1):
        tool = call.tool or ""
        kind, answer = _ended(call.outcome)
        yield McpCallRecord(
            number=number,
            connection=call.connection,
            method=call.method[:_NAME],
            tool=tool[:_NAME],
            arguments=room.json(arguments_of(call) if tool else call.params),
            outcome=kind,
            answer=room.text(answer) if isinstance(call.outcome, Broken) else room.json(answer),
            mocked=call.mocked,
            asked=led.get((lane.server, number), 0),
        )


_NAME = 200
"""Characters of the name of a method or a tool."""


def _ended(outcome: CallOutcome) -> tuple[McpOutcomeKind, JsonValue]:
    match outcome:
        case Result(value):
            failed = isinstance(value, dict) and value.get("isError") is True
            return "tool error" if failed else "result", value
        case RpcError(value):
            return "error", value
        case Broken(status, text):
            return "broken", text if status is None else f"HTTP status {status}: {text}"
        case Unanswered():
            return "unanswered", None
        case _:
            assert_never(outcome)


def _event(event: McpEvent, room: _Room) -> McpEventRecord:
    method = event.message.get("method")
    return McpEventRecord(
        connection=event.connection,
        sender=event.sender,
        method=method[:_NAME] if isinstance(method, str) else "",
        request="id" in event.message,
        params=room.json(event.message.get("params")),
        answer="" if event.answer is None else room.json(event.answer.value),
        seen=event.seen,
    )


class _Room:
    """What is left for the texts of a lane; who comes first is served first."""

    def __init__(self) -> None:
        self._left = TEXTS

    def json(self, value: JsonValue) -> str:
        """A value indented for reading; nothing for null."""
        return "" if value is None else self.text(write(value, indent=2))

    def text(self, text: JsonValue) -> str:
        """A text, or the beginning of a long one with how much more there is."""
        whole = text if isinstance(text, str) else ""
        limit = min(TEXT, max(self._left, 200))
        shown = whole[:limit]
        self._left -= len(shown)
        more = len(whole) - len(shown)
        return f"{shown}… ({more:,} characters more)" if more else shown
