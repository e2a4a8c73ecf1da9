"""Turns as the wire had them become the neutral view, each saying only what it adds."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.flow.trajectory import trajectory_of
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.trajectory import ToolParameters, Trajectory
from flowproof.model.turn import Operation, Response, Turn
from tests.flow.support import asking, calling, saying, turn


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def of(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(messages), **more}


def test_no_turns() -> None:
    assert trajectory_of(()).turns == ()


def test_a_growing_conversation_is_told_once() -> None:
    requests = [asking("a"), asking("a", "b", "c"), asking("a", "b", "c", "d", "e")]
    seen = trajectory_of([turn(request, saying("x")) for request in requests])
    assert [(t.number, t.base, t.kept, [m.text for m in t.added]) for t in seen.turns] == [
        (1, None, 0, ["a"]),
        (2, 1, 1, ["b", "c"]),
        (3, 2, 3, ["d", "e"]),
    ]
    assert [t.request_text for t in seen.turns] == sorted(t.request_text for t in seen.turns)


def test_an_edited_history_is_told_from_where_it_differs() -> None:
    seen = trajectory_of(
        [turn(asking("a", "b", "c"), saying("x")), turn(asking("a", "B", "c"), saying("y"))]
    )
    assert (seen.turns[1].base, seen.turns[1].kept) == (1, 1)
    assert [message.text for message in seen.turns[1].added] == ["B", "c"]


def test_interleaved_conversations_are_told_apart() -> None:
    main, title = system("You book."), system("You title.")
    seen = trajectory_of(
        [
            turn(of(main, user("fly")), saying("where?")),
            turn(of(title, user("fly")), saying("A flight")),
            turn(of(main, user("fly"), user("Oslo")), saying("Booked.")),
            turn(of(title, user("fly"), user("Oslo")), saying("Oslo")),
            turn(of(title, user("other")), saying("Other")),
        ]
    )
    assert [(t.base, t.kept) for t in seen.turns] == [(None, 0), (None, 0), (1, 2), (2, 2), (4, 1)]
    assert [t.continues for t in seen.turns] == [False, False, True, True, False]
    assert [t.system for t in seen.turns[:2]] == ["You book.", "You title."]
    assert seen.reply() == "Other"


def test_a_branch_continues_the_turn_it_shares_most_with() -> None:
    seen = trajectory_of(
        [
            turn(asking("a", "b", "c"), saying("1")),
            turn(asking("a", "x"), saying("2")),
            turn(asking("a", "b", "c", "d"), saying("3")),
        ]
    )
    assert (seen.turns[2].base, seen.turns[2].kept) == (1, 3)


def test_calls_results_and_mocks_are_linked() -> None:
    call = calling("look", arguments='{"at": 1.10}')
    result = {"role": "tool", "tool_call_id": "call_look", "content": "a tree"}
    asked = of(
        user("go"),
        call["choices"][0]["message"],
        result,
        tools=[{"type": "function", "function": {"name": "look"}}],
    )
    seen = trajectory_of([turn(of(user("go")), call), turn(asked, saying("A tree."))])
    [placed] = seen.calls()
    assert (placed.turn, placed.call.name, placed.call.text) == (1, "look", '{"at": 1.10}')
    told = seen.turns[1].added[1]
    assert (told.role, told.tool, told.text) == ("tool", "look", "a tree")
    assert seen.offered_tools() == {"look"}
    assert seen.reply() == "A tree."


def test_an_error_is_no_answer() -> None:
    seen = trajectory_of([turn(asking("a"), saying("no"), status=429)])
    assert (seen.turns[0].status, seen.turns[0].answers) == (429, ())
    assert seen.reply() is None


def offering(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": "wipe", "parameters": schema}}


def test_arguments_are_told_once_per_tool() -> None:
    one, two = offering(path={}, force={}), offering(path={}, depth={})
    seen = trajectory_of(
        [turn(asking("a", tools=[one]), saying("x")), turn(asking("b", tools=[two]), saying("x"))]
    )
    assert seen.parameters == (ToolParameters("wipe", ("path", "force", "depth")),)


def test_a_tool_that_was_once_offered_open_takes_anything() -> None:
    free = {"type": "function", "function": {"name": "wipe"}}
    turns = [turn(asking("a", tools=[tool]), saying("x")) for tool in (offering(path={}), free)]
    assert trajectory_of(turns).parameters == ()
    assert trajectory_of(turns[::-1]).parameters == ()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(None, id="no JSON"),
        pytest.param({"choices": []}, id="no choice"),
        pytest.param({"error": {"message": "late"}}, id="an error after content"),
    ],
)
def test_an_answer_that_cannot_be_read_is_told_from_an_error(body: Any) -> None:
    seen = trajectory_of(
        [
            turn(asking("a"), body),
            turn(asking("a"), saying("no"), status=500),
            turn(asking("a"), saying("yes")),
        ]
    )
    assert [one.unreadable for one in seen.turns] == [True, False, False]
    assert seen.unreadable_turns() == (1,)


RESPONSES = Operation("openai.responses", "/responses")


def responding(id: str, *output: Any) -> Response:
    body: JsonObject = {"id": id, "object": "response", "status": "completed"}
    return Response(200, body | {"output": [*output]})


def stateful(first: str) -> Trajectory:
    """Two requests, of which the second tells only what is new since the answer `first`."""
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "look",
        "arguments": "{}",
    }
    text = {"type": "output_text", "text": "Warm.", "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    tool: JsonObject = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    asked: JsonObject = {"model": "m", "instructions": "Be brief.", "input": "How warm?"}
    told: JsonObject = {"type": "function_call_output", "call_id": "call_1", "output": "20"}
    later: JsonObject = {"model": "m", "previous_response_id": "resp_1", "input": [told]}
    return trajectory_of(
        [
            Turn(RESPONSES, asked | {"tools": [tool]}, responding(first, call)),
            Turn(RESPONSES, later, responding("resp_2", said)),
        ]
    )


def test_a_conversation_that_the_server_keeps_is_one_conversation() -> None:
    seen = stateful("resp_1")
    second = seen.turns[1]
    assert (second.base, second.kept, second.continues) == (1, 2, True)
    assert (second.system, second.tools) == ("Be brief.", ("look",))
    assert [(one.role, one.tool, one.text) for one in second.added] == [("tool", "look", "20")]
    assert seen.reply() == "Warm."


def test_an_answer_that_nobody_gave_is_continued_by_nobody() -> None:
    second = stateful("resp_9").turns[1]
    assert (second.base, second.system, second.continues) == (None, "", False)
