"""The official client of Ollama against both proxies, over real sockets."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import ollama
import pytest

from flowproof.boundary.mocks import MockedTool
from flowproof.flow.trajectory import trajectory_of
from flowproof.model.turn import Turn
from tests.boundary.tools import pinned, recording, replaying, send
from tests.dialects.ollama_tools import CHAT, END, GENERATE, STREAMING, call, head, message_line
from tests.dialects.ollama_tools import raw_line as line
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Responder, Script

Agent: TypeAlias = Callable[[str], str]

TEXT: Any = {**head(9), "message": {"role": "assistant", "content": "Grüße 👋"}, **END}
GENERATED: Any = {**head(9), "response": "Grüße 👋", **END, "context": [1, 2]}
USER: Any = [{"role": "user", "content": "Hi"}]


def lines_head(content_type: str = "application/x-ndjson") -> up.Send:
    return up.head(200, [("content-type", content_type), ("transfer-encoding", "chunked")])


def serves(body: Any, content_type: str = "application/x-ndjson") -> Responder:
    """A server that answers every request with a body, streamed unless told not to."""

    def respond(request: Received) -> Script:
        if request.json().get("stream") is False:
            return up.answer(body)
        dialect = CHAT if request.target.endswith("/api/chat") else GENERATE
        lines = dialect.stream(pinned(body), STREAMING)
        return [lines_head(content_type), *map(up.chunk, lines), up.LAST_CHUNK]

    return respond


def root(url: str) -> str:
    """The upstream's base URL: Ollama's has no version."""
    return url.removesuffix("/v1")


def plain_chat(url: str) -> str:
    with ollama.Client(url) as api:
        return api.chat(model="qwen3", messages=USER).message.content or ""


def streamed_chat(url: str) -> str:
    with ollama.Client(url) as api:
        parts = api.chat(model="qwen3", messages=USER, stream=True)
        return "".join(part.message.content or "" for part in parts)


def plain_text(url: str) -> str:
    with ollama.Client(url) as api:
        return api.generate(model="qwen3", prompt="Hi", system="Be kind.").response or ""


def streamed_text(url: str) -> str:
    with ollama.Client(url) as api:
        parts = api.generate(model="qwen3", prompt="Hi", system="Be kind.", stream=True)
        return "".join(part.response or "" for part in parts)


def record(agent: Agent, respond: Responder, answer: str = "Grüße 👋") -> Sequence[Turn]:
    with (
        FakeUpstream(respond) as upstream,
        recording(root(upstream.url), provider="ollama") as boundary,
    ):
        # An address that ends in /v1 is given to agents of every provider alike.
        assert agent(boundary.url) == answer
        recorded = boundary.finish()
        assert recorded.problems == ()
        assert {one.target for one in upstream.received} <= {"/api/chat", "/api/generate"}
        return recorded.turns


@pytest.mark.parametrize("records", [0, 1], ids=["recorded plain", "recorded streaming"])
@pytest.mark.parametrize(
    ("body", "agents"),
    [
        pytest.param(TEXT, (plain_chat, streamed_chat), id="chat"),
        pytest.param(GENERATED, (plain_text, streamed_text), id="generate"),
    ],
)
def test_a_recording_replays_in_either_mode(
    body: Any, agents: tuple[Agent, Agent], records: int
) -> None:
    turns = record(agents[records], serves(body))
    assert turns[0].response.body == body
    assert turns[0].response.events is None
    for agent in agents:
        with replaying(turns) as replay:
            assert agent(replay.url) == "Grüße 👋"
            assert replay.cassette.divergence is None


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/x-ndjson; charset=utf-8"]
)
def test_a_gateway_may_call_the_lines_json(content_type: str) -> None:
    turns = record(streamed_chat, serves(TEXT, content_type))
    assert turns[0].response.body == TEXT
    with replaying(turns) as replay:
        assert streamed_chat(replay.url) == "Grüße 👋"


def test_a_plain_answer_to_a_streaming_request_is_a_turn() -> None:
    loaded: Any = {**head(), "message": {"role": "assistant", "content": ""}, "done": True}
    turns = record(streamed_chat, lambda _request: up.answer(loaded), answer="")
    assert turns[0].response.body == loaded
    with replaying(turns) as replay:
        assert streamed_chat(replay.url) == ""


def test_who_does_not_say_whether_to_stream_gets_a_stream() -> None:
    turns = record(streamed_chat, serves(TEXT))
    with replaying(turns) as replay:
        answered = send(replay.port, turns[0].request, path="/api/chat")
    assert answered.headers["content-type"] == "application/x-ndjson"
    assert len(answered.body.splitlines()) == 2


def test_lines_that_a_body_cannot_hold_are_served_again() -> None:
    lines = [message_line(1, content="Hi"), message_line(2, note="x"), line(TEXT)]
    script = [lines_head(), *map(up.chunk, lines), up.LAST_CHUNK]
    turns = record(streamed_chat, up.scripted(script), answer="HiGrüße 👋")
    with replaying(turns) as replay:
        answered = send(replay.port, turns[0].request, path="/api/chat")
    assert answered.body == b"".join(lines)


def tools(url: str, asked: str = "Weather?") -> str:
    """An agent of two turns, as the client's own examples write them."""
    messages: list[Any] = [{"role": "user", "content": asked}]
    with ollama.Client(url) as api:
        first = api.chat(model="qwen3", messages=messages, stream=False).message
        messages.append(first)
        for made in first.tool_calls or ():
            city = made.function.arguments["city"]
            result = f"real weather of {city}"
            messages.append({"role": "tool", "content": result, "tool_name": made.function.name})
        parts = api.chat(model="qwen3", messages=messages, stream=True)
        return "".join(part.message.content or "" for part in parts)


CALLING: Any = {
    **head(),
    "message": {
        "role": "assistant",
        "content": "",
        "tool_calls": [call("weather", {"city": city}) for city in ("Oslo", "Rome")],
    },
    **END,
}


def weather(request: Received) -> Script:
    told = [m["content"] for m in request.json()["messages"] if m["role"] == "tool"]
    body = {**TEXT, "message": {"role": "assistant", "content": " ".join(told)}}
    return serves(body if told else CALLING)(request)


def test_tools_are_recorded_replayed_and_told() -> None:
    turns = record(tools, weather, answer="real weather of Oslo real weather of Rome")
    with replaying(turns) as replay:
        assert tools(replay.url) == "real weather of Oslo real weather of Rome"
        assert replay.cassette.divergence is None
    trajectory = trajectory_of(turns)
    calls = [(placed.turn, placed.call.name, placed.call.text) for placed in trajectory.calls()]
    assert calls == [(1, "weather", '{"city":"Oslo"}'), (1, "weather", '{"city":"Rome"}')]
    assert [message.tool for message in trajectory.turns[1].added] == [None, "weather", "weather"]
    assert trajectory.turns[1].base == 1
    assert trajectory.reply() == "real weather of Oslo real weather of Rome"
    assert trajectory.unreadable_turns() == ()


def test_mocked_results_reach_the_model_and_replay() -> None:
    mocks = {"weather": MockedTool(("sun", "rain"), False)}
    with (
        FakeUpstream(weather) as upstream,
        recording(root(upstream.url), provider="ollama", mocks=mocks) as boundary,
    ):
        assert tools(boundary.url) == "sun rain"
        turns = boundary.finish().turns
    assert turns[1].mocked == ("weather", "weather")
    with replaying(turns, mocks=mocks) as replay:
        assert tools(replay.url) == "sun rain"


@pytest.mark.parametrize(
    ("request_of", "kind"),
    [
        pytest.param(lambda api: api.chat("qwen3", USER), None, id="no change"),
        pytest.param(
            lambda api: api.chat("llama", USER), r"its model, at \$\.model", id="another model"
        ),
        pytest.param(
            lambda api: api.chat("qwen3", [{"role": "user", "content": "Ho"}]),
            r"its user text, at \$\.messages\[0\]\.content",
            id="another text",
        ),
        pytest.param(
            lambda api: api.chat("qwen3", USER, options={"seed": 1}),
            r"its options, at \$\.options",
            id="another option",
        ),
        pytest.param(
            lambda api: api.chat("qwen3", [{**USER[0], "images": [b"PNG"]}]),
            r"its image, at \$\.messages\[0\]\.images",
            id="an image",
        ),
    ],
)
def test_a_change_of_a_chat_is_refused_and_named(
    request_of: Callable[[ollama.Client], object], kind: str | None
) -> None:
    turns = record(streamed_chat, serves(TEXT))
    with replaying(turns) as replay, ollama.Client(replay.url) as api:
        if kind is None:
            request_of(api)
            assert replay.cassette.divergence is None
            return
        with pytest.raises(ollama.ResponseError, match=kind) as raised:
            request_of(api)
        assert raised.value.status_code == 400
        assert replay.cassette.requests == 1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param({"system": "Be brief."}, r"its system text, at \$\.system", id="system"),
        pytest.param({"system": None}, r"its system text, at \$\.system", id="no system"),
        pytest.param({"prompt": "Ho"}, r"its user text, at \$\.prompt", id="prompt"),
        pytest.param({"context": [1]}, r"its context, at \$\.context", id="context"),
    ],
)
def test_a_change_of_a_prompt_is_refused_and_named(change: dict[str, Any], kind: str) -> None:
    turns = record(plain_text, serves(GENERATED))
    told: dict[str, Any] = {"prompt": "Hi", "system": "Be kind."}
    with (
        replaying(turns) as replay,
        ollama.Client(replay.url) as api,
        pytest.raises(ollama.ResponseError, match=kind),
    ):
        api.generate("qwen3", **(told | change))


@pytest.mark.parametrize(
    ("ending", "kept"),
    [
        pytest.param(up.LAST_CHUNK, 1, id="in order"),
        pytest.param(up.Close(), 1, id="closed"),
        pytest.param(up.Reset(), 1, id="reset"),
        pytest.param(up.LAST_CHUNK, 0, id="before the first line"),
    ],
)
def test_a_stream_that_was_cut_is_no_turn(ending: up.Action, kept: int) -> None:
    lines = list(CHAT.stream(TEXT, STREAMING))[:kept]
    cut = [lines_head(), *map(up.chunk, lines), ending]
    with (
        FakeUpstream(up.scripted(cut)) as upstream,
        recording(root(upstream.url), provider="ollama") as boundary,
    ):
        body = {"model": "qwen3", "messages": USER}
        with contextlib.suppress(OSError, http.client.HTTPException):
            send(boundary.port, body, path="/api/chat")
        recorded = boundary.finish()
    assert recorded.turns == ()
    assert len(recorded.problems) == 1


def test_an_error_of_the_server_is_a_turn_with_its_status() -> None:
    missing = up.answer({"error": "model 'qwen3' not found"}, 404)

    def agent(url: str) -> str:
        with pytest.raises(ollama.ResponseError, match="not found") as raised:
            streamed_chat(url)
        return str(raised.value.status_code)

    turns = record(agent, up.scripted(missing), answer="404")
    with replaying(turns) as replay:
        assert agent(replay.url) == "404"


def test_an_error_in_a_stream_is_met_again() -> None:
    failing = [message_line(content="Hi"), line({"error": "it ran out of memory"})]

    def agent(url: str) -> str:
        with pytest.raises(ollama.ResponseError, match="it ran out of memory"):
            streamed_chat(url)
        return "failed"

    script = [lines_head(), *map(up.chunk, failing), up.LAST_CHUNK]
    turns = record(agent, up.scripted(script), answer="failed")
    assert trajectory_of(turns).unreadable_turns() == (1,)
    with replaying(turns) as replay:
        assert agent(replay.url) == "failed"
