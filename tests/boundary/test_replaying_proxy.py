"""Replay over real sockets: what was recorded is served again, and nothing else is."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from flowproof.boundary.mocks import MockedTool
from flowproof.model.jsonvalue import parse
from flowproof.model.turn import Response, Turn
from tests.boundary.tools import CHAT, chat_request, pinned, recording, replaying, send, turn
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Responder

STREAMING = chat_request(stream=True)
WITH_USAGE = chat_request(stream=True, stream_options={"include_usage": True})
BODY = up.completion("Hello there", refusal=None)


def recorded(request: Any, respond: Responder) -> tuple[Turn, ...]:
    """The turns of a recording of one request; the upstream is gone afterwards."""
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        send(boundary.port, request)
        return boundary.finish().turns


def said(frames: bytes) -> list[Any]:
    """The events of a stream."""
    events = frames.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


def spoken(frames: bytes) -> str:
    """The text that the events of a stream add up to."""
    pieces = [choice["delta"].get("content") for one in said(frames) for choice in one["choices"]]
    return "".join(piece for piece in pieces if piece)


@pytest.mark.parametrize("asked", [chat_request(), STREAMING, WITH_USAGE], ids=["p", "s", "u"])
@pytest.mark.parametrize("asks", [chat_request(), STREAMING, WITH_USAGE], ids=["p", "s", "u"])
def test_either_mode_is_replayed_from_either_recording(
    asked: dict[str, Any], asks: dict[str, Any]
) -> None:
    turns = recorded(asked, up.chat(BODY))
    with replaying(turns) as boundary:
        answer = send(boundary.port, asks)
        assert boundary.cassette.unconsumed == ()
        assert boundary.cassette.divergence is None
    assert answer.status == 200
    if asks == chat_request():
        got = answer.json()
        assert got["usage"] == BODY["usage"]
        assert got["id"] == BODY["id"]
        assert got["choices"][0]["message"]["content"] == "Hello there"
        assert got["choices"][0]["finish_reason"] == "stop"
        return
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert spoken(answer.body) == "Hello there"
    usages = [one["usage"] for one in said(answer.body) if one["choices"] == []]
    assert usages == ([BODY["usage"]] if asks is WITH_USAGE else [])


def test_key_order_and_number_texts_are_served_as_recorded() -> None:
    text = '{"z":1.10,"a":1e5,"choices":[],"m":{"y":-0,"b":"\u00e9"}}'
    with replaying([Turn(CHAT, pinned(chat_request()), Response(200, parse(text)))]) as boundary:
        assert send(boundary.port, chat_request()).body.decode() == text


@pytest.mark.parametrize("status", [302, 400, 401, 429, 500, 503])
@pytest.mark.parametrize("asks", [chat_request(), STREAMING], ids=["plain", "streaming"])
def test_an_error_is_served_with_its_status_in_either_mode(
    status: int, asks: dict[str, Any]
) -> None:
    error = {"error": {"message": "no", "type": "t"}}
    with replaying([turn(chat_request(), error, status)]) as boundary:
        answer = send(boundary.port, asks)
    assert (answer.status, answer.json()) == (status, error)


def test_a_text_answer_is_served_byte_for_byte_with_its_type() -> None:
    turns = recorded(
        chat_request(), up.scripted(up.plain(b"\xff<html>", 200, content_type="text/html"))
    )
    with replaying(turns) as boundary:
        answer = send(boundary.port, STREAMING)
    assert (answer.body, answer.headers["content-type"]) == (b"\xff<html>", "text/html")


def test_a_stream_with_an_error_event_is_served_as_it_came() -> None:
    frames = [*up.frames(BODY)[:2], up.frame({"error": {"message": "overloaded"}})]
    turns = recorded(STREAMING, up.scripted(up.stream(frames)))
    with replaying(turns) as boundary:
        assert send(boundary.port, STREAMING).body == b"".join(frames)


def test_a_refusal_is_not_worth_a_retry_and_carries_the_diagnosis() -> None:
    with replaying([turn(chat_request("Hi"))]) as boundary:
        answers = [send(boundary.port, chat_request(text)) for text in ("Ho", "Hi")]
        divergence = boundary.cassette.divergence
    assert divergence is not None
    for answer in answers:
        assert answer.status == 400
        assert answer.headers["x-should-retry"] == "false"
        assert answer.headers["content-type"] == "application/json"
        error = answer.json()["error"]
        assert str(divergence) in error["message"]
        assert (error["type"], error["param"]) == ("invalid_request_error", None)
        assert error["code"] == "flowproof_divergence"
    assert '- "Hi"' in answers[0].json()["error"]["message"]
    assert '+ "Ho"' in answers[0].json()["error"]["message"]


def test_a_refusal_of_a_streaming_request_is_plain_too() -> None:
    with replaying([]) as boundary:
        answer = send(boundary.port, STREAMING)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"hello", {}, 400, id="not JSON"),
        pytest.param(b"[1]", {}, 400, id="list"),
        pytest.param(b"x" * 1_100_000, {}, 413, id="too large"),
        pytest.param(b"?", {"Content-Encoding": "zstd"}, 415, id="unknown coding"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_divergence(
    body: bytes, headers: dict[str, str], status: int
) -> None:
    with replaying([turn(chat_request())]) as boundary:
        answer = send(boundary.port, body, headers=headers)
        divergence = boundary.cassette.divergence
        assert send(boundary.port, chat_request()).status == 400
    assert answer.status == status
    assert answer.headers["x-should-retry"] == "false"
    assert divergence is not None
    assert divergence.kind == "request body"
    assert divergence.message in answer.json()["error"]["message"]


def test_a_path_that_nobody_serves_is_answered_404_and_counted() -> None:
    with replaying([turn(chat_request())]) as boundary:
        for method in ("GET", "GET", "HEAD"):
            answer = send(boundary.port, b"", method=method, path="/v1/files?key=k")
            assert answer.status == 404
            assert answer.headers["x-should-retry"] == "false"
        seen = [(one.method, one.path, one.count) for one in boundary.intake.unserved.seen()]
        assert boundary.cassette.requests == 0
        assert send(boundary.port, chat_request()).status == 200
    assert seen == [("GET", "/v1/files", 2), ("HEAD", "/v1/files", 1)]


def test_a_scan_does_not_fill_the_report() -> None:
    with replaying([]) as boundary:
        for n in range(60):
            send(boundary.port, b"", path=f"/{n}{'x' * 300}")
        seen = boundary.intake.unserved.seen()
    assert len(seen) == 50
    assert max(len(one.path) for one in seen) == 200


def tool_history(content: str) -> dict[str, Any]:
    function = {"name": "search", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    return chat_request() | {
        "messages": [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": content},
        ]
    }


def test_mocks_are_put_in_before_matching() -> None:
    mocks = {"search": MockedTool(("mocked",), True)}
    with replaying([turn(tool_history("mocked"))], mocks=mocks) as boundary:
        assert send(boundary.port, tool_history("what the tool says today")).status == 200
    with replaying([turn(tool_history("mocked"))]) as boundary:
        assert send(boundary.port, tool_history("what the tool says today")).status == 400


def test_exhausted_results_are_a_divergence_that_says_so() -> None:
    mocks = {"search": MockedTool(("one",), False)}
    second = tool_history("a")
    call = {**second["messages"][0]["tool_calls"][0], "id": "c2"}
    second["messages"] += [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
    ]
    with replaying([turn(tool_history("one"))], mocks=mocks) as boundary:
        assert send(boundary.port, tool_history("a")).status == 200
        answer = send(boundary.port, second)
        divergence = boundary.cassette.divergence
    assert divergence is not None
    assert (divergence.kind, divergence.request) == ("mock results", 2)
    assert "`search` was called 2 times" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param("/v1/chat/completions", {"X-Request-Id": "other"}, id="header"),
        pytest.param("/v1/chat/completions?api-version=1", {}, id="query"),
        pytest.param("/any/prefix/chat/completions", {}, id="prefix"),
        pytest.param("/v1/chat/completions", {"Connection": "close"}, id="no keep-alive"),
    ],
)
def test_what_is_no_change(path: str, headers: dict[str, str]) -> None:
    with replaying([turn(chat_request())]) as boundary:
        spaced = json.dumps(chat_request(), indent=3, sort_keys=True).encode()
        assert send(boundary.port, spaced, path=path, headers=headers).status == 200


def test_replay_needs_no_http_client() -> None:
    import subprocess

    code = (
        "import sys, flowproof.boundary.replaying_proxy, flowproof.boundary.cassette\n"
        "import flowproof.boundary.http1\n"
        "sys.exit('aiohttp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
