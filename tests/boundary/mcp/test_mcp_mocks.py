"""A mocked tool is answered in both phases, in the form of its era, and no server hears of it."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.boundary.mcp.interface import ToAgent
from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import Result
from tests.boundary.mcp.talk import (
    META,
    Talk,
    call,
    error,
    passed_on,
    recording,
    replaying,
    request,
    result,
    text,
    told,
)

OK: JsonObject = {"ok": True}
STRUCTURED: JsonObject = {
    "content": [{"type": "text", "text": '{"ok":true}'}],
    "structuredContent": OK,
}
SENT: JsonObject = {"content": [], "isError": True}
FAILED: JsonObject = {"content": [{"type": "text", "text": "no"}], "isError": True}


def mock(*results: JsonValue, **more: Any) -> MockedMcpTool:
    return MockedMcpTool(results, **{"repeat_last": len(results) < 2, **more})


def both(mocked: MockedMcpTool, *calls: JsonObject) -> list[list[JsonObject]]:
    """What is answered at record and at replay; nothing reaches a server."""
    recorded = recording(rm=mocked)
    phases = []
    for boundary in (recorded, None):
        boundary_now = boundary or replaying(recorded, rm=mocked)
        talk = Talk(boundary_now)
        commands = [command for one in calls for command in talk.agent(one)]
        assert passed_on(commands) == []
        assert all(isinstance(one, ToAgent) and one.answers is not None for one in commands)
        assert boundary_now.divergence is None
        phases.append(told(commands))
    assert all(one.mocked for one in recorded.lane().calls)
    return phases


@pytest.mark.parametrize(
    ("mocked", "answer"),
    [
        pytest.param(mock("gone"), result(1, text("gone")), id="a text"),
        pytest.param(mock(OK), result(1, STRUCTURED), id="an object"),
        pytest.param(mock([1, None]), result(1, text("[1,null]")), id="a list"),
        pytest.param(mock(None), result(1, text("null")), id="null"),
        pytest.param(mock(SENT), result(1, SENT), id="content"),
        pytest.param(
            mock({"content": "x"}),
            result(1, {**text('{"content":"x"}'), "structuredContent": {"content": "x"}}),
            id="other content",
        ),
        pytest.param(mock(error={"message": "no"}), result(1, FAILED), id="a failed tool"),
        pytest.param(
            mock(error={"code": -32602, "message": "no"}), error(1, -32602, "no"), id="an error"
        ),
    ],
)
def test_what_a_mock_answers(mocked: MockedMcpTool, answer: JsonObject) -> None:
    assert both(mocked, call(1, "rm", path="/")) == [[answer], [answer]]


@pytest.mark.parametrize(
    ("mocked", "value"),
    [
        pytest.param(mock("gone"), {**text("gone"), "resultType": "complete"}, id="a text"),
        pytest.param(
            mock(error={"message": "no"}), {**FAILED, "resultType": "complete"}, id="failed"
        ),
        pytest.param(
            mock({"content": [], "resultType": "task"}),
            {"content": [], "resultType": "task"},
            id="as it is",
        ),
    ],
)
def test_the_form_is_that_of_the_era(mocked: MockedMcpTool, value: JsonObject) -> None:
    assert both(mocked, call(1, "rm", META)) == [[result(1, value)]] * 2


def test_results_come_one_after_another() -> None:
    calls = [call(number, "rm", n=number) for number in range(3)]
    answers = [result(0, text("a")), result(1, text("b")), result(2, text("b"))]
    assert both(mock("a", "b", repeat_last=True), *calls) == [answers, answers]


def test_results_run_out() -> None:
    boundary = recording(rm=mock("a", "b"))
    talk = Talk(boundary)
    for number in (1, 2):
        talk.agent(call(number, "rm"))
    assert not boundary.problems
    (answer,) = told(talk.agent(call(3, "rm")))
    assert "`results:` holds 2 results" in str(answer["error"])
    assert ["tool `rm` was called 3 times" in one for one in boundary.problems] == [True]


def test_a_call_keeps_its_result_when_others_come_first() -> None:
    mocked = mock("one", "two")
    recorded = recording(rm=mocked)
    talk = Talk(recorded)
    talk.agent(call(0, "slow"))
    talk.ask(call(1, "rm", n=1))
    talk.agent(call(2, "rm", n=2))
    replayed = Talk(replaying(recorded, rm=mocked))
    assert told(replayed.agent(call(1, "rm", n=1))) == [result(1, text("one"))]
    assert told(replayed.agent(call(2, "rm", n=2))) == [result(2, text("two"))]


def test_overlapped_mocks_swap_places_and_keep_their_results() -> None:
    mocked = mock("one", "two", "three")
    recorded = recording(rm=mocked, ls=mock("x"))
    batch: list[JsonValue] = [call(number, "rm", n=number) for number in range(3)]
    for one in batch:
        Talk(recorded).agent(one)
    boundary = replaying(recorded, rm=mocked)
    talks = [Talk(boundary) for _ in range(3)]
    answers = {0: "one", 1: "two", 2: "three"}
    for number, talk in enumerate(talks):
        assert told(talk.agent(call(9, "rm", n=number))) == [result(9, text(answers[number]))]


def test_mocks_are_matched_like_other_calls() -> None:
    recorded = recording(rm=mock("gone"))
    Talk(recorded).agent(call(1, "rm", path="a"))
    boundary = replaying(recorded, rm=mock("gone"))
    Talk(boundary).agent(call(1, "rm", path="b"))
    assert boundary.divergence is not None
    assert boundary.divergence.path == "$.params.arguments.path"


def test_a_tool_that_is_only_declared_is_passed_on() -> None:
    boundary = recording(rm=MockedMcpTool())
    assert passed_on(Talk(boundary).agent(call(1, "rm"))) == [call(1, "rm")]
    assert not boundary.lane().calls[0].mocked


SCHEMA: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
LISTED: JsonObject = {"name": "rm", "inputSchema": {"type": "object"}, "outputSchema": {}}
OTHER: JsonObject = {"name": "ls", "inputSchema": {"type": "object"}, "outputSchema": {}}


def listed(answer: JsonObject, **mocks: MockedMcpTool) -> JsonValue:
    """What the agent is told at record and at replay of the tools."""
    recorded = recording(**mocks)
    (message,) = told(Talk(recorded).ask(request(1, "tools/list"), answer))
    assert recorded.lane().calls[0].outcome == Result(message["result"])
    assert told(Talk(replaying(recorded, **mocks)).agent(request(1, "tools/list"))) == [message]
    return message["result"]


def test_a_mocked_tool_is_listed_where_the_server_lacks_it() -> None:
    told_of = listed(result(1, {"tools": [OTHER], "x": 1}), rm=mock("a", schema=SCHEMA))
    assert told_of == {"tools": [OTHER, {"name": "rm", "inputSchema": SCHEMA}], "x": 1}
    assert listed(result(1, {"tools": []}), rm=mock("a")) == {
        "tools": [{"name": "rm", "inputSchema": {"type": "object"}}]
    }


def test_a_mocked_tool_of_the_server_is_listed_without_a_schema_of_results() -> None:
    told_of = listed(result(1, {"tools": [OTHER, LISTED]}), rm=mock("a", schema=SCHEMA))
    shown = {"name": "rm", "inputSchema": {"type": "object"}}
    assert told_of == {"tools": [OTHER, shown]}


def test_a_list_without_mocks_is_passed_on_as_it_is() -> None:
    assert listed(result(1, {"tools": [LISTED]})) == {"tools": [LISTED]}
    assert listed(result(1, {"tools": 5}), rm=mock("a")) == {"tools": 5}
    assert listed(result(1, 5), rm=mock("a")) == 5


def test_a_list_in_pages_has_mocked_tools_once_and_last() -> None:
    boundary = recording(rm=mock("a"), cp=mock("b"))
    talk = Talk(boundary)
    (first,) = told(
        talk.ask(request(1, "tools/list"), result(1, {"tools": [LISTED, 5], "nextCursor": "n"}))
    )
    assert first["result"] == {
        "tools": [{"name": "rm", "inputSchema": {"type": "object"}}, 5],
        "nextCursor": "n",
    }
    (last,) = told(
        talk.ask(request(2, "tools/list", {"cursor": "n"}), result(2, {"tools": [{"name": []}]}))
    )
    assert last["result"] == {
        "tools": [{"name": []}, {"name": "cp", "inputSchema": {"type": "object"}}]
    }


@pytest.mark.parametrize(
    ("params", "more"),
    [
        pytest.param(None, {}, id="legacy"),
        pytest.param(
            {"_meta": META},
            {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"},
            id="modern",
        ),
    ],
)
def test_a_server_that_has_no_tools(params: JsonValue, more: JsonObject) -> None:
    boundary = recording(rm=mock("a", schema=SCHEMA))
    talk = Talk(boundary)
    (hello,) = told(talk.ask(request(0, "initialize"), result(0, {"capabilities": {"x": {}}})))
    assert hello["result"] == {"capabilities": {"x": {}, "tools": {}}}
    (page,) = told(talk.ask(request(1, "tools/list", params), error(1, -32601, "no such method")))
    mocked: list[JsonValue] = [{"name": "rm", "inputSchema": SCHEMA}]
    assert page["result"] == {**more, "tools": mocked}
    (other,) = told(talk.ask(request(2, "tools/list", params), error(2, -32603, "broken")))
    assert "error" in other
