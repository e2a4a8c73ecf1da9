"""Lanes of MCP servers survive the file, say in it what does not go without saying, and each defect
is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import TraceCorrupt, TraceTooLarge
from flowproof.model.flow_spec import McpServer, Mock, Position
from flowproof.model.jsonvalue import JsonValue, canonical
from flowproof.model.mcp import (
    MOST_CALLS,
    Broken,
    CallOutcome,
    Lane,
    McpCall,
    McpEvent,
    Result,
    RpcError,
    Unanswered,
)
from flowproof.trace.changes import mock_changes, server_changes
from flowproof.trace.decode import decode
from flowproof.trace.document import RecordedMock, RecordedServer, Trace
from flowproof.trace.encode import encode
from tests.trace.samples import conversation, strings, trace_of, values

PLACE = Position("a.flow.yaml", 1, 1)
PLAIN = trace_of(*conversation(1))


def traced(*lanes: Lane, **mocks: RecordedMock) -> Trace:
    return replace(PLAIN, mcp={lane.server: RecordedServer(lane, mocks) for lane in lanes})


def back(trace: Trace) -> dict[str, RecordedServer]:
    return dict(decode(encode(trace), "x").mcp)


def written(trace: Trace) -> Any:
    return json.loads(encode(trace))["mcp"]


def call(
    method: str, after: int, answered: int, outcome: CallOutcome | None = None, **more: Any
) -> McpCall:
    connection, params = more.pop("connection", 1), more.pop("params", None)
    found = Result(method) if outcome is None else outcome
    return McpCall(connection, more.pop("id", None), method, params, found, after, answered, **more)


def test_a_trace_without_servers_is_what_it_was() -> None:
    assert b'"mcp"' not in encode(PLAIN)
    assert decode(encode(PLAIN), "x").mcp == {}
    assert encode(replace(PLAIN, mcp={})) == encode(PLAIN)


ORDERLY = Lane(
    "files",
    (
        call("initialize", 0, 1, params={"protocolVersion": "2025-11-25"}),
        call("subscriptions/listen", 1, 0, Unanswered(), id="l"),
        call("tools/call", 1, 2, RpcError({"code": -1}), params={"name": "a"}, mocked=True),
        call("tools/list", 0, 1, Broken(500, "busy"), connection=2),
        call("tools/list", 2, 3, Broken(None, "gone"), progress_token=4),
    ),
    (
        McpEvent(1, "agent", {"method": "notifications/initialized"}, 1, 1),
        McpEvent(1, "server", {"method": "ping", "id": 1}, 1, 2, Result({}), 1),
        McpEvent(2, "server", {"method": "m", "params": None}, 1, 1),
        McpEvent(1, "server", {"method": "m", "id": "1"}, 1, 3, RpcError(3), 2),
    ),
)


def test_how_a_lane_is_written() -> None:
    assert written(traced(ORDERLY)) == {
        "files": {
            "calls": [
                {
                    "method": "initialize",
                    "params": {"protocolVersion": "2025-11-25"},
                    "result": "initialize",
                },
                {"id": "l", "method": "subscriptions/listen", "unanswered": True},
                {
                    "mocked": True,
                    "method": "tools/call",
                    "params": {"name": "a"},
                    "error": {"code": -1},
                },
                {
                    "connection": 2,
                    "method": "tools/list",
                    "broken": {"status": 500, "text": "busy"},
                },
                {"token": 4, "method": "tools/list", "broken": {"text": "gone"}},
            ],
            "events": [
                {"from": "agent", "after": 1, "method": "notifications/initialized"},
                {"after": 1, "seen": 2, "id": 1, "method": "ping", "answer": {"result": {}}},
                {"connection": 2, "after": 1, "method": "m", "params": None},
                {
                    "after": 1,
                    "seen": 3,
                    "id": "1",
                    "method": "m",
                    "answer": {"error": 3},
                    "answer_after": 2,
                },
            ],
        }
    }
    assert back(traced(ORDERLY))["files"].lane == ORDERLY


def test_calls_that_overlapped_say_when() -> None:
    lane = Lane(
        "files",
        (call("a", 0, 3), call("b", 0, 1), call("c", 0, 0, Unanswered()), call("d", 1, 2)),
    )
    places = [
        {key: one[key] for key in ("after", "answered") if key in one}
        for one in written(traced(lane))["files"]["calls"]
    ]
    assert places == [
        {"answered": 3},
        {"after": 0, "answered": 1},
        {"after": 0},
        {"after": 1, "answered": 2},
    ]
    assert back(traced(lane))["files"].lane == lane


@st.composite
def lanes(draw: st.DrawFn) -> Lane:
    """Calls of up to three connections that come and are answered in any order."""
    calls: list[McpCall] = []
    events: list[McpEvent] = []
    waiting: dict[int, list[int]] = {1: [], 2: [], 3: []}
    answered, arrived = dict.fromkeys(waiting, 0), dict.fromkeys(waiting, 0)
    for _ in range(draw(st.integers(0, 15))):
        at = draw(st.integers(1, 3))
        match draw(st.sampled_from(["call", "call", "answer", "event"])):
            case "answer" if waiting[at]:
                index = waiting[at].pop(draw(st.integers(0, len(waiting[at]) - 1)))
                answered[at] += 1
                outcome = draw(outcomes)
                calls[index] = replace(calls[index], outcome=outcome, answered=answered[at])
            case "event":
                events.append(draw(event_of(at, answered[at], arrived[at])))
            case _:
                arrived[at] += 1
                waiting[at].append(len(calls))
                made = draw(some_call)
                calls.append(replace(made, connection=at, after=answered[at]))
    return Lane("files", tuple(calls), tuple(events))


ids = st.integers() | strings
outcomes = (
    values.map(Result)
    | values.map(RpcError)
    | st.builds(Broken, st.none() | st.integers(100, 599), strings)
)
some_call = st.builds(
    McpCall,
    connection=st.just(1),
    id=st.none() | ids,
    method=strings,
    params=values,
    outcome=st.just(Unanswered()),
    after=st.just(0),
    answered=st.just(0),
    progress_token=st.none() | ids,
    mocked=st.booleans(),
)


@st.composite
def event_of(draw: st.DrawFn, connection: int, after: int, seen: int) -> McpEvent:
    message: dict[str, JsonValue] = {"method": draw(strings)}
    if draw(st.booleans()):
        message["params"] = draw(values)
    sender: Any = draw(st.sampled_from(["server", "agent"]))
    if sender == "agent" or draw(st.booleans()):
        return McpEvent(connection, sender, message, after, seen)
    message["id"] = draw(ids)
    answer = draw(st.none() | values.map(Result) | values.map(RpcError))
    answer_after = 0 if answer is None else after + draw(st.integers(0, 2))
    return McpEvent(connection, sender, message, after, seen, answer, answer_after)


def exactly(lane: Lane) -> str:
    """A text that tells two lanes apart even where Python does not: `1` and `true`."""

    def plain(value: Any) -> JsonValue:
        match value:
            case Result(inner) | RpcError(inner):
                return [type(value).__name__, inner]
            case Broken() | Unanswered():
                return repr(value)
            case _:
                return dict(value) if isinstance(value, dict) else value

    parts: Sequence[McpCall | McpEvent] = [*lane.calls, *lane.events]
    return canonical(
        [[plain(getattr(one, name)) for name in type(one).__dataclass_fields__] for one in parts]
    )


@given(lanes())
def test_lanes_survive_the_file(lane: Lane) -> None:
    assert exactly(back(traced(lane))["files"].lane) == exactly(lane)


MOCKS = {
    "rm": RecordedMock(({"ok": True}, "x"), False),
    "cp": RecordedMock((), False, {"code": 1, "message": "no"}, {"type": "object"}),
    "ls": RecordedMock((), False),
}


def test_mocks_are_kept_with_their_server() -> None:
    trace = traced(Lane("files"), **MOCKS)
    assert written(trace)["files"] == {
        "mocks": {
            "rm": {"results": [{"ok": True}, "x"], "repeat_last": False},
            "cp": {"error": {"code": 1, "message": "no"}, "schema": {"type": "object"}},
            "ls": {},
        },
        "calls": [],
    }
    assert back(trace)["files"].mocks == MOCKS


def test_more_calls_than_are_read_are_not_written() -> None:
    many = tuple(call("a", number, number + 1) for number in range(MOST_CALLS + 1))
    with pytest.raises(TraceTooLarge, match="`files` has 100001 calls"):
        encode(traced(Lane("files", many)))
    event = McpEvent(1, "server", {"method": "m"}, 0, 0)
    with pytest.raises(TraceTooLarge, match="`files` has 100001 events"):
        encode(traced(Lane("files", (), (event,) * (MOST_CALLS + 1))))


def _set(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        *way, last = ("mcp", "files", *path)
        for key in way:
            document = document[key]
        document[last] = value

    return change


def _drop(*path: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        *way, last = ("mcp", "files", *path)
        for key in way:
            document = document[key]
        del document[last]

    return change


DEFECTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "no object": (lambda d: d.update(mcp=[]), r"\$\.mcp: expected an object"),
    "a name": (lambda d: d["mcp"].update({"../x": {}}), r"no MCP server is named so"),
    "a long name": (lambda d: d["mcp"].update({"a" * 201: {}}), "no MCP server is named so"),
    "no calls": (_drop("calls"), r"\$\.mcp\.files: the key `calls` is missing"),
    "unknown key": (_set(1, "x"), "unknown key `x`"),
    "no list": (_set({}, "calls"), r"files\.calls: expected a list"),
    "too many calls": (_set([{}] * (MOST_CALLS + 1), "calls"), "more than 100000 calls"),
    "too many events": (_set([{}] * (MOST_CALLS + 1), "events"), "more than 100000 events"),
    "no method": (_drop("calls", 0, "method"), r"calls\[0\]: the key `method` is missing"),
    "no outcome": (_drop("calls", 0, "result"), r"calls\[0\]: the key `result` is missing"),
    "two outcomes": (_set(1, "calls", 0, "error"), "unknown key `error`"),
    "an id": (_set(True, "calls", 0, "id"), r"id: expected a string or a number"),
    "a token": (_set([], "calls", 0, "token"), r"token: expected a string or a number"),
    "connection 0": (_set(0, "calls", 0, "connection"), "numbered from 1 to 100000"),
    "a far connection": (_set(10**6, "calls", 0, "connection"), "numbered from 1"),
    "mocked": (_set(1, "calls", 0, "mocked"), "true or false"),
    "unanswered": (_set(False, "calls", 1, "unanswered"), "expected true"),
    "a place of no answer": (_set(1, "calls", 1, "answered"), "has no such place"),
    "a status": (_set(99, "calls", 3, "broken", "status"), "99 is not an HTTP status"),
    "no text": (_drop("calls", 3, "broken", "text"), "the key `text` is missing"),
    "the same place": (_set(1, "calls", 2, "answered"), r"two calls are the 1\. to be answered"),
    "a place too far": (_set(9, "calls", 4, "answered"), "not 1, 2, 3 and so on"),
    "a place of zero": (_set(0, "calls", 4, "answered"), "answers are counted from 1"),
    "its own answer": (_set(2, "calls", 2, "after"), "answered later"),
    "too early": (_set(0, "calls", 4, "after"), "answered later"),
    "too late": (_set(3, "calls", 1, "after"), "fewer than 3 calls|answered later"),
    "sender": (_set("server", "events", 0, "from"), 'expected "agent"'),
    "no anchor": (_drop("events", 0, "after"), "the key `after` is missing"),
    "an event too early": (_set(0, "events", 1, "after"), "stands after what came later"),
    "seen too early": (_set(0, "events", 1, "seen"), "stands after what came later"),
    "no answer": (_set(1, "events", 0, "answer_after"), "there is no answer"),
    "a broken answer": (_set({"broken": {}}, "events", 1, "answer"), "the key `result`"),
    "an event without method": (_set(3, "events", 0, "method"), "expected a string"),
    "an event's id": (_set(None, "events", 1, "id"), "expected a string or a number"),
    "half a mock": (_set({"rm": {"results": []}}, "mocks"), "stand together"),
    "no mock": (_set({"rm": {"error": 1}}, "mocks"), r"rm\.error: expected an object"),
}


@pytest.mark.parametrize(("change", "says"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_named(change: Callable[[Any], None], says: str) -> None:
    document = json.loads(encode(traced(ORDERLY)))
    change(document)
    with pytest.raises(TraceCorrupt, match=says):
        decode((json.dumps(document) + "\n").encode(), "x")


def test_a_call_cannot_come_after_the_answer_to_a_later_one() -> None:
    document = json.loads(encode(traced(Lane("files", (call("a", 0, 2), call("b", 0, 1))))))
    document["mcp"]["files"]["calls"][0]["after"] = 1
    with pytest.raises(TraceCorrupt, match=r"calls\[0\]: fewer than 1 calls were answered"):
        decode((json.dumps(document) + "\n").encode(), "x")


@pytest.mark.timeout(30)
def test_many_calls_are_read_at_once() -> None:
    calls = tuple(call("a", 0, 20_000 - number) for number in range(20_000))
    events = tuple(McpEvent(1, "server", {"method": "m"}, 0, number) for number in range(20_000))
    lane = Lane("files", calls, events)
    assert back(traced(lane))["files"].lane == lane


def mock(tool: str, *results: JsonValue, **more: Any) -> Mock:
    return Mock(tool, results, True, PLACE, **more)


def server(name: str, *tools: Mock) -> McpServer:
    return McpServer(name, "npx x", None, None, tools, PLACE)


RECORDED = {"files": RecordedServer(Lane("files"), {"rm": RecordedMock(("x",), True)})}


@pytest.mark.parametrize(
    ("declared", "changes"),
    [
        pytest.param([server("files", mock("rm", "x"))], [], id="none"),
        pytest.param([server("files", mock("rm", "x"), mock("ls"))], [], id="only declared"),
        pytest.param(
            [server("files", mock("rm", "y"))],
            ["MCP server `files`, tool `rm`: its result was edited after recording"],
            id="edited",
        ),
        pytest.param(
            [server("files", mock("rm", error={"message": "x"}))],
            ["MCP server `files`, tool `rm`: its result was edited after recording"],
            id="an error now",
        ),
        pytest.param(
            [server("files", mock("rm", "x", schema={"type": "object"}))],
            ["MCP server `files`, tool `rm`: its result was edited after recording"],
            id="a schema now",
        ),
        pytest.param(
            [server("files", mock("rm"), mock("cp", error={"message": "x"}))],
            [
                "MCP server `files`, tool `cp`: its mock was added after recording",
                "MCP server `files`, tool `rm`: its mock was removed after recording",
            ],
            id="another",
        ),
        pytest.param(
            [server("other")],
            [
                "MCP server `other`: it was added after recording",
                "MCP server `files`: it was removed after recording",
            ],
            id="servers",
        ),
    ],
)
def test_what_changed_since_is_told(declared: list[McpServer], changes: list[str]) -> None:
    assert list(server_changes(declared, RECORDED)) == changes


def test_mocks_of_the_model_are_compared_as_before() -> None:
    recorded = {"a": RecordedMock((1,), True), "b": RecordedMock((), False)}
    assert list(mock_changes([mock("a", 1)], recorded)) == []
    assert list(mock_changes([mock("a", "1"), mock("b", 1)], recorded)) == [
        "tool `a`: its result was edited after recording",
        "tool `b`: its mock was added after recording",
    ]
