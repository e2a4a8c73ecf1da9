"""Where an agent leaves a lane is told by call, tool and path, and everything after is refused."""

from __future__ import annotations

import re

import pytest

from flowproof.boundary.mcp.jsonrpc import MAX_MESSAGE, REFUSED_CODE
from flowproof.boundary.mcp.replaying import ReplayingBoundary
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.mcp import Lane
from tests.boundary.mcp.talk import (
    INITIALIZE,
    META,
    Talk,
    call,
    error,
    hangs,
    notification,
    one_after_another,
    passed_on,
    recording,
    replaying,
    request,
    result,
    told,
)

ONE = call(1, "a", path="x", mode="r")


@pytest.mark.parametrize(
    ("sent", "kind", "path", "says"),
    [
        pytest.param(request(9, "tools/list"), "method", "$.method", "(tools/list)", id="method"),
        pytest.param(call(9, "b", path="x"), "tool", "$.params.name", "(tools/call a)", id="tool"),
        pytest.param(
            call(9, "a", path="y", mode="w"),
            "arguments",
            "$.params.arguments.path",
            "also different: $.params.arguments.mode",
            id="argument",
        ),
        pytest.param(
            call(9, "a", path="x"),
            "arguments",
            "$.params.arguments.mode",
            "call 1 to MCP server `files` (tools/call a) differs from recorded call 1 in its",
            id="a missing argument",
        ),
        pytest.param(
            request(9, "tools/call", {"name": "a"}),
            "arguments",
            "$.params.arguments",
            "",
            id="no arguments",
        ),
        pytest.param(
            request(9, "tools/call"), "tool", "$.params.name", "(tools/call)", id="no params"
        ),
        pytest.param(
            call(9, "a", META, path="x", mode="r"),
            "protocol version",
            "$.params._meta",
            "",
            id="the version",
        ),
        pytest.param(
            request(
                9, "tools/call", {"name": "a", "arguments": {"path": "x", "mode": "r"}, "x": 1}
            ),
            "parameters",
            "$.params.x",
            "",
            id="more",
        ),
    ],
)
def test_the_first_difference_is_named(sent: JsonObject, kind: str, path: str, says: str) -> None:
    recorded = recording()
    Talk(recorded).ask(ONE, result(1, {}))
    boundary = replaying(recorded)
    talk = Talk(boundary)
    (refused,) = told(talk.agent(sent))
    found = boundary.divergence
    assert found is not None
    assert (found.kind, found.path, found.request) == (kind, path, 1)
    assert says in found.message
    assert found.excerpt
    assert refused == error(9, REFUSED_CODE, f"flowproof: replay diverged: {found}")
    (later,) = told(talk.agent({**ONE, "id": 10}))
    assert later == {**refused, "id": 10}
    assert boundary.divergence == found


def test_another_version_of_the_protocol() -> None:
    boundary = replaying(one_after_another())
    params: JsonObject = {"protocolVersion": "2025-06-18", "capabilities": {}}
    Talk(boundary).agent(request(0, "initialize", params))
    assert boundary.divergence is not None
    assert boundary.divergence.kind == "protocol version"
    assert boundary.divergence.path == "$.params.protocolVersion"


def test_a_call_that_is_left_out_is_told_as_such() -> None:
    boundary = replaying(one_after_another("a", "b"))
    talk = Talk(boundary)
    talk.agent(INITIALIZE)
    talk.agent(call(2, "b", path="a"))
    assert boundary.divergence is not None
    assert "it equals recorded call 3, which is later" in boundary.divergence.message


def test_a_call_that_is_made_twice_is_told_as_such() -> None:
    boundary = replaying(one_after_another("a", "b"))
    talk = Talk(boundary)
    for message in (INITIALIZE, call(1, "a", path="a"), call(2, "a", path="a")):
        talk.agent(message)
    assert boundary.divergence is not None
    assert "the recording holds an equal call, which was made" in boundary.divergence.message


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        pytest.param((), "the recording holds 1 call of this connection, which it made", id="one"),
        pytest.param(("a",), "holds 2 calls of this connection, which it made all", id="two"),
    ],
)
def test_a_call_too_many(tools: tuple[str, ...], says: str) -> None:
    boundary = replaying(one_after_another(*tools))
    talk = Talk(boundary)
    talk.agent(INITIALIZE)
    for number, tool in enumerate(tools, 1):
        talk.agent(call(number, tool, path="a"))
    talk.agent(call(9, "more"))
    assert boundary.divergence is not None
    assert boundary.divergence.kind == "extra call"
    assert says in boundary.divergence.message


def test_nothing_was_recorded() -> None:
    boundary = ReplayingBoundary(Lane("files"), {})
    assert boundary.unconsumed() == ()
    talk = Talk(boundary)
    assert talk.agent(notification("notifications/initialized")) == []
    assert boundary.divergence is None
    (refused,) = told(talk.agent(INITIALIZE))
    assert "the recording holds no call of this connection" in str(refused["error"])


@pytest.mark.parametrize(
    ("message", "kind", "ids"),
    [
        pytest.param([call(1, "a"), call(2, "b")], "batch", [None, 1, 2], id="a batch"),
        pytest.param({"id": 1}, "message", [1], id="no message"),
        pytest.param(result(1, {}), "answer", [], id="an answer to nothing"),
    ],
)
def test_what_no_agent_should_send(message: JsonValue, kind: str, ids: list[JsonValue]) -> None:
    boundary = replaying(one_after_another("a"))
    answers = told(Talk(boundary).agent(message))
    assert [one["id"] for one in answers] == ids
    assert boundary.divergence is not None
    assert boundary.divergence.kind == kind


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        pytest.param(b"{", False, id="no JSON"),
        pytest.param(b" " * (MAX_MESSAGE + 1), True, id="too large"),
    ],
)
def test_what_cannot_be_read(data: bytes, ends: bool) -> None:
    boundary = replaying(one_after_another())
    commands = list(boundary.open().from_agent(data))
    assert [one["id"] for one in told(commands)] == [None]
    assert bool(hangs(commands)) is ends
    assert boundary.divergence is not None
    assert boundary.divergence.kind == "message"


def test_a_batch_where_the_version_has_them() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.ask(INITIALIZE, result(0, {"protocolVersion": "2025-03-26", "capabilities": {}}))
    talk.agent([call(1, "a"), call(2, "b")])
    talk.server([result(2, "B"), result(1, "A")])
    replayed = Talk(replaying(recorded))
    replayed.agent(INITIALIZE)
    commands = replayed.agent([call(4, "b"), notification("notifications/x"), call(5, "a")])
    assert told(commands) == [result(4, "B"), result(5, "A")]


def test_hostile_names_are_made_visible() -> None:
    recorded = recording()
    Talk(recorded).ask(request(1, "a\x1b[31m" + "x" * 5000), result(1, {}))
    boundary = replaying(recorded)
    assert "\x1b" not in boundary.unconsumed()[0]
    assert len(boundary.unconsumed()[0]) < 200
    Talk(boundary).agent(call(1, "b\x1b[2J" + "y" * 5000))
    assert boundary.divergence is not None
    assert not re.search("[\x00-\x09\x0b-\x1f]", str(boundary.divergence))


def test_a_replay_has_no_server() -> None:
    boundary = replaying(one_after_another("a"))
    talk = Talk(boundary)
    assert talk.server(result(1, {})) == []
    assert list(talk.session.server_broke(None, None, "x")) == []
    assert passed_on(talk.agent(INITIALIZE)) == []
    assert boundary.problems == ()


def test_a_call_without_an_id_goes_nowhere() -> None:
    guilty = notification("tools/call", {"name": "delete", "arguments": {"path": "diary"}})
    innocent = notification("notifications/progress", {"progressToken": 1, "progress": 1})
    recorded = recording()
    talk = Talk(recorded)
    assert talk.agent(innocent) != []
    assert not any(recorded.problems)
    assert talk.agent(guilty) == []
    problem = " ".join(recorded.problems)
    assert "`tools/call` without an id" in problem
    replayed = replaying(one_after_another("a"))
    again = Talk(replayed)
    again.agent(innocent)
    assert replayed.divergence is None
    assert again.agent(guilty) == []
    assert replayed.divergence is not None
