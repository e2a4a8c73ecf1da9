"""What is recorded of an agent and a real MCP server, and what no recording can hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowproof.boundary.mcp.interface import Command, Hang, ToAgent, ToServer
from flowproof.boundary.mcp.jsonrpc import CONNECTION_CLOSED, MAX_MESSAGE, REFUSED_CODE
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import (
    Broken,
    Lane,
    McpCall,
    McpEvent,
    Result,
    RpcError,
    Unanswered,
)
from tests.boundary.mcp.talk import (
    INITIALIZE,
    INITIALIZED,
    META,
    VERSION,
    Talk,
    bytes_of,
    call,
    error,
    hangs,
    notification,
    passed_on,
    recording,
    request,
    result,
    text,
    told,
)

READ: JsonValue = {"name": "read", "arguments": {"path": "a"}}


def test_a_call_and_its_answer() -> None:
    boundary = recording()
    talk = Talk(boundary)
    sent = call(7, "read", path="a")
    assert talk.agent(sent) == [ToServer(sent)]
    answered = result(7, text("A"))
    assert talk.server(answered) == [ToAgent(answered, answers=7)]
    assert boundary.lane() == Lane(
        "files", (McpCall(1, None, "tools/call", READ, Result(text("A")), 0, 1),)
    )
    assert boundary.problems == ()
    assert boundary.contacted


def test_nobody_came() -> None:
    boundary = recording()
    boundary.open().closed()
    assert not boundary.contacted
    assert boundary.lane() == Lane("files")
    assert boundary.divergence is None
    assert boundary.unconsumed() == ()


def test_what_is_matched_of_a_handshake() -> None:
    boundary = recording()
    Talk(boundary).ask(INITIALIZE, INITIALIZED)
    (one,) = boundary.lane().calls
    assert one.params == {"protocolVersion": "2025-11-25"}


def test_what_is_matched_of_a_modern_request() -> None:
    boundary = recording()
    meta: JsonObject = {**META, "io.modelcontextprotocol/clientInfo": {"name": "a"}}
    talk = Talk(boundary)
    talk.agent(request("a", "server/discover", {"_meta": meta}))
    talk.agent(request("b", "tools/list", {"_meta": {"progressToken": 3}}))
    discover, listed = boundary.lane().calls
    assert discover.params == {"_meta": {"io.modelcontextprotocol/protocolVersion": VERSION}}
    assert listed.params is None


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param(
            result(1, {"isError": True, "content": []}),
            Result({"isError": True, "content": []}),
            id="a tool that failed",
        ),
        pytest.param(
            error(1, -32602, "no"), RpcError({"code": -32602, "message": "no"}), id="an error"
        ),
        pytest.param(result(1, None), Result(None), id="null"),
    ],
)
def test_an_answer_is_what_it_was(answer: JsonObject, outcome: object) -> None:
    boundary = recording()
    assert told(Talk(boundary).ask(call(1, "read"), answer))[-1] == answer
    assert boundary.lane().calls[0].outcome == outcome


def test_a_status_is_an_answer_of_its_own() -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.agent(call(1, "read"))
    assert list(talk.session.server_broke(1, 503, "busy")) == [Hang(1, 503, "busy")]
    assert boundary.lane().calls[0].outcome == Broken(503, "busy")
    assert boundary.problems == ()


def test_calls_that_overlapped() -> None:
    boundary = recording()
    talk = Talk(boundary)
    for number in (1, 2, 3):
        talk.agent(call(number, "read", path=number))
    talk.server(result(2, "two"))
    talk.agent(call(4, "read"))
    talk.server(result(1, "one"))
    talk.server(result(4, "four"))
    places = [(one.after, one.answered) for one in boundary.lane().calls]
    assert places == [(0, 2), (0, 1), (0, 0), (1, 3)]
    assert boundary.lane().calls[2].outcome == Unanswered()


def test_events_of_both_sides() -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.ask(INITIALIZE, INITIALIZED)
    hello = notification("notifications/initialized", {"_meta": {"trace": 1}})
    assert talk.agent(hello) == [ToServer(hello)]
    progress = notification("notifications/progress", {"progressToken": "t", "progress": 1})
    talk.agent(call(1, "a"))
    commands = talk.ask(call(2, "b", {"progressToken": "t"}), progress)
    assert commands[-1] == ToAgent(progress, within=2)
    lane = boundary.lane()
    assert lane.events == (
        McpEvent(1, "agent", {"method": "notifications/initialized"}, 1, 1),
        McpEvent(
            1,
            "server",
            {"method": progress["method"], "params": progress["params"]},
            after=1,
            seen=3,
        ),
    )
    assert [one.progress_token for one in lane.calls] == [None, None, "t"]


def test_a_request_of_the_server() -> None:
    boundary = recording()
    talk = Talk(boundary)
    asked = request(1, "sampling/createMessage", {"messages": []})
    talk.agent(call(1, "ask"))
    assert talk.server(asked) == [ToAgent(asked, within=1)]
    talk.ask(call(2, "other"), result(2, {}))
    answer = result(1, {"role": "assistant"})
    assert talk.agent(answer) == [ToServer(answer)]
    talk.server(result(1, {}))
    (event,) = boundary.lane().events
    message: JsonObject = {"id": 1, "method": asked["method"], "params": {"messages": []}}
    assert event == McpEvent(
        1, "server", message, 0, 1, Result({"role": "assistant"}), answer_after=1
    )


def test_a_subscription_keeps_its_id() -> None:
    boundary = recording()
    talk = Talk(boundary)
    key = "io.modelcontextprotocol/subscriptionId"
    told_of: JsonObject = {"_meta": {key: "listen:0"}}
    acknowledged = notification("notifications/subscriptions/acknowledged", told_of)
    commands = talk.ask(request("listen:0", "subscriptions/listen", {}), acknowledged)
    assert commands[-1] == ToAgent(acknowledged, within="listen:0")
    talk.ask(request("x", "tools/list"), notification("notifications/message", {"data": 1}))
    commands = talk.server(notification("notifications/message", {"data": 1}))
    assert commands == [ToAgent(notification("notifications/message", {"data": 1}), within="x")]
    listen, listed = boundary.lane().calls
    assert (listen.id, listed.id) == ("listen:0", None)


def test_connections_are_counted_by_their_first_message() -> None:
    boundary = recording()
    first, silent, second = (Talk(boundary) for _ in range(3))
    silent.session.closed()
    second.agent(call(1, "b"))
    first.agent(call(1, "a"))
    second.server(result(1, "b"))
    lane = boundary.lane()
    assert [(one.connection, one.tool) for one in lane.calls] == [(1, "b"), (2, "a")]
    assert [one.answered for one in lane.calls] == [1, 0]


def test_a_batch_where_the_version_has_them() -> None:
    boundary = recording()
    talk = Talk(boundary)
    settled = result(0, {"protocolVersion": "2025-03-26", "capabilities": {}})
    talk.ask(INITIALIZE, settled)
    first, second = call(1, "a"), call(2, "b")
    hello = notification("notifications/initialized")
    commands = talk.agent([hello, first, second])
    assert passed_on(commands) == [hello, first, second]
    assert told(talk.server([result(2, "B"), result(1, "A")])) == [result(2, "B"), result(1, "A")]
    assert [one.answered for one in boundary.lane().calls] == [1, 3, 2]
    assert boundary.problems == ()


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        pytest.param(
            [call(1, "a"), call("x", "b")], "JSON-RPC batch .* only 2025-03-26", id="some"
        ),
        pytest.param([], "empty JSON-RPC batch", id="none"),
    ],
)
def test_a_batch_anywhere_else(batch: list[JsonValue], says: str) -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.ask(INITIALIZE, INITIALIZED)
    answers = told(talk.agent(batch))
    assert [one["id"] for one in answers] == [None, 1, "x"][: 1 + len(batch)]
    assert {str(one["error"])[:16] for one in answers} == {"{'code': -32600,"}
    assert len(boundary.lane().calls) == 1
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(*boundary.problems)


Act = Callable[[Talk], list[Command]]


def broke(answers: JsonValue, said: str) -> Act:
    return lambda talk: list(talk.session.server_broke(answers, None, said))


def raw(data: bytes) -> Act:
    return lambda talk: list(talk.session.from_server(data))


PROBLEMS: dict[str, tuple[Act, str]] = {
    "no JSON": (raw(b"Traceback"), "a message of the server is not JSON that flowproof accepts"),
    "too large": (raw(b" " * (MAX_MESSAGE + 1)), "is larger than 10 MiB"),
    "too deep": (raw(b"[" * 300 + b"]" * 300), "nested deeper"),
    "no message": (lambda talk: talk.server({"id": 1}), "the server sent what is no message: a "),
    "a number": (lambda talk: talk.server(5), "no message: a message is an object"),
    "both": (lambda talk: talk.server({"id": 1, "result": 1, "error": 2}), "no message"),
    "an unknown id": (lambda talk: talk.server(result("1", {})), r'answered the id "1", which'),
    "no id": (lambda talk: talk.server(error(None, -32700, "no")), "refused an unnamed message"),
    "a batch": (lambda talk: talk.server([result(1, {})]), "batch"),
    "a crash": (broke(None, "exit status 3"), r"ended while call 1 \(tools/call read\) waited"),
    "no answer": (broke(1, "timed out"), r"gave no answer to call 1 \(tools/call read\): timed"),
}


@pytest.mark.parametrize(("act", "says"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_a_server_must_not_do(act: Act, says: str) -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.agent(call(1, "read"))
    assert not boundary.problems
    (answer,) = told(act(talk))
    assert (answer["id"], "error" in answer) == (1, True)
    problem = boundary.problems[0]
    assert problem.startswith("MCP server `files`: ")
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(problem)
    assert boundary.lane().calls[0].outcome != Unanswered()


def test_a_crash_ends_the_connection_and_answers_what_comes_after() -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.agent(call(1, "read"))
    commands = list(talk.session.server_broke(None, None, "exit status 3"))
    assert [(one.answers, one.status) for one in hangs(commands)] == [(None, None)]
    (later,) = told(talk.agent(call(2, "read")))
    assert later["error"] == {"code": CONNECTION_CLOSED, "message": boundary.problems[0]}
    assert len(boundary.lane().calls) == 1


AGENTS: dict[str, tuple[JsonValue, str, JsonValue]] = {
    "no message": ({"id": 4}, "the agent sent what is no message", 4),
    "no id": ({"id": None, "method": "x"}, "`id` of a request is a string or a number", None),
    "no method": ({"id": True, "method": 3}, "`method` is a string", None),
    "the same id": (call(1, "b"), "the agent used the id 1 for two open calls", 1),
}


@pytest.mark.parametrize(("message", "says", "answers"), AGENTS.values(), ids=AGENTS)
def test_what_an_agent_must_not_do(message: JsonValue, says: str, answers: JsonValue) -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.agent(call(1, "read"))
    (answer,) = told(talk.agent(message))
    assert answer["id"] == answers
    assert "flowproof: cannot record" in str(answer["error"])
    assert says in boundary.problems[0]
    assert told(talk.server(result(1, {}))) == [result(1, {})]


def test_an_answer_of_the_agent_that_nobody_asked_for() -> None:
    boundary = recording()
    assert Talk(boundary).agent(result(9, {})) == []
    assert "answered the id 9, which nobody asked with" in boundary.problems[0]


def test_a_message_that_is_too_large_ends_the_connection() -> None:
    boundary = recording()
    session = boundary.open()
    largest = bytes_of(call(1, "a")).ljust(MAX_MESSAGE)
    assert passed_on(session.from_agent(largest))
    commands = list(session.from_agent(largest + b" "))
    assert [one["id"] for one in told(commands)] == [None]
    assert [one.status for one in hangs(commands)] == [413]
    assert "larger than 10 MiB" in boundary.problems[0]


def test_noise_of_an_agent_is_told_of() -> None:
    boundary = recording()
    commands = list(boundary.open().from_agent(b"hello"))
    assert [one["id"] for one in told(commands)] == [None]
    assert not hangs(commands)
    assert "a message of the agent is not JSON" in boundary.problems[0]


def test_what_comes_when_the_agent_has_left_is_not_recorded() -> None:
    boundary = recording()
    talk = Talk(boundary)
    talk.agent(call(1, "read"))
    talk.session.closed()
    assert talk.server(result(1, {})) == []
    assert list(talk.session.server_broke(None, None, "exit status 0")) == []
    assert boundary.problems == ()
    assert boundary.lane().calls[0].outcome == Unanswered()


def test_problems_are_bounded_and_told_once() -> None:
    boundary = recording()
    talk = Talk(boundary)
    for number in range(40):
        talk.server(result(number // 2, "x" * 5000))
        talk.agent(result("\x1b" * 3000 + str(number), {}))
    assert 1 < len(boundary.problems) <= 20
    assert all(len(one) < 2000 and "\x1b" not in one for one in boundary.problems)


def test_numbers_stay_as_they_were_written() -> None:
    boundary = recording()
    session = boundary.open()
    data = b'{"id":1.0,"method":"tools/call","params":{"name":"a","arguments":{"n":1.10}}}'
    (command,) = session.from_agent(data)
    assert isinstance(command, ToServer)
    assert bytes_of(command.message) == data
    list(session.from_server(b'{"id":1,"result":{}}'))
    assert "answered the id 1, which is no open call's" in boundary.problems[0]
    assert boundary.lane().calls[0].outcome == RpcError(
        {"code": REFUSED_CODE, "message": f"flowproof: cannot record: {boundary.problems[0]}"}
    )
