"""Assertions see what a provider ran itself, in every dialect, and warnings know who ran it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowproof.checks.warnings import interception_warnings, mock_warnings, vacuous_guards
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.flow_spec import Matcher, Mock
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import ToolCall, Trajectory
from flowproof.model.turn import Operation, Response, Turn
from tests.checks.builders import (
    AT,
    call,
    called,
    clause,
    equals,
    exactly,
    failure,
    never,
    passed,
    quoted,
    reply,
    trajectory,
    turn,
)

PATHS = {
    "openai.chat": "/chat/completions",
    "openai.responses": "/responses",
    "anthropic.messages": "/messages",
    "google.generate": "/models/m:generateContent",
}


def seen(dialect: str, request: JsonObject, body: JsonValue) -> Trajectory:
    """The trajectory of one turn."""
    return trajectory_of([Turn(Operation(dialect, PATHS[dialect]), request, Response(200, body))])


def responses(*items: JsonObject) -> Trajectory:
    said: JsonObject = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}],
    }
    request: JsonObject = {"input": "u", "tools": [{"type": "web_search_preview"}]}
    return seen("openai.responses", request, {"output": [*items, said]})


def messages(*blocks: JsonObject) -> Trajectory:
    tool: JsonObject = {"type": "web_search_20250305", "name": "web_search"}
    said: JsonObject = {"type": "text", "text": "Hi"}
    return seen("anthropic.messages", {"tools": [tool]}, {"content": [*blocks, said]})


def gemini(**members: JsonValue) -> Trajectory:
    candidate: JsonObject = {"content": {"role": "model", "parts": [{"text": "Hi"}]}}
    request: JsonObject = {"tools": [{"googleSearch": {}}]}
    return seen("google.generate", request, {"candidates": [candidate | members]})


def chat(**members: JsonValue) -> Trajectory:
    said: JsonObject = {"role": "assistant", "content": "Hi"}
    body: JsonObject = {"choices": [{"index": 0, "message": said | members}]}
    return seen("openai.chat", {"messages": [], "web_search_options": {}}, body)


CITED: JsonObject = {"type": "url_citation", "url_citation": {"url": "u", "title": "t"}}
SEARCH: JsonObject = {"type": "web_search_call", "id": "w", "action": {"query": "q"}}
SERVER: JsonObject = {
    "type": "server_tool_use",
    "id": "s",
    "name": "web_search",
    "input": {"query": "q"},
}


@pytest.mark.parametrize(
    ("guilty", "innocent", "tool"),
    [
        pytest.param(responses(SEARCH), responses(), "web_search", id="responses"),
        pytest.param(messages(SERVER), messages(), "web_search", id="messages"),
        pytest.param(
            gemini(groundingMetadata={"webSearchQueries": ["q"]}),
            gemini(),
            "google_search",
            id="gemini",
        ),
        pytest.param(chat(annotations=[CITED]), chat(), "web_search", id="chat"),
    ],
)
def test_a_served_call_is_a_call_in_every_dialect(
    guilty: Trajectory, innocent: Trajectory, tool: str
) -> None:
    hi = reply(Matcher.EQUALS, "Hi")
    forbidden, listed, needed = never(tool), exactly(tool), called(tool)
    assert passed(guilty, forbidden, listed, needed, hi) == [False, True, True, True]
    assert passed(innocent, forbidden, exactly(), needed, hi) == [True, True, False, True]
    assert "(run by the provider)" in str(failure(guilty, forbidden).closest)
    for either in (guilty, innocent):
        assert vacuous_guards([forbidden], either, ()) == ()
        assert interception_warnings([], [forbidden], (), either) == ()
        (misspelt,) = vacuous_guards([never(f"{tool}s")], either, ())
        assert f"did you mean `{tool}`?" in misspelt.reason


@pytest.mark.parametrize(
    "made", [responses(SEARCH), messages(SERVER)], ids=["responses", "messages"]
)
def test_conditions_on_a_served_call(made: Trajectory) -> None:
    assert passed(made, never("web_search", equals("query", "q"))) == [False]
    assert passed(made, never("web_search", equals("query", "other"))) == [True]
    assert passed(made, called("web_search", exact={"query": quoted("q")})) == [True]


def test_arguments_that_the_provider_does_not_tell_are_not_shown_to_differ() -> None:
    failed = failure(chat(annotations=[CITED]), never("web_search", equals("query", "q")))
    assert "its arguments are not told by the provider" in failed.message
    missing = failure(chat(annotations=[CITED]), called("web_search", equals("query", "q")))
    assert missing.message.endswith("the closest call's arguments are not told by the provider")


def test_a_strict_flow_lists_served_calls() -> None:
    assert passed(responses(SEARCH), strict=True) == [False]
    assert passed(responses(), strict=True) == [True]


def approved(name: str, arguments: str = "{}") -> Trajectory:
    request: JsonObject = {
        "type": "mcp_approval_request",
        "id": "r",
        "name": "pay",
        "arguments": "{}",
    }
    ran: JsonObject = {
        "type": "mcp_call",
        "id": "m",
        "name": name,
        "arguments": arguments,
        "approval_request_id": "r",
    }
    operation = Operation("openai.responses", "/responses")
    bodies: list[JsonObject] = [{"output": [request]}, {"output": [ran]}]
    return trajectory_of([Turn(operation, {}, Response(200, body)) for body in bodies])


def test_a_call_that_was_approved_first_is_one_call() -> None:
    assert passed(approved("pay"), exactly("pay")) == [True]
    assert passed(approved("pay"), called("pay", times=(2, 2))) == [False]


def test_another_call_under_the_id_of_an_approved_one_is_not_hidden() -> None:
    assert passed(approved("refund"), never("refund")) == [False]
    assert passed(approved("pay", '{"to":"x"}'), never("pay", equals("to", "x"))) == [False]


SERVED = ToolCall("s", "web_search", "{}", {}, served=True)


def test_who_runs_a_tool_decides_what_the_warnings_say() -> None:
    search = Mock("web_search", ("x",), True, AT)
    own = trajectory(call("web_search"), tools=("web_search",))
    theirs = Trajectory((replace(turn(1, SERVED, tools=("web_search",)), served=("web_search",)),))
    guard = never("web_search")
    assert "nothing intercepts `web_search`" in interception_warnings([], [guard], (), own)[0]
    assert mock_warnings([search], own) == ()
    assert interception_warnings([search], [guard], (), theirs) == ()
    (warned,) = mock_warnings([search], theirs)
    assert "the provider runs `web_search` itself, so this result was never used" in warned
    # Where it is both, the agent may run it.
    both = Trajectory((*own.turns, *theirs.turns))
    assert both.served_tools() == frozenset()
    assert len(interception_warnings([], [guard], (), both)) == 1


def test_a_reply_may_follow_a_served_call() -> None:
    hi = reply(Matcher.EQUALS, "Hi")
    assert passed(Trajectory((turn(1, SERVED, text="Hi"),)), hi) == [True]
    asked = failure(Trajectory((turn(1, SERVED, call("book"), text="Hi"),)), hi)
    assert "it ends in a tool call to `book` in turn 1" in asked.message
    silent = failure(Trajectory((turn(1, SERVED),)), hi)
    assert "has no text" in silent.message


def test_only_the_agents_own_call_is_told_as_such() -> None:
    seen = trajectory(call("book"))
    assert "provider" not in str(failure(seen, never("book")).closest)
    wanted = called("book", clause("at", Matcher.EXISTS))
    assert "provider" not in failure(seen, wanted).message
