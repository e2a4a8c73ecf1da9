"""Answers that are no success: recorded with their status, replayed without a header of theirs.

A client that was told to wait would sleep at every replay.
"""

from __future__ import annotations

import time
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.boundary.tools import chat_request, recording, replaying, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream

HELLO: Any = [{"role": "user", "content": "Hi"}]
LIMITED = [
    ("retry-after", "120"),
    ("retry-after-ms", "120000"),
    ("x-ratelimit-remaining-requests", "0"),
    ("x-ratelimit-reset-requests", "2m"),
    ("anthropic-ratelimit-requests-remaining", "0"),
    ("x-should-retry", "true"),
    ("x-request-id", "r1"),
]
PASSED = {"content-type", "content-length", "x-should-retry"}


def failure(status: int) -> Any:
    return {"error": {"message": f"no {status}", "type": "t", "code": "c", "param": None}}


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streaming"])
def test_it_is_replayed_with_its_body_and_no_header_of_its_own(status: int, stream: bool) -> None:
    asks = chat_request(stream=stream)
    script = up.answer(failure(status), status, LIMITED)
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        live = send(boundary.port, asks)
        turns = boundary.finish().turns
    assert live.headers["retry-after"] == "120", "the agent may wait while it is recorded"
    with replaying(turns) as replay:
        answer = send(replay.port, asks)
    assert (answer.status, answer.json()) == (status, failure(status))
    assert set(answer.headers) <= PASSED
    assert answer.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("status", [400, 401, 404, 429])
def test_the_official_client_does_not_sleep(status: int) -> None:
    script = up.answer(failure(status), status, LIMITED)
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        send(boundary.port, {"model": "m", "messages": HELLO})
        turns = boundary.finish().turns
    with replaying(turns) as replay, OpenAI(base_url=replay.url, api_key="k") as api:
        begun = time.perf_counter()
        with pytest.raises(openai.APIStatusError, match=f"no {status}") as caught:
            api.chat.completions.create(model="m", messages=HELLO)
        assert time.perf_counter() - begun < 10
        assert replay.cassette.requests == 1
    assert caught.value.status_code == status
