"""The Responses API through both proxies, over real sockets, replayed in every mode."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai import OpenAI

from flowproof.boundary.mocks import MockedTool
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.jsonvalue import JsonObject
from flowproof.model.turn import Operation, Response, Turn
from tests.boundary.tools import recording, replaying, send
from tests.dialects.openai_responses_tools import (
    RESPONSES,
    STREAMING,
    call,
    event,
    reasoning,
    response,
    said,
    text_part,
)
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Responder, Script

OURS = Operation("openai.responses", "/responses")
BODY = response(reasoning("Hm."), said(text_part("Grüße 👋")))
CALLING = response(call("search", '{"to": "NBO"}'), id="resp_call")


def served(*bodies: JsonObject) -> Responder:
    """Answers one response after another, streamed where a request asks for it."""
    left = list(bodies)
    lock = threading.Lock()

    def respond(request: Received) -> Script:
        with lock:
            body = left.pop(0)
        assert request.target.startswith("/v1/responses")
        if request.json().get("stream"):
            return up.stream(RESPONSES.stream(body, STREAMING))
        return up.answer(body)

    return respond


def client(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key="placeholder", max_retries=0)


def plain(url: str) -> str:
    with client(url) as api:
        answer = api.responses.create(model="gpt-5", instructions="Be brief.", input="Hi")
    return answer.output_text


def streamed(url: str) -> str:
    with client(url) as api:
        events = api.responses.create(
            model="gpt-5", instructions="Be brief.", input="Hi", stream=True
        )
        return "".join(one.delta for one in events if one.type == "response.output_text.delta")


def helped(url: str) -> str:
    with (
        client(url) as api,
        api.responses.stream(model="gpt-5", instructions="Be brief.", input="Hi") as stream,
    ):
        return stream.get_final_response().output_text


MODES = [plain, streamed, helped]


@pytest.mark.parametrize("records", MODES)
def test_a_recording_replays_in_every_mode(records: Callable[[str], str]) -> None:
    with FakeUpstream(served(BODY)) as upstream, recording(upstream.url) as boundary:
        assert records(boundary.url) == "Grüße 👋"
        recorded = boundary.finish()
    (turn,) = recorded.turns
    assert recorded.problems == ()
    assert turn.operation == OURS
    assert turn.response.events is None
    for replays in MODES:
        with replaying(recorded.turns) as replay:
            assert replays(replay.url) == "Grüße 👋"
            assert replay.cassette.divergence is None


def test_frames_that_a_body_cannot_hold_are_served_as_they_came() -> None:
    frames = [*RESPONSES.stream(BODY, STREAMING)]
    frames.insert(3, event("response.x.news", told=7))
    respond = up.scripted(up.stream(frames))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        sent = send(boundary.port, {"input": "Hi", "stream": True}, path="/v1/responses")
        (turn,) = boundary.finish().turns
    with replaying([turn]) as replay:
        again = send(replay.port, {"input": "Hi", "stream": True}, path="/v1/responses")
    assert again.body == sent.body == b"".join(frames)
    with replaying([turn]) as replay:
        assert send(replay.port, {"input": "Hi"}, path="/v1/responses").json() == BODY


TOOL: JsonObject = {"type": "function", "name": "search", "description": "d", "parameters": {}}
REQUEST: JsonObject = {
    "model": "gpt-5",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        call("search", '{"to": "NBO"}'),
        {"type": "function_call_output", "call_id": "call_1", "output": "12"},
    ],
    "tools": [TOOL],
    "reasoning": {"effort": "low"},
}
RECORDED = Turn(OURS, REQUEST, Response(200, BODY))


def with_item(index: int, **members: Any) -> dict[str, Any]:
    listed: Any = REQUEST["input"]
    changed = [one | members if at == index else one for at, one in enumerate(listed)]
    return {"input": changed}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"model": "gpt-4"}, "its model, at $.model", id="model"),
        pytest.param(
            {"instructions": "Be rude."}, "its system text, at $.instructions", id="instructions"
        ),
        pytest.param(
            {"instructions": None}, "its system text, at $.instructions", id="no instructions"
        ),
        pytest.param(
            with_item(0, content=[{"type": "input_text", "text": "Ho"}]),
            "its user text, at $.input[0].content[0].text",
            id="user text",
        ),
        pytest.param(
            with_item(1, arguments='{"to": "JRO"}'),
            "its tool call arguments, at $.input[1].arguments.to",
            id="arguments",
        ),
        pytest.param(
            with_item(2, output="13"), "its tool result, at $.input[2].output", id="tool result"
        ),
        pytest.param(with_item(0, role="developer"), "its message roles, at $.input[0]", id="role"),
        pytest.param(
            {"tools": [TOOL | {"description": "e"}]},
            "its tool description, at $.tools[0].description",
            id="tool",
        ),
        pytest.param(
            {"reasoning": {"effort": "high"}}, "its reasoning, at $.reasoning.effort", id="effort"
        ),
        pytest.param({"store": False}, "its store, at $.store", id="new parameter"),
        pytest.param(
            {"previous_response_id": "resp_9"},
            "its previous_response_id, at $.previous_response_id",
            id="previous response",
        ),
    ],
)
def test_a_changed_request_is_refused_and_told_what_moved(
    change: dict[str, Any], told: str
) -> None:
    with replaying([RECORDED]) as replay:
        with client(replay.url) as api, pytest.raises(openai.BadRequestError) as caught:
            api.post("/responses", body=REQUEST | change, cast_to=object)
        assert replay.cassette.divergence is not None
    assert told in str(caught.value)
    assert caught.value.code == "flowproof_divergence"


def test_an_equal_request_is_served() -> None:
    with replaying([RECORDED]) as replay:
        assert send(replay.port, REQUEST, path="/v1/responses").json() == BODY
        assert replay.cassette.divergence is None


def test_another_dialect_is_named_first() -> None:
    with replaying([RECORDED]) as replay:
        refused = send(replay.port, {"model": "m", "messages": []})
    assert "speaks openai.chat" in refused.json()["error"]["message"]
    assert "recorded in openai.responses" in refused.json()["error"]["message"]


@pytest.mark.parametrize("kept", [1, 5, 12], ids=["begun", "in the middle", "before the end"])
def test_a_stream_cut_early_is_no_turn(kept: int) -> None:
    frames = [*RESPONSES.stream(BODY, STREAMING)][:kept]
    respond = up.scripted(up.stream(frames))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        send(boundary.port, {"input": "Hi", "stream": True}, path="/v1/responses")
        recorded = boundary.finish()
    assert recorded.turns == ()
    (problem,) = recorded.problems
    assert "before the answer was complete" in problem


def test_a_stream_that_reports_an_error_is_retried() -> None:
    broken = [
        *[*RESPONSES.stream(BODY, STREAMING)][:3],
        event("error", code="server_error", message="it broke", param=None, sequence_number=3),
    ]
    respond = up.scripted(up.stream(broken), up.stream(RESPONSES.stream(BODY, STREAMING)))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        for _ in range(2):
            send(boundary.port, {"input": "Hi", "stream": True}, path="/v1/responses")
        recorded = boundary.finish()
    assert (len(recorded.turns), recorded.retries_dropped, recorded.problems) == (1, 1, ())


def continued(url: str) -> str:
    """An agent that lets the server remember the conversation."""
    with client(url) as api:
        first = api.responses.create(model="gpt-5", instructions="Be brief.", input="Hi")
        (made,) = first.output
        assert made.type == "function_call"
        second = api.responses.create(
            model="gpt-5",
            previous_response_id=first.id,
            input=[{"type": "function_call_output", "call_id": made.call_id, "output": "real"}],
        )
        return second.output_text


def test_a_result_is_mocked_though_its_call_stands_in_an_earlier_answer() -> None:
    mocks = {"search": MockedTool(("mocked",), repeat_last=False)}
    with FakeUpstream(served(CALLING, BODY)) as upstream:
        with recording(upstream.url, mocks=mocks) as boundary:
            assert continued(boundary.url) == "Grüße 👋"
            turns = boundary.finish().turns
        told = upstream.received[1].json()
    assert told["input"][0]["output"] == "mocked"
    assert [turn.mocked for turn in turns] == [(), ("search",)]
    with replaying(turns, mocks=mocks) as replay:
        assert continued(replay.url) == "Grüße 👋"
        assert replay.cassette.divergence is None
    with replaying(turns) as replay, pytest.raises(openai.BadRequestError, match="tool result"):
        continued(replay.url)


def test_turns_that_the_server_joins_are_one_conversation() -> None:
    with FakeUpstream(served(CALLING, BODY)) as upstream, recording(upstream.url) as boundary:
        continued(boundary.url)
        turns = boundary.finish().turns
    trajectory = trajectory_of(turns)
    first, second = trajectory.turns
    assert (second.base, second.continues) == (1, True)
    assert second.system == first.system == "Be brief."
    assert [(one.role, one.tool) for one in second.added] == [("tool", "search")]
    assert trajectory.reply() == "Grüße 👋"
    assert [placed.call.name for placed in trajectory.calls()] == ["search"]


def test_a_websocket_is_refused_so_that_clients_fall_back() -> None:
    with replaying([RECORDED]) as replay:
        headers = {"connection": "upgrade", "upgrade": "websocket"}
        answered = send(replay.port, b"", path="/v1/responses", method="GET", headers=headers)
        assert answered.status == 426
        assert replay.cassette.divergence is None
