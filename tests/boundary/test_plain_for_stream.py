"""Whole answers where a stream was asked for, and streams of very many frames."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.model.turn import Response, Turn
from tests.boundary.tools import CHAT, chat_request, pinned, recording, replaying, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

BODY = up.completion("Hello there")
STREAMING = chat_request(stream=True)
GOOGLE = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
SAID = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}
    ]
}


def problems(script: Script, body: Any, path: str = "", provider: str = "openai") -> list[str]:
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url, provider=provider) as boundary,
    ):
        send(boundary.port, body, path=path or "/v1/chat/completions")
        recorded = boundary.finish()
    assert len(recorded.turns) + len(recorded.problems) == 1
    return list(recorded.problems)


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/plain", ""])
def test_a_whole_answer_makes_no_recording_of_a_stream(content_type: str) -> None:
    script = up.plain(up.answer(BODY)[1].data, content_type=content_type)  # type: ignore[union-attr]
    (problem,) = problems(script, STREAMING)
    assert "where a stream was asked for" in problem
    assert content_type in problem


STREAM_PATH = "/v1beta/models/gemini:streamGenerateContent"


@pytest.mark.parametrize(
    ("script", "body", "path"),
    [
        pytest.param(up.answer(BODY), chat_request(), "", id="no stream asked for"),
        pytest.param(up.stream(up.frames(BODY)), STREAMING, "", id="a stream"),
        pytest.param(up.answer({"error": {"message": "no"}}, 400), STREAMING, "", id="an error"),
        pytest.param(up.plain(b"<p>", content_type="text/html"), STREAMING, "", id="a page"),
        pytest.param(
            up.answer([SAID]), GOOGLE, STREAM_PATH, id="an array where the API streams one"
        ),
    ],
)
def test_what_a_replay_would_say_as_well_is_recorded(script: Script, body: Any, path: str) -> None:
    assert problems(script, body, path, "google" if path else "openai") == []


@pytest.mark.timeout(30)
def test_a_stream_of_very_many_frames_is_passed_on_in_few_pieces() -> None:
    frames = b"\n" * 300_000 + b"".join(up.frames(BODY))
    script: Script = [
        up.EVENT_STREAM,
        *(up.chunk(frames[at : at + 50_000]) for at in range(0, len(frames), 50_000)),
        up.LAST_CHUNK,
    ]
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, STREAMING)
        assert boundary.finish().problems == ()
    assert answer.body.count(b"\n") >= 300_000


def test_a_kept_stream_is_replayed_byte_by_byte_the_same() -> None:
    events = (*(["data: {}\n\n"] * 30_000), "data: [DONE]\n\n")
    request = pinned(chat_request())
    recorded = Turn(CHAT, request, Response(200, {}, events=events), streamed=True)
    with replaying([recorded, recorded]) as boundary:
        first, second = send(boundary.port, STREAMING), send(boundary.port, STREAMING)
    assert first.body == second.body == "".join(events).encode()
    assert first.headers == second.headers
