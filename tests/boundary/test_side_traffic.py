"""Side calls over real sockets: recorded, and served once the upstream is gone."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from flowproof.model.turn import SideCall
from tests.boundary.tools import (
    MEGABYTE,
    SECRET,
    Answered,
    chat_request,
    recording,
    replaying,
    send,
    turn,
)
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

VECTOR = {"object": "list", "data": [{"index": 0, "embedding": [0.10, -0.25, 1e-7]}]}
LISTED = {"object": "list", "data": [{"id": "small"}]}
PLACEHOLDER = "flowproof-placeholder-key"


def embed(port: int, text: Any = "a", **headers: str) -> Answered:
    asks = text if isinstance(text, bytes) else {"model": "m", "input": text}
    return send(port, asks, path="/v1/embeddings", headers=headers)


def models(port: int, query: str = "") -> Answered:
    return send(port, b"", path=f"/v1/models{query}", method="GET")


def recorded(*scripts: Script) -> tuple[SideCall, ...]:
    """The call of a request for an embedding that is made until the scripts have ended."""
    with FakeUpstream(up.scripted(*scripts)) as upstream, recording(upstream.url) as boundary:
        for _ in scripts:
            embed(boundary.port)
        return boundary.finish_beside().calls


def test_an_embedding_is_forwarded_kept_and_served_again_with_its_numbers() -> None:
    raw = b'{"data": [{"embedding": [0.10, -0.0, 1e-7, 1.0]}]}'
    with FakeUpstream(up.scripted(up.plain(raw))) as upstream, recording(upstream.url) as boundary:
        assert embed(boundary.port).body == raw
        calls = boundary.finish_beside().calls
        assert boundary.finish().turns == ()
    (received,) = upstream.received
    assert (received.method, received.target) == ("POST", "/v1/embeddings")
    assert received.json() == {"model": "m", "input": "a"}
    assert received.header("authorization") == f"Bearer {SECRET}"
    with replaying([], beside=calls) as replay:
        for _ in range(3):
            answer = embed(replay.port)
            assert answer.body == b'{"data":[{"embedding":[0.10,-0.0,1e-7,1.0]}]}'
            assert answer.headers["content-type"] == "application/json"
        assert (replay.cassette.requests, replay.cassette.divergence) == (0, None)


def test_an_equal_repeat_is_not_forwarded_while_recording() -> None:
    with (
        FakeUpstream(up.scripted(up.answer(VECTOR))) as upstream,
        recording(upstream.url) as boundary,
    ):
        assert [embed(boundary.port).json() for _ in range(3)] == [VECTOR] * 3
        recorded = boundary.finish_beside()
    assert len(upstream.received) == 1
    assert (len(recorded.calls), recorded.retries_dropped) == (1, 0)


def test_a_list_is_forwarded_each_time_and_its_latest_answer_served() -> None:
    scripts = [up.answer({"v": 1}), up.answer({"v": 2}), up.answer({"error": {}}, 503)]
    with FakeUpstream(up.scripted(*scripts)) as upstream, recording(upstream.url) as boundary:
        assert [models(boundary.port, "?limit=2&key=s").status for _ in scripts] == [200, 200, 503]
        calls = boundary.finish_beside().calls
    assert [one.target for one in upstream.received] == ["/v1/models?limit=2"] * 3
    assert {(one.method, one.body) for one in upstream.received} == {("GET", b"")}
    (call,) = calls
    assert (call.method, call.request) == ("GET", None)
    assert call.operation.path == "/models?limit=2"
    with replaying([], beside=calls) as replay:
        assert [models(replay.port, "?key=t&limit=2").json() for _ in range(4)] == [{"v": 2}] * 4
        assert replay.cassette.divergence is None
        assert models(replay.port, "?limit=3").status == 400
        assert replay.cassette.divergence is not None


@pytest.mark.parametrize("status", [302, 400, 404])
def test_a_refusal_is_kept_and_served_with_its_status(status: int) -> None:
    calls = recorded(up.answer({"error": {"message": "no"}}, status))
    with replaying([], beside=calls) as replay:
        answer = embed(replay.port)
    assert (answer.status, answer.json()) == (status, {"error": {"message": "no"}})


def test_a_failure_that_was_retried_is_left_out_and_one_that_was_not_is_served() -> None:
    limit = up.answer({"error": {}}, 429, [("retry-after", "120")])
    (call,) = recorded(limit, [up.Close()], up.answer(VECTOR))
    assert call.response.status == 200
    calls = recorded(limit)
    with replaying([], beside=calls) as replay:
        answer = embed(replay.port)
    assert (answer.status, answer.headers["x-should-retry"]) == (429, "false")
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([up.Close()], id="dropped"),
        pytest.param(up.plain(b'{"data": ['), id="cut JSON"),
    ],
)
def test_no_complete_answer_is_a_problem(script: Script) -> None:
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        embed(boundary.port)
        recorded = boundary.finish_beside()
    assert recorded.calls == ()
    assert "side call 1 (openai.embeddings) has no answer: " in recorded.problems[0]


def test_an_answer_still_on_its_way_is_waited_for() -> None:
    arrived, go = threading.Event(), threading.Event()
    script: Script = [up.Signal(arrived), up.Await(go), *up.answer(VECTOR)]
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        asking = threading.Thread(target=embed, args=(boundary.port,))
        asking.start()
        assert arrived.wait(10)
        assert boundary.proxy.in_flight == 1
        go.set()
        assert len(boundary.finish_beside().calls) == 1
        asking.join(10)


def test_a_key_that_is_echoed_is_not_kept() -> None:
    (call,) = recorded(up.answer({"your": SECRET}))
    assert call.response.body == {"your": PLACEHOLDER}


def test_a_changed_embedding_is_refused_and_so_is_all_that_follows() -> None:
    calls = recorded(up.answer(VECTOR))
    with replaying([turn(chat_request())], beside=calls) as replay:
        answer = embed(replay.port, "b")
        divergence = replay.cassette.divergence
        assert divergence is not None
        assert (divergence.kind, divergence.path) == ("input", "$.input")
        for refused in (answer, embed(replay.port), models(replay.port), turned(replay.port)):
            assert (refused.status, refused.headers["x-should-retry"]) == (400, "false")
            assert str(divergence) in refused.json()["error"]["message"]
        assert replay.cassette.divergence is divergence
        assert replay.side_calls.requests == 3


def turned(port: int) -> Answered:
    return send(port, chat_request())


def test_after_a_turn_that_differs_side_calls_are_refused() -> None:
    calls = recorded(up.answer(VECTOR))
    with replaying([], beside=calls) as replay:
        assert turned(replay.port).status == 400
        assert embed(replay.port).status == 400
        assert replay.side_calls.missing == ("1 (openai.embeddings)",)


def test_probes_are_answered_in_both_phases_and_leave_nothing() -> None:
    def probe(port: int) -> None:
        for method, path in (("HEAD", "/api/hello"), ("HEAD", "/"), ("GET", "/")):
            answer = send(port, b"", path=path, method=method)
            assert answer.status == 200
            assert answer.body == (b"Ollama is running" if method == "GET" else b"")

    with FakeUpstream(up.scripted()) as upstream, recording(upstream.url) as boundary:
        probe(boundary.port)
        assert boundary.finish_beside().calls == ()
        assert (boundary.finish().turns, boundary.intake.unserved.seen()) == ((), ())
    assert upstream.received == []
    with replaying([]) as replay:
        probe(replay.port)
        assert (replay.cassette.divergence, replay.side_calls.requests) == (None, 0)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"hello", 400, id="not JSON"),
        pytest.param(b"[1]", 400, id="list"),
        pytest.param(b'{"a":' * 300 + b"1" + b"}" * 300, 400, id="deep"),
        pytest.param(b"x" * (MEGABYTE + 1), 413, id="too large"),
    ],
)
def test_a_body_that_cannot_be_read_fails_the_flow_and_is_no_model_request(
    sent: bytes, status: int
) -> None:
    with replaying([]) as replay:
        assert embed(replay.port, sent).status == status
        assert replay.cassette.requests == 0
        assert replay.cassette.divergence is not None
        assert replay.cassette.divergence.kind == "request body"
    with FakeUpstream(up.scripted()) as upstream, recording(upstream.url) as boundary:
        if status != 413:
            assert embed(boundary.port, sent).status == status
            assert boundary.proxy.rejected is not None
            assert (boundary.proxy.refused, boundary.proxy.side_calls.requests) == (0, 1)
    assert upstream.received == []


def test_mocks_and_turns_know_nothing_of_side_calls() -> None:
    def respond(request: up.Received) -> Script:
        return up.answer(VECTOR if "embeddings" in request.target else up.completion("Hi"))

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        for _ in range(2):
            embed(boundary.port)
            turned(boundary.port)
        turns, beside = boundary.finish().turns, boundary.finish_beside()
    assert (len(turns), len(beside.calls)) == (2, 1)
    with replaying(turns, beside=beside.calls) as replay:
        assert [turned(replay.port).status for _ in range(2)] == [200, 200]
        assert replay.side_calls.missing == ("1 (openai.embeddings)",)
        assert embed(replay.port).json() == VECTOR
        assert not replay.cassette.unconsumed
        assert not replay.side_calls.missing
