"""The official Anthropic client against both proxies: what its user meets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, beta_tool

from flowproof.boundary.mocks import MockedTool
from flowproof.dialects.interface import Asked
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.jsonvalue import JsonObject, parse
from flowproof.model.turn import Turn
from tests.boundary.tools import recording, replaying
from tests.dialects.anthropic_messages_tools import (
    MESSAGES,
    assemble,
    begin,
    body,
    close,
    delta,
    end,
    start,
    text,
    tool_use,
)
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Responder, Script

HELLO: Any = [{"role": "user", "content": "Hi"}]
BODY = body(text("Hello there"))
CALL = body(text("I look."), tool_use("get_weather", {"city": "Oslo"}), stop="tool_use")
STREAMED = Asked({}, stream=True, stream_usage=True)


def client(port: int) -> Anthropic:
    return Anthropic(base_url=f"http://127.0.0.1:{port}", api_key="placeholder")


def base(upstream: FakeUpstream) -> str:
    """The base URL of this provider, which has no version."""
    return upstream.url.removesuffix("/v1")


def model(*bodies: JsonObject) -> Responder:
    """Answers one body after another, streamed where a request asks for it."""
    left = list(bodies)

    def respond(request: Received) -> Script:
        answer = left.pop(0)
        if request.json().get("stream"):
            return up.stream(MESSAGES.stream(answer, STREAMED))
        return up.answer(answer)

    return respond


def ask(port: int) -> str:
    with client(port) as api:
        answer = api.messages.create(model="m", max_tokens=9, messages=HELLO, system="Be brief.")
    return "".join(block.text for block in answer.content if block.type == "text")


def ask_streaming(port: int) -> str:
    with (
        client(port) as api,
        api.messages.stream(model="m", max_tokens=9, messages=HELLO, system="Be brief.") as stream,
    ):
        return stream.get_final_text()


def ask_beta(port: int) -> str:
    with client(port) as api:
        events = api.beta.messages.create(
            model="m", max_tokens=9, messages=HELLO, system="Be brief.", stream=True
        )
        deltas = [event.delta for event in events if event.type == "content_block_delta"]
    return "".join(piece.text for piece in deltas if piece.type == "text_delta")


def record(ask: Callable[[int], str], *bodies: JsonObject) -> Sequence[Turn]:
    with FakeUpstream(model(*bodies)) as upstream:
        with recording(base(upstream), provider="anthropic") as boundary:
            ask(boundary.port)
            recorded = boundary.finish()
        assert {one.target.partition("?")[0] for one in upstream.received} == {"/v1/messages"}
    assert recorded.problems == ()
    return recorded.turns


MODES = [
    pytest.param(ask, id="plain"),
    pytest.param(ask_streaming, id="streaming"),
    pytest.param(ask_beta, id="beta"),
]


@pytest.mark.parametrize("records", MODES)
def test_a_recording_replays_in_every_mode(records: Callable[[int], str]) -> None:
    turns = record(records, BODY)
    assert turns[0].response.events is None
    for replays in (ask, ask_streaming, ask_beta):
        with replaying(turns) as replay:
            assert replays(replay.port) == "Hello there"
            assert replay.cassette.divergence is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"system": "Be bold."}, "system text, at $.system"),
        ({"messages": [{"role": "user", "content": "Ho"}]}, "user text, at $.messages[0].content"),
        ({"model": "n"}, "model, at $.model"),
        ({"max_tokens": 8}, "max_tokens, at $.max_tokens"),
        ({"temperature": 0.5}, "temperature, at $.temperature"),
    ],
    ids=["system", "message", "model", "limit", "parameter more"],
)
def test_a_guilty_change_is_refused_and_named(changed: dict[str, Any], told: str) -> None:
    with replaying(record(ask, BODY)) as replay:
        with client(replay.port) as api, pytest.raises(anthropic.BadRequestError) as caught:
            api.messages.create(
                model="m", max_tokens=9, messages=HELLO, system="Be brief.", extra_body=changed
            )
        assert replay.cassette.requests == 1
    assert f"differs from turn 1 in its {told}" in str(caught.value)
    assert caught.value.error_code == "flowproof_divergence"


@pytest.mark.parametrize("length", range(1, 7))
def test_a_stream_that_ends_early_is_no_turn(length: int) -> None:
    frames = list(MESSAGES.stream(BODY, STREAMED))
    with (
        FakeUpstream(up.scripted(up.stream(frames[:length]))) as upstream,
        recording(base(upstream), provider="anthropic") as boundary,
    ):
        with client(boundary.port) as api:
            list(api.messages.create(model="m", max_tokens=9, messages=HELLO, stream=True))
        recorded = boundary.finish()
    whole = length == len(frames)
    assert (len(recorded.turns), len(recorded.problems)) == ((1, 0) if whole else (0, 1))


def test_raw_frames_are_kept_where_a_body_would_lose_something() -> None:
    frames = [
        start(),
        begin(0, tool_use("get_weather", {})),
        delta(0, "input_json", partial_json='{"city": "Os'),
        end(0),
        *close("max_tokens"),
    ]
    with (
        FakeUpstream(up.scripted(up.stream(frames))) as upstream,
        recording(base(upstream), provider="anthropic") as boundary,
    ):
        with client(boundary.port) as api:
            list(api.messages.create(model="m", max_tokens=9, messages=HELLO, stream=True))
        turns = boundary.finish().turns
    assert turns[0].response.events == tuple(frame.decode() for frame in frames)
    (call,) = trajectory_of(turns).calls()
    assert (call.call.name, call.call.malformed) == ("get_weather", True)
    with replaying(turns) as replay, client(replay.port) as api:
        events = list(api.messages.create(model="m", max_tokens=9, messages=HELLO, stream=True))
    served = [f"event: {one.type}\ndata: {one.to_json(indent=None)}\n\n" for one in events]
    assert assemble(frame.encode() for frame in served).body == turns[0].response.body


ASKED: Any = [{"role": "user", "content": "Weather in Oslo?"}]


@beta_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def run_tools(port: int) -> str:
    with client(port) as api:
        runner = api.beta.messages.tool_runner(
            model="m", max_tokens=9, messages=ASKED, tools=[get_weather]
        )
        last = runner.until_done()
    return "".join(block.text for block in last.content if block.type == "text")


def test_the_tool_runner_goes_on_in_a_thread_by_the_recorded_id() -> None:
    turns = record(run_tools, CALL, body(text("It rains."), id="msg_02"))
    first, second = (turn.request for turn in turns)
    assert isinstance(first, dict) and isinstance(second, dict)
    assert first["thread"] == {"type": "create"}
    assert second["thread"] == {"type": "continue", "previous_message_id": "msg_01"}
    view = trajectory_of(turns)
    assert [(placed.turn, placed.call.name) for placed in view.calls()] == [(1, "get_weather")]
    assert view.reply() == "It rains."
    (added,) = view.turns[1].added
    assert (added.role, added.tool, added.text) == ("tool", "get_weather", "rain in Oslo")
    with replaying(turns) as replay:
        assert run_tools(replay.port) == "It rains."
        assert replay.cassette.divergence is None
        assert replay.cassette.unconsumed == ()


def test_a_mocked_tool_is_known_in_a_thread_at_record_and_at_replay() -> None:
    mocks = {"get_weather": MockedTool(("snow",), repeat_last=False)}
    with (
        FakeUpstream(model(CALL, body(text("It snows."), id="msg_02"))) as upstream,
        recording(base(upstream), provider="anthropic", mocks=mocks) as boundary,
    ):
        assert run_tools(boundary.port) == "It snows."
        turns = boundary.finish().turns
        sent = json.loads(upstream.received[1].body)
    expected = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "snow"}
    assert sent["messages"] == [{"role": "user", "content": [expected]}]
    assert turns[1].mocked == ("get_weather",)
    with replaying(turns, mocks=mocks) as replay:
        assert run_tools(replay.port) == "It snows."
    with replaying(turns) as replay, pytest.raises(anthropic.BadRequestError, match="tool result"):
        run_tools(replay.port)


def test_what_is_pinned_is_what_was_sent() -> None:
    turns = record(ask_streaming, BODY)
    expected = {"model": "m", "max_tokens": 9, "messages": HELLO, "system": "Be brief."}
    assert turns[0].request == parse(json.dumps(expected))
    assert turns[0].streamed
