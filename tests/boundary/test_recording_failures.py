"""An upstream that fails: what the agent gets, what the recording says, and no secret in either."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import traceback
from typing import Any

import anyio
import pytest

from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.upstream import NoAnswer, open_upstream
from flowproof.dialects.interface import Target
from tests.boundary.tools import SECRET, chat_request, recording, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

LIMITS = Limits(connect_timeout=0.5, idle_timeout=0.3, max_body=100_000)
STREAMING = chat_request(stream=True)
FRAMES = up.frames(up.completion("Hello there"))
SIZED = up.head(200, [("content-type", "application/json"), ("content-length", "100")])

FAILURES = [
    pytest.param([up.Close()], "dropped before an answer", id="closed"),
    pytest.param([up.Reset()], "connection", id="reset"),
    pytest.param([up.Send(b"HTTP/1.1 200 OK\r\nconte"), up.Close()], "", id="half a head"),
    pytest.param([SIZED, up.Send(b'{"id":'), up.Close()], "broke off", id="half a body"),
    pytest.param(
        [SIZED, up.Send(b'{"id":'), up.Pause(0.2), up.Reset()], "", id="half a body and reset"
    ),
    pytest.param([up.Silence()], "nothing for 0.3 s", id="silent"),
    pytest.param([SIZED, up.Send(b'{"id":'), up.Silence()], "nothing for 0.3 s", id="stalled"),
    pytest.param(up.plain(b"x" * 100_001), "larger than 100000 bytes", id="huge"),
    pytest.param([up.Send(b"\x00garbage\r\n\r\n"), up.Close()], "", id="garbage"),
    pytest.param(
        [up.Send(b"HTTP/1.1 101 Switching\r\n\r\n"), up.Silence()], "101", id="status 101"
    ),
    pytest.param(
        up.plain(b"no gzip", headers=[("content-encoding", "gzip")]), "", id="corrupt gzip"
    ),
    pytest.param(
        up.plain(b"\x1b\x00", headers=[("content-encoding", "br")]), "", id="brotli unasked"
    ),
    pytest.param(
        up.plain(b"??", headers=[("content-encoding", "secret-coding")]), "", id="unknown coding"
    ),
]


@pytest.mark.parametrize(("script", "says"), FAILURES)
def test_no_complete_answer_is_a_failure_worth_a_retry(script: Script, says: str) -> None:
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url, limits=LIMITS) as boundary,
    ):
        answer = send(boundary.port, chat_request())
        recorded = boundary.finish()
    assert answer.status == 502
    assert "x-should-retry" not in answer.headers
    error = answer.json()["error"]
    assert error["type"] == "server_error"
    assert says in error["message"]
    assert len(upstream.received) == 1
    (problem,) = recorded.problems
    assert problem.startswith("model request 1 has no answer: ")
    assert says in problem
    assert recorded.turns == ()
    assert SECRET not in answer.body.decode() + problem


def test_an_upstream_that_is_not_there_is_named() -> None:
    with recording(up.refusing_url(), limits=LIMITS) as boundary:
        answer = send(boundary.port, chat_request())
        (problem,) = boundary.finish().problems
    assert answer.status == 502
    assert "cannot connect" in answer.json()["error"]["message"]
    assert "refused" in problem.lower()


def test_a_host_that_does_not_exist_is_named() -> None:
    with recording("http://no-such-host.invalid/v1", limits=LIMITS) as boundary:
        answer = send(boundary.port, chat_request())
    assert answer.status == 502
    assert "cannot connect" in answer.json()["error"]["message"]


def test_tls_that_is_none_is_named() -> None:
    with FakeUpstream(up.scripted([up.Close()])) as upstream:
        url = upstream.url.replace("http:", "https:")
        with recording(url, limits=LIMITS) as boundary:
            answer = send(boundary.port, chat_request())
            assert len(boundary.finish().problems) == 1
    assert answer.status == 502


def test_an_upstream_that_accepts_and_never_reads_does_not_hold_the_run() -> None:
    request = chat_request("x" * 30_000_000)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        limits = Limits(connect_timeout=0.5, idle_timeout=0.5)
        with recording(url, limits=limits) as boundary:
            assert send(boundary.port, request).status == 502
            # What it never read is still buffered; the connection is gone once it hangs up.
            deaf.accept()[0].close()
            assert send(boundary.port, chat_request()).status == 502
            assert len(boundary.finish().problems) == 2


@pytest.mark.parametrize(
    ("script", "says"),
    [
        pytest.param(up.cut_stream(FRAMES[:3], up.Close()), "broke off", id="closed"),
        pytest.param([*up.cut_stream(FRAMES[:3], up.Pause(0.2)), up.Reset()], "", id="reset"),
        pytest.param(up.cut_stream(FRAMES[:3], up.Silence()), "0.3 s", id="stalled"),
        pytest.param(
            up.cut_stream([*FRAMES[:3], b"data: " + b"x" * 200_000], up.Close()),
            "larger than",
            id="huge",
        ),
    ],
)
def test_a_stream_that_breaks_off_breaks_off_for_the_agent_too(script: Script, says: str) -> None:
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url, limits=LIMITS) as boundary,
    ):
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            send(boundary.port, STREAMING)
        recorded = boundary.finish()
    (problem,) = recorded.problems
    assert says in problem
    assert recorded.turns == ()


def test_a_stream_that_ends_in_order_but_too_early_is_no_answer() -> None:
    with (
        FakeUpstream(up.scripted(up.stream(FRAMES[:3]))) as upstream,
        recording(upstream.url) as boundary,
    ):
        answer = send(boundary.port, STREAMING)
        recorded = boundary.finish()
    assert answer.body == b"".join(FRAMES[:3])
    (problem,) = recorded.problems
    assert "before the answer was complete" in problem


def test_a_stream_that_reports_an_error_is_a_turn_that_says_so() -> None:
    error = {"error": {"message": "overloaded", "type": "server_error"}}
    frames = [*FRAMES[:2], up.frame(error)]
    with (
        FakeUpstream(up.scripted(up.stream(frames))) as upstream,
        recording(upstream.url) as boundary,
    ):
        answer = send(boundary.port, STREAMING)
        recorded = boundary.finish()
    assert answer.body == b"".join(frames)
    (turn,) = recorded.turns
    assert turn.response.body == error
    assert turn.response.events is not None
    assert "".join(turn.response.events).encode() == b"".join(frames)


RETRIED = [
    pytest.param(up.answer({"error": {}}, 429, [("retry-after-ms", "1")]), id="429"),
    pytest.param(up.answer({"error": {}}, 500), id="500"),
    pytest.param(up.answer({"error": {}}, 503), id="503"),
    pytest.param([up.Close()], id="dropped"),
    pytest.param(up.cut_stream(FRAMES[:3], up.Close()), id="cut stream"),
    pytest.param(up.stream([*FRAMES[:2], up.frame({"error": {"message": "x"}})]), id="error event"),
]


@pytest.mark.parametrize("script", RETRIED)
def test_a_failure_that_was_retried_with_success_is_no_turn(script: Script) -> None:
    respond = up.scripted(script, up.stream(FRAMES))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        with contextlib.suppress(http.client.IncompleteRead):
            send(boundary.port, STREAMING)
        assert send(boundary.port, STREAMING).status == 200
        recorded = boundary.finish()
    assert (len(recorded.turns), recorded.retries_dropped, recorded.problems) == (1, 1, ())


def test_a_failing_upstream_does_not_disturb_other_calls() -> None:
    go = threading.Event()
    slow: Script = [up.Await(go), *up.answer(up.completion("slow"))]
    with (
        FakeUpstream(
            lambda request: slow if request.json()["seed"] == 1 else [up.Reset()]
        ) as upstream,
        recording(upstream.url) as boundary,
    ):
        found: list[Any] = []
        thread = threading.Thread(
            target=lambda: found.append(send(boundary.port, chat_request(seed=1)))
        )
        thread.start()
        assert send(boundary.port, chat_request(seed=2)).status == 502
        go.set()
        thread.join(10)
    assert found[0].json() == up.completion("slow")


def test_a_call_cut_off_by_the_end_of_the_flow_is_a_failure() -> None:
    arrived = threading.Event()
    with FakeUpstream(up.scripted([up.Signal(arrived), up.Silence()])) as upstream:
        with recording(upstream.url) as boundary:
            connection = http.client.HTTPConnection("127.0.0.1", boundary.port, timeout=10)
            connection.request("POST", "/v1/chat/completions", json.dumps(chat_request()))
            assert arrived.wait(10)
        connection.close()
        assert boundary.recording.exchanges[0].failure == "it was cut off when the flow ended"


def test_the_key_stands_in_no_repr_and_no_error() -> None:
    endpoint = Endpoint("http://h/v1", {"Authorization": f"Bearer {SECRET}"})
    assert SECRET not in repr(endpoint) + str(endpoint)
    target = Target("/chat/completions")

    async def fail(url: str) -> NoAnswer:
        endpoints = {"openai": Endpoint(url, endpoint.headers)}
        async with open_upstream(endpoints, LIMITS) as client:
            with pytest.raises(NoAnswer) as caught:
                async with client.send("openai", "POST", target, (), b"{}") as answer:
                    await answer.body()
        return caught.value

    scripts: list[Script] = [
        [up.Close()],
        [up.Send(b"\x00\r\n\r\n"), up.Close()],
        [up.Silence()],
    ]
    for script in scripts:
        with FakeUpstream(up.scripted(script)) as upstream:
            error = anyio.run(fail, upstream.url)
        assert SECRET not in repr(error) + "".join(traceback.format_exception(error))
