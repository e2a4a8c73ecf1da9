"""Lanes of MCP servers in a terminal and as JSON: everything that crossed, bounded."""

from __future__ import annotations

from typing import cast

from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
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
from flowproof.report.lane_text import lanes_text
from flowproof.report.trajectory_text import shown_json
from tests.report.fixtures import booking_trajectory
from tests.report.hostile import EVIL

ARGUMENTS: JsonValue = cast(
    "JsonObject", booking_trajectory().turns[0].answers[0].tool_calls[0].arguments
)


def call(
    method: str,
    params: JsonValue,
    outcome: CallOutcome,
    *,
    connection: int = 1,
    mocked: bool = False,
) -> McpCall:
    return McpCall(connection, None, method, params, outcome, 0, 0, mocked=mocked)


LANE = Lane(
    "flights",
    (
        call("initialize", {"protocolVersion": "2025-11-25"}, Result({"ok": True})),
        call("tools/list", None, Result({"tools": []})),
        call("tools/call", {"name": "search_flights", "arguments": ARGUMENTS}, Result({"a": 1})),
        call("tools/call", {"name": "wipe"}, Result({"isError": True}), mocked=True),
        call("tools/call", {"name": "x"}, RpcError({"code": -1})),
        call("ping", None, Broken(None, "gone")),
        call("ping", None, Broken(502, "bad")),
        call("subscriptions/listen", None, Unanswered()),
    ),
    (
        McpEvent(1, "agent", {"method": "notifications/initialized"}, 0, 0),
        McpEvent(1, "server", {"method": "roots/list", "id": 1}, 1, 3, Result({"roots": []})),
    ),
)


def test_every_call_and_event_is_shown() -> None:
    assert lanes_text([LANE], booking_trajectory()) == (
        "mcp flights  (8 calls, 2 other messages)\n"
        '  call 1  initialize {"protocolVersion":"2025-11-25"}\n'
        '    ← {"ok":true}\n'
        "  call 2  tools/list\n"
        '    ← {"tools":[]}\n'
        '  call 3  search_flights({"from":"NBO","to":"LHR","max":1.10})  (asked for in turn 1)\n'
        '    ← {"a":1}\n'
        "  call 4  wipe({})  (mocked)\n"
        '    ← error of the tool: {"isError":true}\n'
        "  call 5  x({})\n"
        '    ← JSON-RPC error: {"code":-1}\n'
        "  call 6  ping\n"
        "    ← no answer, the connection ended: gone\n"
        "  call 7  ping\n"
        "    ← no answer, HTTP status 502: bad\n"
        "  call 8  subscriptions/listen\n"
        "    ← not answered\n"
        "  the agent notifies notifications/initialized  (before any call came)\n"
        '  the server asks roots/list  (after call 3 came) ← {"roots":[]}'
    )
    assert lanes_text([], booking_trajectory()) == ""


def test_connections_are_named_where_there_are_several() -> None:
    calls = (LANE.calls[1], call("tools/list", None, Result({}), connection=2))
    text = lanes_text([Lane("a", calls), Lane("b")], booking_trajectory())
    assert "call 2  tools/list  (connection 2)" in text
    assert "\n\nmcp b  (0 calls)" in text


def test_json_holds_all_of_it() -> None:
    shown = cast("JsonObject", parse(shown_json(booking_trajectory(), [], [LANE])))
    (lane,) = cast("list[JsonObject]", shown["mcp"])
    calls = cast("list[JsonObject]", lane["calls"])
    assert calls[2] == {
        "number": 3,
        "connection": 1,
        "method": "tools/call",
        "params": {"name": "search_flights", "arguments": ARGUMENTS},
        "mocked": False,
        "turn": 1,
        "outcome": "result",
        "answer": {"a": 1},
    }
    assert [one["outcome"] for one in calls[3:]] == [
        *("result", "error", "broken", "broken", "unanswered")
    ]
    assert calls[6]["answer"] == {"status": 502, "text": "bad"}
    assert cast("JsonObject", parse(shown_json(booking_trajectory(), [])))["mcp"] == []


def test_hostile_text_stays_on_its_line() -> None:
    evil = call(EVIL, {EVIL: "x" * 100_000}, Broken(None, EVIL))
    event = McpEvent(1, "server", {"method": EVIL, "id": 1}, 0, 0, Result(EVIL))
    text = lanes_text([Lane(EVIL, (evil,) * 2_000, (event,) * 200)], booking_trajectory())
    assert len(text) < 4_000_000
    assert all(line.isprintable() for line in text.splitlines())
    assert "… and 1,000 more, which --json shows" in text
    assert "… and 100 more, which --json shows" in text
