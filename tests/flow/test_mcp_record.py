"""What the run record keeps of a lane: bounded, paired with the model's calls, and with its end."""

from __future__ import annotations

from flowproof.flow.mcp import McpOutcome
from flowproof.flow.mcp_record import MOST_CALLS, STDERR, TEXT, mcp_records
from flowproof.model.jsonvalue import JsonObject, JsonValue
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
from flowproof.model.mcp_record import McpCallRecord, McpEventRecord, McpRecord
from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView

VARIABLE = "FLOWPROOF_MCP_SERVER_files"


def outcome(lane: Lane, stderr: str = "", unconsumed: tuple[str, ...] = ()) -> McpOutcome:
    return McpOutcome(
        server=lane.server,
        transport="stdio",
        variable=VARIABLE,
        lane=lane,
        contacted=True,
        unconsumed=unconsumed,
        problems=("it broke",),
        stderr=stderr,
    )


def recorded(lane: Lane, trajectory: Trajectory, stderr: str = "") -> McpRecord:
    (found,) = mcp_records([outcome(lane, stderr)], trajectory)
    return found


def tool(
    name: str,
    arguments: JsonValue,
    ended: CallOutcome,
    *,
    connection: int = 1,
    mocked: bool = False,
) -> McpCall:
    params: JsonObject = {"name": name, "arguments": arguments}
    return McpCall(connection, None, "tools/call", params, ended, 0, 0, mocked=mocked)


def asking(*calls: ToolCall) -> Trajectory:
    answer = Message("assistant", None, calls)
    turn = TurnView(1, "openai.chat", "m", "", None, 0, (), 1, (), 200, (answer,))
    return Trajectory((turn,))


def asked(name: str, path: str) -> ToolCall:
    return ToolCall("c", name, f'{{"path":"{path}"}}', {"path": path})


LANE = Lane(
    "files",
    (
        McpCall(1, None, "initialize", {"protocolVersion": "2025-11-25"}, Result({}), 0, 1),
        tool("read", {"path": "b"}, Result({"content": [], "isError": True}), connection=2),
        tool("read", {"path": "a"}, Broken(502, "Bad Gateway"), mocked=True),
        tool("read", {"path": "a"}, RpcError({"code": -32000, "message": "no"})),
        tool("list", {}, Unanswered()),
    ),
    (
        McpEvent(1, "server", {"method": "notifications/progress", "params": {"p": 1}}, 0, 1),
        McpEvent(1, "server", {"method": "ping", "id": 4}, 1, 2, Result({})),
    ),
)


def test_calls_are_kept_with_what_led_to_them_and_how_they_ended() -> None:
    seen = asking(asked("read", "a"), asked("files__read", "b"), asked("write", "a"))
    found = recorded(LANE, seen)
    assert (found.made, found.mocked, found.connections) == (5, 1, 2)
    assert (found.notifications, found.requests) == (1, 1)
    assert found.problems == ("it broke",)
    assert found.calls[0] == McpCallRecord(
        1, 1, "initialize", "", '{\n  "protocolVersion": "2025-11-25"\n}', "result", "{}"
    )
    assert found.calls[2] == McpCallRecord(
        3,
        1,
        "tools/call",
        "read",
        '{\n  "path": "a"\n}',
        "broken",
        "HTTP status 502: Bad Gateway",
        mocked=True,
        asked=1,
    )
    ends = [(call.asked, call.outcome, call.failed) for call in found.calls[1:]]
    assert ends == [
        (2, "tool error", True),
        (1, "broken", True),
        (0, "error", True),
        (0, "unanswered", False),
    ]
    assert found.events == (
        McpEventRecord(1, "server", "notifications/progress", False, '{\n  "p": 1\n}', "", 1),
        McpEventRecord(1, "server", "ping", True, "", "{}", 2),
    )


def test_two_equal_calls_belong_to_two_calls_of_the_model() -> None:
    twice = (tool("read", {"path": "a"}, Result({})),) * 2
    seen = asking(asked("read", "a"), asked("read", "a"))
    assert [call.asked for call in recorded(Lane("files", twice), seen).calls] == [1, 2]
    assert [call.asked for call in recorded(Lane("files", twice), Trajectory(())).calls] == [0, 0]


def test_a_name_with_that_of_the_server_is_closer_than_one_with_another() -> None:
    one = (tool("read", {"path": "a"}, Result({})),)
    outcomes = [outcome(Lane("web", one)), outcome(Lane("files", one))]
    seen = asking(asked("mcp__files__read", "a"), asked("mcp__web__read", "a"))
    assert [found.calls[0].asked for found in mcp_records(outcomes, seen)] == [2, 1]


def test_a_lane_of_any_size_is_bounded() -> None:
    long = tool("read", {"path": "x" * 3_000_000}, Result("y" * 3_000_000))
    events = (McpEvent(1, "server", {"method": "m" * 1_000, "params": "z" * 50_000}, 0, 0),)
    lane = Lane("files", (long, *LANE.calls[1:2] * 3_000), events * 2_000)
    found = recorded(lane, Trajectory(()), stderr="e" * 100_000)
    assert (found.made, len(found.calls)) == (3_001, MOST_CALLS)
    assert (found.notifications, len(found.events)) == (2_000, 500)
    assert found.calls[0].arguments.endswith("characters more)")
    assert len(found.calls[0].arguments) < TEXT + 100
    assert len(found.stderr) == STDERR
    texts = [text for call in found.calls for text in (call.arguments, call.answer)]
    texts += [text for event in found.events for text in (event.params, event.method)]
    assert sum(map(len, texts)) < 5_000_000
