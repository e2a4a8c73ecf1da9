"""The official SDK and legacy completions: what it reads, and what it meets at both proxies."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import openai
import pytest
from openai import OpenAI

from flowproof.flow.trajectory import trajectory_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.turn import Turn
from tests.boundary.tools import recording, replaying, send
from tests.dialects.openai_completions_tools import COMPLETIONS, assemble
from tests.dialects.sdk import openai_client, served, served_stream
from tests.dialects.tools import WITH_USAGE, WITHOUT_USAGE
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Responder, Script

Agent: TypeAlias = Callable[[str], str]

USAGE: JsonObject = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
LOGPROBS: JsonObject = {
    "tokens": ["Hi", "!"],
    "token_logprobs": [-0.5, -1.5],
    "top_logprobs": [{"Hi": -0.5}, {"!": -1.5}],
    "text_offset": [0, 2],
}


def body(*texts: str, logprobs: JsonValue = None) -> JsonObject:
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1764500000,
        "model": "instruct",
        "choices": [
            {"text": text, "index": index, "logprobs": logprobs, "finish_reason": "stop"}
            for index, text in enumerate(texts)
        ],
        "usage": USAGE,
    }


TEXT = body("Grüße 👋")
BODIES = [
    pytest.param(TEXT, id="text"),
    pytest.param(body("a", "b"), id="two choices"),
    pytest.param(body("Hi!", logprobs=LOGPROBS), id="log probabilities"),
]


@pytest.mark.parametrize("usage", [True, False], ids=["usage", "no usage"])
@pytest.mark.parametrize("answer", BODIES)
def test_the_chunks_amount_to_the_plain_answer(answer: JsonObject, usage: bool) -> None:
    with openai_client(served(COMPLETIONS, answer)) as sdk:
        plain = sdk.completions.create(model="instruct", prompt="Hi")
    assert plain.to_dict() == answer
    frames = COMPLETIONS.stream(answer, WITH_USAGE if usage else WITHOUT_USAGE)
    with openai_client(served_stream(COMPLETIONS, frames)) as sdk:
        chunks = list(sdk.completions.create(model="instruct", prompt="Hi", stream=True))
    for choice in plain.choices:
        pieces = [c for chunk in chunks for c in chunk.choices if c.index == choice.index]
        assert "".join(piece.text for piece in pieces) == choice.text
        assert pieces[-1].finish_reason == choice.finish_reason
    told = [chunk.usage.to_dict() for chunk in chunks if chunk.usage is not None]
    assert told == ([USAGE] if usage else [])
    again = [f"data: {chunk.to_json(indent=None)}\n\n".encode() for chunk in chunks]
    expected = answer if usage else {k: v for k, v in answer.items() if k != "usage"}
    assert assemble([*again, b"data: [DONE]\n\n"]).body == expected


def serves(answer: Any) -> Responder:
    def respond(request: Received) -> Script:
        asked = request.json()
        if not asked.get("stream"):
            return up.answer(answer)
        assert asked["stream_options"]["include_usage"] is True
        return up.stream(COMPLETIONS.stream(answer, WITH_USAGE))

    return respond


def plain(url: str, **others: Any) -> str:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as api:
        asked: dict[str, Any] = {"model": "instruct", "prompt": "Hi", **others}
        answer = api.completions.create(**asked)
        assert answer.usage is not None
        return str(answer.choices[0].text)


def streamed(url: str) -> str:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as api:
        chunks = list(api.completions.create(model="instruct", prompt="Hi", stream=True))
    assert all(chunk.choices for chunk in chunks)
    return "".join(choice.text for chunk in chunks for choice in chunk.choices)


def counted(url: str) -> str:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as api:
        stream = api.completions.create(
            model="instruct", prompt="Hi", stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
    assert chunks[-1].usage is not None
    return "".join(choice.text for chunk in chunks for choice in chunk.choices)


def record(agent: Agent) -> Sequence[Turn]:
    with FakeUpstream(serves(TEXT)) as upstream, recording(upstream.url) as boundary:
        assert agent(boundary.url) == "Grüße 👋"
        recorded = boundary.finish()
        assert {one.target for one in upstream.received} == {"/v1/completions"}
    assert recorded.problems == ()
    return recorded.turns


AGENTS: tuple[Agent, ...] = (plain, streamed, counted)


@pytest.mark.parametrize("agent", AGENTS, ids=["plain", "streamed", "streamed with usage"])
def test_a_recording_replays_in_every_mode(agent: Agent) -> None:
    turns = record(agent)
    assert turns[0].response.body == TEXT
    assert turns[0].response.events is None
    assert trajectory_of(turns).reply() == "Grüße 👋"
    for replays in AGENTS:
        with replaying(turns) as replay:
            assert replays(replay.url) == "Grüße 👋"
            assert replay.cassette.divergence is None


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param({"prompt": "Ho"}, r"its user text, at \$\.prompt", id="prompt"),
        pytest.param({"model": "other"}, r"its model, at \$\.model", id="model"),
        pytest.param({"echo": True}, r"its echo, at \$\.echo", id="parameter"),
    ],
)
def test_a_change_is_refused_and_named(change: dict[str, Any], kind: str) -> None:
    with replaying(record(plain)) as replay:
        with pytest.raises(openai.BadRequestError, match=kind):
            plain(replay.url, **change)
        assert replay.cassette.requests == 1


def test_a_chat_in_place_of_a_completion_diverges_on_the_dialect() -> None:
    with (
        replaying(record(plain)) as replay,
        OpenAI(base_url=replay.url, api_key="none") as api,
        pytest.raises(openai.BadRequestError, match=r"speaks openai\.chat .*openai\.completions"),
    ):
        api.chat.completions.create(model="instruct", messages=[{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize("ending", [up.LAST_CHUNK, up.Close()], ids=["in order", "closed"])
def test_a_stream_that_was_cut_is_no_turn(ending: up.Action) -> None:
    frames = list(COMPLETIONS.stream(TEXT, WITH_USAGE))[:1]
    request = {"model": "instruct", "prompt": "Hi", "stream": True}
    with (
        FakeUpstream(up.scripted(up.cut_stream(frames, ending))) as upstream,
        recording(upstream.url) as boundary,
    ):
        with contextlib.suppress(OSError, http.client.HTTPException):
            send(boundary.port, request, path="/v1/completions")
        recorded = boundary.finish()
    assert recorded.turns == ()
    assert len(recorded.problems) == 1
