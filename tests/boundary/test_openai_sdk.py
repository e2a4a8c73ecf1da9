"""The official client against both proxies: what its user meets."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.boundary.tools import chat_request, recording, replaying, turn
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

HELLO: Any = [{"role": "user", "content": "Hi"}]
BODY = up.completion("Hello there")
CALLS = up.completion(None, tool_calls=[up.call("search", {"to": "NBO"})])


def client(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key="placeholder")


def test_a_recording_replays_in_every_mode() -> None:
    def plain(url: str) -> str | None:
        with client(url) as api:
            answer = api.chat.completions.create(model="m", messages=HELLO)
        assert answer.usage is not None
        assert answer.usage.total_tokens == 12
        return answer.choices[0].message.content

    def streamed(url: str) -> str | None:
        with client(url) as api:
            stream = api.chat.completions.create(model="m", messages=HELLO, stream=True)
            return "".join(chunk.choices[0].delta.content or "" for chunk in stream)

    def asynchronous(url: str) -> str | None:
        async def main() -> str | None:
            async with AsyncOpenAI(base_url=url, api_key="placeholder") as api:
                stream = await api.chat.completions.create(
                    model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
                )
                chunks = [chunk async for chunk in stream]
                assert chunks[-1].usage is not None
                return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)

        return anyio.run(main)

    modes = (plain, streamed, asynchronous)
    for records in modes:
        with FakeUpstream(up.chat(BODY)) as upstream, recording(upstream.url) as boundary:
            assert records(boundary.url) == "Hello there"
            turns = boundary.finish().turns
        for replays in modes:
            with replaying(turns) as replay:
                assert replays(replay.url) == "Hello there"
                assert replay.cassette.divergence is None


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streaming"])
def test_tool_calls_are_recorded_and_replayed(stream: bool) -> None:
    def ask(url: str) -> tuple[str, str]:
        with client(url) as api:
            if not stream:
                answer = api.chat.completions.create(model="m", messages=HELLO)
                (call,) = answer.choices[0].message.tool_calls or []
                assert call.type == "function"
                return call.id, call.function.arguments
            id, arguments = "", ""
            for chunk in api.chat.completions.create(model="m", messages=HELLO, stream=True):
                for piece in chunk.choices[0].delta.tool_calls or []:
                    id = piece.id or id
                    assert piece.function is not None
                    arguments += piece.function.arguments or ""
            return id, arguments

    with FakeUpstream(up.chat(CALLS)) as upstream, recording(upstream.url) as boundary:
        assert ask(boundary.url) == ("call_1", '{"to": "NBO"}')
        turns = boundary.finish().turns
    with replaying(turns) as replay:
        assert ask(replay.url) == ("call_1", '{"to": "NBO"}')


def test_the_sync_client_tries_a_refused_request_once_and_shows_the_diagnosis() -> None:
    with replaying([turn(chat_request("Hi"))]) as replay:
        with client(replay.url) as api, pytest.raises(openai.BadRequestError) as caught:
            api.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "Ho"}]
            )
        assert replay.cassette.requests == 1
    assert "differs from turn 1 in its user text" in str(caught.value)
    assert caught.value.code == "flowproof_divergence"


def test_the_async_client_tries_a_refused_stream_once() -> None:
    async def main(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="placeholder") as api:
            await api.chat.completions.create(model="x", messages=HELLO, stream=True)

    with replaying([turn(chat_request("Hi"))]) as replay:
        with pytest.raises(openai.BadRequestError, match="in its model, at"):
            anyio.run(main, replay.url)
        assert replay.cassette.requests == 1


def test_an_unserved_path_is_asked_for_once() -> None:
    with replaying([]) as replay:
        with (
            client(replay.url) as api,
            pytest.raises(openai.NotFoundError, match="serves no"),
        ):
            api.moderations.create(input="x")
        (seen,) = replay.intake.unserved.seen()
    assert (seen.path, seen.count) == ("/v1/moderations", 1)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(up.answer({"error": {}}, 429, [("retry-after-ms", "1")]), id="429"),
        pytest.param(up.answer({"error": {}}, 503, [("retry-after-ms", "1")]), id="503"),
        pytest.param([up.Close()], id="dropped"),
    ],
)
def test_the_client_retries_what_the_upstream_failed_at(failure: Script) -> None:
    respond = up.scripted(failure, up.answer(BODY))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        with client(boundary.url) as api:
            answer = api.chat.completions.create(model="m", messages=HELLO)
        recorded = boundary.finish()
        received = len(upstream.received)
    assert answer.choices[0].message.content == "Hello there"
    assert received == 2
    assert (len(recorded.turns), recorded.retries_dropped, recorded.problems) == (1, 1, ())
    with replaying(recorded.turns) as replay, client(replay.url) as api:
        api.chat.completions.create(model="m", messages=HELLO)
        assert replay.cassette.requests == 1


def test_the_first_chunk_arrives_before_the_upstream_sends_the_last() -> None:
    frames, seen = up.frames(BODY), threading.Event()
    script: Script = [
        up.EVENT_STREAM,
        *map(up.chunk, frames[:2]),
        up.Await(seen),
        *map(up.chunk, frames[2:]),
        up.LAST_CHUNK,
    ]
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url) as boundary,
        client(boundary.url) as api,
    ):
        stream = api.chat.completions.create(model="m", messages=HELLO, stream=True)
        texts = [next(stream).choices[0].delta.content for _ in range(2)]
        assert texts == ["", "Hell"]
        seen.set()
        texts += [chunk.choices[0].delta.content for chunk in stream]
    assert "".join(text or "" for text in texts) == "Hello there"


def test_a_cut_stream_is_an_error_for_the_client() -> None:
    script = up.cut_stream(up.frames(BODY)[:3], up.Close())
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        with client(boundary.url) as api, pytest.raises(openai.APIConnectionError):
            list(api.chat.completions.create(model="m", messages=HELLO, stream=True))
        assert len(boundary.finish().problems) == 1
