"""Recording against a fake upstream over real sockets: what is forwarded, relayed and kept."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from flowproof.boundary.mocks import MockedTool
from flowproof.model.jsonvalue import write
from tests.boundary.tools import SECRET, RecordingBoundary, chat_request, recording, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Responder, Script

STREAMING = chat_request(stream=True)
WITH_USAGE = chat_request(stream=True, stream_options={"include_usage": True})


@contextlib.contextmanager
def between(respond: Responder) -> Iterator[tuple[FakeUpstream, RecordingBoundary]]:
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        yield upstream, boundary


def test_a_plain_answer_is_passed_on_and_kept() -> None:
    body = up.completion("Hello", refusal=None)
    with between(up.chat(body)) as (upstream, boundary):
        answer = send(boundary.port, chat_request())
        recorded = boundary.finish()
    assert (answer.status, answer.json()) == (200, body)
    assert upstream.received[0].target == "/v1/chat/completions"
    assert upstream.received[0].json() == chat_request()
    (turn,) = recorded.turns
    assert turn.request == chat_request()
    assert write(turn.response.body) == json.dumps(body, separators=(",", ":"))
    assert (turn.response.status, turn.streamed, turn.response.events) == (200, False, None)


def test_the_bytes_of_a_plain_answer_are_passed_on_as_they_are() -> None:
    odd = b'{ "b":1.10, "a" : 1e5,\n "choices":[] }'
    with between(up.scripted(up.plain(odd))) as (_, boundary):
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert answer.body == odd
    assert write(turn.response.body) == '{"b":1.10,"a":1e5,"choices":[]}'


def test_headers_are_forwarded_but_for_credentials_and_hops() -> None:
    sent = {
        "X-Custom": "kept",
        "OpenAI-Beta": "assistants=v2",
        "User-Agent": "agent/1",
        "X-Utf8": "caf\u00e9".encode().decode("latin-1"),
        "Authorization": "Bearer placeholder",
        "X-Api-Key": "placeholder",
        "Cookie": "a=b",
        "Proxy-Authorization": "Basic abc",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "this connection only",
        "TE": "trailers",
        "X-Goog-Api-Key": "placeholder",
        "Api-Key": "placeholder",
        "Accept-Encoding": "snappy, gzip;q=0.5, deflate; q=0, br;q=0.000",
    }
    with between(up.chat(up.completion())) as (upstream, boundary):
        send(boundary.port, chat_request(), headers=sent)
    got = upstream.received[0]
    assert got.header("x-custom") == "kept"
    assert got.header("openai-beta") == "assistants=v2"
    assert got.header("user-agent") == "agent/1"
    assert got.header("x-utf8") == "caf\u00e9"
    assert got.header("authorization") == f"Bearer {SECRET}"
    assert got.header("accept-encoding") == "gzip"
    assert got.header("host") == upstream.url.split("/")[2]
    for name in (
        "x-api-key",
        "x-goog-api-key",
        "api-key",
        "cookie",
        "proxy-authorization",
        "x-hop",
        "te",
    ):
        assert got.header(name) is None
    assert [name for name, _ in got.headers].count("authorization") == 1


def test_the_query_is_forwarded_as_it_was_written() -> None:
    with between(up.chat(up.completion())) as (upstream, boundary):
        send(boundary.port, chat_request(), path="/v1/chat/completions?v=a%2Fb+c&w=%C3%A9")
        (turn,) = boundary.finish().turns
    assert upstream.received[0].target == "/v1/chat/completions?v=a%2Fb+c&w=%C3%A9"
    assert "?" not in turn.operation.path


@pytest.mark.parametrize("coding", ["gzip", "chunked"])
def test_compressed_and_chunked_requests_arrive_plain(coding: str) -> None:
    data = json.dumps(chat_request()).encode()
    with between(up.chat(up.completion())) as (upstream, boundary):
        if coding == "gzip":
            packed = gzip.compress(data)
            status = send(boundary.port, packed, headers={"Content-Encoding": "gzip"}).status
        else:
            status = send_chunked(boundary.port, data)
    assert status == 200
    assert upstream.received[0].json() == chat_request()
    assert upstream.received[0].header("content-encoding") is None


def send_chunked(port: int, data: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        pieces = iter([data[:7], data[7:]])
        connection.request("POST", "/v1/chat/completions", pieces, encode_chunked=True)
        return connection.getresponse().status


def test_a_compressed_answer_is_passed_on_and_kept_plain() -> None:
    with between(up.scripted(up.gzipped(up.completion("zipped")))) as (_, boundary):
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert answer.json() == turn.response.body == up.completion("zipped")
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-length"] == str(len(answer.body))


@pytest.mark.parametrize("status", [201, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503, 529])
def test_every_status_is_passed_on_unchanged(status: int) -> None:
    headers = [("retry-after", "7"), ("x-request-id", "r1"), ("set-cookie", "a=b")]
    script = up.answer({"error": {"message": "no"}}, status, headers)
    with between(up.scripted(script)) as (_, boundary):
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert (answer.status, answer.json()) == (status, {"error": {"message": "no"}})
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-request-id"] == "r1"
    assert "set-cookie" not in answer.headers
    assert (turn.response.status, turn.response.body) == (status, {"error": {"message": "no"}})


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        pytest.param(b"<html>busy</html>", "text/html", id="html"),
        pytest.param(b"\xff\xfe\x00", "application/octet-stream", id="bytes"),
        pytest.param(b"", "text/plain", id="empty"),
        pytest.param(b"{not json", "text/plain", id="not JSON and not said to be"),
    ],
)
def test_an_answer_that_is_not_json_is_kept_as_text(data: bytes, content_type: str) -> None:
    with between(up.scripted(up.plain(data, content_type=content_type))) as (_, boundary):
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert (answer.body, answer.headers["content-type"]) == (data, content_type)
    assert turn.response.body is None
    assert turn.response.text is not None
    assert turn.response.text.encode("utf-8", "surrogateescape") == data
    assert turn.response.content_type == content_type


def test_a_redirect_is_not_followed_by_anybody() -> None:
    with FakeUpstream(up.chat(up.completion())) as elsewhere:
        target = f"{elsewhere.url}/chat/completions"
        with between(up.scripted(up.redirect(target, 307))) as (upstream, boundary):
            answer = send(boundary.port, chat_request())
            (turn,) = boundary.finish().turns
    assert answer.status == turn.response.status == 307
    assert "location" not in answer.headers
    assert (len(upstream.received), len(elsewhere.received)) == (1, 0)


@pytest.mark.parametrize("asked", [STREAMING, WITH_USAGE], ids=["no usage", "usage"])
def test_a_stream_is_relayed_and_its_usage_only_to_who_asked(asked: dict[str, Any]) -> None:
    body = up.completion("Hello there")
    with between(up.chat(body)) as (upstream, boundary):
        answer = send(boundary.port, asked)
        (turn,) = boundary.finish().turns
    assert upstream.received[0].json()["stream_options"] == {"include_usage": True}
    frames = up.frames(body)
    if asked is STREAMING:
        del frames[-2]
    assert answer.body == b"".join(frames)
    assert answer.headers["content-type"] == "text/event-stream"
    assert turn.response.body == body
    assert turn.streamed
    assert turn.request == chat_request()


def test_usage_that_an_upstream_sends_beside_a_choice_is_not_stripped() -> None:
    frames = up.frames(up.completion(), usage=False)
    last = json.loads(frames[-2].removeprefix(b"data: "))
    frames[-2] = up.frame({**last, "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
    with between(up.scripted(up.stream(frames))) as (_, boundary):
        assert send(boundary.port, STREAMING).body == b"".join(frames)


def test_frames_reach_the_agent_before_the_stream_ends() -> None:
    frames = up.frames(up.completion("Hello there"))
    seen = threading.Event()
    script: Script = [
        up.EVENT_STREAM,
        *map(up.chunk, frames[:2]),
        up.Await(seen),
        *map(up.chunk, frames[2:]),
        up.LAST_CHUNK,
    ]
    with between(up.scripted(script)) as (_, boundary):
        connection = http.client.HTTPConnection("127.0.0.1", boundary.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/chat/completions", json.dumps(WITH_USAGE))
            response = connection.getresponse()
            first = response.read(len(frames[0] + frames[1]))
            assert first == frames[0] + frames[1]
            assert not seen.is_set()
            seen.set()
            assert response.read() == b"".join(frames[2:])


def test_a_stream_cut_anywhere_is_relayed_in_whole_frames() -> None:
    data = b"".join(up.frames(up.completion("caf\u00e9 \U0001f600")))
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    with between(up.scripted(up.stream(pieces))) as (_, boundary):
        answer = send(boundary.port, WITH_USAGE)
        (turn,) = boundary.finish().turns
    assert answer.body == data
    assert turn.response.body == up.completion("caf\u00e9 \U0001f600")


def test_a_last_frame_without_its_blank_line_counts() -> None:
    frames = up.frames(up.completion())
    frames[-1] = b"data: [DONE]\n"
    with between(up.scripted(up.stream(frames))) as (_, boundary):
        answer = send(boundary.port, WITH_USAGE)
        recorded = boundary.finish()
    assert answer.body == b"".join(frames)
    assert recorded.problems == ()
    assert recorded.turns[0].response.body == up.completion()


def test_calls_run_at_the_same_time() -> None:
    all_here, lock, count = threading.Event(), threading.Lock(), 0

    def respond(request: Received) -> Script:
        nonlocal count
        with lock:
            count += 1
            if count == 8:
                all_here.set()
        content = request.json()["messages"][0]["content"]
        return [up.Await(all_here), up.Pause(0.2), *up.answer(up.completion(content))]

    with between(respond) as (_, boundary), ThreadPoolExecutor(8) as pool:
        begun = time.perf_counter()
        answers = list(pool.map(lambda n: send(boundary.port, chat_request(str(n))), range(8)))
        assert time.perf_counter() - begun < 1.2
        turns = boundary.finish().turns
    assert [a.json()["choices"][0]["message"]["content"] for a in answers] == list("01234567")
    for turn in turns:
        body: Any = turn.response.body
        request: Any = turn.request
        asked = request["messages"][0]["content"]
        assert body["choices"][0]["message"]["content"] == asked


def test_mocks_are_put_in_before_forwarding() -> None:
    function = {"name": "search", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "what the tool said"},
    ]
    mocks = {"search": MockedTool(({"flights": []},), True)}
    with (
        FakeUpstream(up.chat(up.completion())) as upstream,
        recording(upstream.url, mocks=mocks) as boundary,
    ):
        send(boundary.port, {"model": "m", "messages": messages})
        (turn,) = boundary.finish().turns
    request: Any = turn.request
    assert upstream.received[0].json()["messages"][1]["content"] == '{"flights":[]}'
    assert request["messages"][1]["content"] == '{"flights":[]}'
    assert turn.mocked == ("search",)


def test_exhausted_results_are_refused_and_not_forwarded() -> None:
    def history(calls: int) -> Any:
        messages: list[Any] = []
        for n in range(calls):
            call = {"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": ""}}
            messages.append({"role": "assistant", "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": "real"})
        return {"model": "m", "messages": messages}

    mocks = {"t": MockedTool(("one",), False)}
    with (
        FakeUpstream(up.chat(up.completion())) as upstream,
        recording(upstream.url, mocks=mocks) as boundary,
    ):
        assert send(boundary.port, history(1)).status == 200
        answer = send(boundary.port, history(2))
        rejected = boundary.proxy.rejected
    assert answer.status == 400
    assert "called 2 times" in answer.json()["error"]["message"]
    assert rejected is not None
    assert (rejected.kind, rejected.request) == ("mock results", 2)
    assert len(upstream.received) == 1


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        pytest.param(b"hello", {}, 400, "not JSON", id="not JSON"),
        pytest.param(b"[]", {}, 400, "not a JSON object", id="list"),
        pytest.param(b"", {}, 400, "not JSON", id="empty"),
        pytest.param(b"\xff", {}, 400, "not UTF-8", id="not UTF-8"),
        pytest.param(b"?", {"Content-Encoding": "br"}, 415, "br", id="brotli"),
        pytest.param(b"?", {"Content-Encoding": "gzip"}, 400, "gzip", id="corrupt gzip"),
    ],
)
def test_a_body_that_cannot_be_read_fails_the_recording(
    body: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    with between(up.chat(up.completion())) as (upstream, boundary):
        answer = send(boundary.port, body, headers=headers)
        rejected = boundary.proxy.rejected
    assert answer.status == status
    assert answer.headers["x-should-retry"] == "false"
    assert says in answer.json()["error"]["message"]
    assert rejected is not None
    assert says in rejected.message
    assert upstream.received == []


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/files"), ("GET", "/v1/chat/completions"), ("HEAD", "/v1/models")],
)
def test_a_path_that_nobody_serves_is_answered_404_and_listed(method: str, path: str) -> None:
    with between(up.chat()) as (upstream, boundary):
        for _ in range(2):
            answer = send(boundary.port, b"", method=method, path=f"{path}?key=secret")
        (seen,) = boundary.intake.unserved.seen()
    assert answer.status == 404
    assert (seen.method, seen.path, seen.count) == (method, path, 2)
    if method != "HEAD":
        assert path in answer.json()["error"]["message"]
    assert upstream.received == []


def test_an_answer_still_on_its_way_when_the_agent_has_gone_is_kept() -> None:
    arrived, go = threading.Event(), threading.Event()
    script: Script = [up.Signal(arrived), up.Await(go), *up.answer(up.completion("late"))]
    with between(up.scripted(script)) as (_, boundary):
        connection = http.client.HTTPConnection("127.0.0.1", boundary.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("POST", "/v1/chat/completions", json.dumps(chat_request()))
            assert arrived.wait(10)
        assert boundary.recording.in_flight == 1
        go.set()
        recorded = boundary.finish()
    assert recorded.turns[0].response.body == up.completion("late")
    assert recorded.problems == ()
