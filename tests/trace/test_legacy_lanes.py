"""What traces of flowproof 0.23 hold of MCP servers is read, one call after another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowproof.errors import TraceCorrupt
from flowproof.model.mcp import MOST_CALLS, Lane, McpCall, McpEvent, Result
from flowproof.trace.decode import decode
from flowproof.trace.document import RecordedMock, RecordedServer
from tests.trace.test_legacy import sample

HELLO = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a"}},
    "result": {"serverInfo": {}},
}
REMOVE: dict[str, Any] = {
    "method": "tools/call",
    "params": {"name": "rm", "arguments": {}},
    "result": {"ok": 1},
}
LISTED = {"method": "tools/list", "params": None, "result": None}


def read(**server: Any) -> RecordedServer:
    document = {**sample(), "mcp": {"files": server}}
    return decode(json.dumps(document).encode(), "x.trace.jsonl").mcp["files"]


def test_calls_come_one_after_another() -> None:
    found = read(mocks={"rm": {"ok": 1}}, calls=[HELLO, REMOVE, LISTED], events=[])
    hello = McpCall(
        1, None, "initialize", {"protocolVersion": "2025-06-18"}, Result({"serverInfo": {}}), 0, 1
    )
    remove = McpCall(1, None, "tools/call", REMOVE["params"], Result({"ok": 1}), 1, 2, mocked=True)
    listed = McpCall(1, None, "tools/list", None, Result(None), 2, 3)
    assert found.lane == Lane("files", (hello, remove, listed))
    assert found.mocks == {"rm": RecordedMock(({"ok": 1},), True)}


def test_events_have_their_anchor() -> None:
    events = [
        {"after": 2, "method": "notifications/message", "params": {"data": 1}},
        {"after": 0, "method": "early", "params": None},
        {"after": 99, "method": "late"},
    ]
    assert read(calls=[HELLO, LISTED], events=events).lane.events == (
        McpEvent(1, "server", {"method": "early"}, 0, 0),
        McpEvent(1, "server", {"method": "notifications/message", "params": {"data": 1}}, 2, 2),
        McpEvent(1, "server", {"method": "late"}, 2, 2),
    )


def test_each_handshake_opens_a_connection() -> None:
    events = [{"after": number, "method": f"m{number}"} for number in range(5)]
    lane = read(calls=[HELLO, LISTED, HELLO, LISTED], events=events).lane
    assert [(one.connection, one.after, one.answered) for one in lane.calls] == [
        (1, 0, 1),
        (1, 1, 2),
        (2, 0, 1),
        (2, 1, 2),
    ]
    assert [(one.connection, one.after) for one in lane.events] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]


def test_no_server_and_an_empty_one() -> None:
    assert decode(json.dumps(sample()).encode(), "x.trace.jsonl").mcp == {}
    assert read() == RecordedServer(Lane("files"))


@pytest.mark.parametrize(
    ("server", "says"),
    [
        pytest.param({"calls": {}}, r"\$\.mcp\.files\.calls: expected a list", id="calls"),
        pytest.param({"calls": [{}]}, "the key `method` is missing", id="method"),
        pytest.param({"calls": [{"method": 1}]}, "expected a string", id="a number"),
        pytest.param({"calls": [{}] * (MOST_CALLS + 1)}, "more than 100000 calls", id="many"),
        pytest.param({"events": [{}]}, "the key `method` is missing", id="event"),
        pytest.param(
            {"events": [{"method": "a", "after": -1}]}, "of at least 0", id="an odd anchor"
        ),
        pytest.param({"mocks": []}, "expected an object", id="mocks"),
    ],
)
def test_a_defect_is_named(server: dict[str, Any], says: str) -> None:
    with pytest.raises(TraceCorrupt, match=says):
        read(**server)
