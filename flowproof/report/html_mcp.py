"""The lanes of a flow's MCP servers as its page shows them, each call with what came back.

Counterparts: the macros of `report/mcp.html.j2`, which lay them out; `html_conversation`, which
shows the calls of the model that led to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowproof.model.mcp_record import McpCallRecord, McpEventRecord, McpRecord
from flowproof.model.outcome import Divergence
from flowproof.model.trajectory import Trajectory
from flowproof.report.html_body import Body, Room
from flowproof.report.html_pairs import Place
from flowproof.report.mcp_words import ENDINGS, lane_line, turns_asking
from flowproof.report.text import shortened, without_colours
from flowproof.report.words import Words

_NAME = 200
_MOST = 100
"""Servers of a page; flows have a handful."""
_ROOM, _ITEMS = 2_000_000, 5_000
"""Bytes of all texts of the lanes of a page, and the number of their calls and events."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class LaneCallShown:
    """A call. `turn` is the one in which the model asked for it, None where that is not known;
    `time` is empty where it is not."""

    number: int
    anchor: str
    method: str
    tool: str
    arguments: Body | None
    words: Words
    answer: Body | None
    mocked: bool
    turn: int | None
    connection: int
    time: str


@dataclass(frozen=True, slots=True)
class LaneEventShown:
    """A notification, or a request of the server with what the agent answered."""

    title: str
    params: Body | None
    answer: Body | None


@dataclass(frozen=True, slots=True)
class LaneShown:
    """One server. `line` sums its lane up; `left_out` calls and `events_left_out` events had no
    room; `diverged` is the number of the call that differed, 0 for none."""

    name: str
    anchor: str
    line: str
    contacted: bool
    several: bool
    calls: tuple[LaneCallShown, ...]
    left_out: int
    events: tuple[LaneEventShown, ...]
    events_left_out: int
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    stderr: Body | None
    diverged: int


@dataclass(frozen=True, slots=True)
class DoneShown:
    """What a call of the model led to: a call of an MCP server, by its place on the page."""

    server: str
    anchor: str
    number: int
    words: Words
    mocked: bool


def lanes_shown(
    lanes: Sequence[McpRecord], trajectory: Trajectory, divergence: Divergence | None
) -> tuple[LaneShown, ...]:
    """The views of all lanes. Their texts share a room of their own."""
    room = Room(_ROOM, _ITEMS)
    turns = turns_asking(trajectory) if lanes else {}
    return tuple(_lane(lane, anchor, turns, room, divergence) for lane, anchor in _anchored(lanes))


def done_at(trajectory: Trajectory, lanes: Sequence[McpRecord]) -> Mapping[Place, DoneShown]:
    """What the model's tool calls led to, by their places in the answers of its turns."""
    if not any(lane.calls for lane in lanes):
        return {}
    done, found = _done(lanes), dict[Place, DoneShown]()
    counted = enumerate(trajectory.calls(), 1)
    number, placed = next(counted, (0, None))
    for turn in trajectory.turns:
        for at, answer in enumerate(turn.answers, len(turn.added)):
            for index, call in enumerate(answer.tool_calls):
                # `Trajectory.calls` leaves some out, and has the others in this order.
                if placed is None or placed.call is not call:
                    continue
                if number in done:
                    found[Place(turn.number, at, index)] = done[number]
                number, placed = next(counted, (0, None))
    return found


def _done(lanes: Sequence[McpRecord]) -> Mapping[int, DoneShown]:
    return {
        call.asked: DoneShown(
            shortened(lane.server, _NAME),
            f"{anchor}.{call.number}",
            call.number,
            ENDINGS[call.outcome],
            call.mocked,
        )
        for lane, anchor in _anchored(lanes)
        for call in lane.calls
        if call.asked
    }


def call_anchors(lanes: Sequence[McpRecord]) -> Mapping[tuple[str, int], str]:
    """The anchors of all calls on the page, by server and number."""
    return {
        (lane.server, call.number): f"{anchor}.{call.number}"
        for lane, anchor in _anchored(lanes)
        for call in lane.calls
    }


def _anchored(lanes: Sequence[McpRecord]) -> Iterator[tuple[McpRecord, str]]:
    """Each lane with an anchor of its own: `mcp-<name>`, whatever its name holds."""
    taken: set[str] = set()
    for lane in lanes[:_MOST]:
        anchor = f"mcp-{_UNFIT.sub('-', lane.server[:_NAME])}"
        while anchor in taken:
            anchor += "-"
        taken.add(anchor)
        yield lane, anchor


def _lane(
    lane: McpRecord,
    anchor: str,
    turns: Mapping[int, int],
    room: Room,
    divergence: Divergence | None,
) -> LaneShown:
    several = lane.connections > 1
    calls = [_call(one, anchor, turns, room) for one in lane.calls if room.takes(3)]
    events = [_event(one, room) for one in lane.events if room.takes(3)]
    here = divergence is not None and divergence.server == lane.server
    return LaneShown(
        name=shortened(lane.server, _NAME),
        anchor=anchor,
        line=lane_line(lane),
        contacted=lane.contacted,
        several=several,
        calls=tuple(calls),
        left_out=lane.made - len(calls),
        events=tuple(events),
        events_left_out=lane.notifications + lane.requests - len(events),
        missing=tuple(shortened(one, 2 * _NAME) for one in lane.missing[:_MOST]),
        problems=tuple(shortened(one, 10 * _NAME) for one in lane.problems[:_MOST]),
        stderr=room.plain(without_colours(lane.stderr)) if lane.stderr.strip() else None,
        diverged=divergence.request if here and divergence is not None else 0,
    )


def _call(call: McpCallRecord, anchor: str, turns: Mapping[int, int], room: Room) -> LaneCallShown:
    return LaneCallShown(
        number=call.number,
        anchor=f"{anchor}.{call.number}",
        method=shortened(call.method, _NAME),
        tool=shortened(call.tool, _NAME),
        arguments=room.plain(call.arguments) if call.arguments else None,
        words=ENDINGS[call.outcome],
        answer=room.plain(call.answer) if call.answer else None,
        mocked=call.mocked,
        turn=turns.get(call.asked),
        connection=call.connection,
        time="" if call.duration is None else f"{call.duration * 1000:,.0f} ms",
    )


def _event(event: McpEventRecord, room: Room) -> LaneEventShown:
    sender = "The server" if event.sender == "server" else "The agent"
    what = "asked" if event.request else "notified"
    after = "before any call" if not event.seen else f"after call {event.seen:,} had arrived"
    return LaneEventShown(
        title=f"{sender} {what}: {shortened(event.method, _NAME)}, {after}",
        params=room.plain(event.params) if event.params else None,
        answer=room.plain(event.answer) if event.answer else None,
    )
