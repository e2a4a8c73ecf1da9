"""What goes wrong with the real server while recording, and what the agent gets of it."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from flowproof.model.mcp import Broken, RpcError, Unanswered
from tests.boundary.mcp.http_scripts import Json, by_method, events, notification, result
from tests.boundary.mcp.http_tools import (
    EventStream,
    Opened,
    call,
    initialize,
    modern,
    modern_headers,
    recording,
    replaying,
    send,
)
from tests.support import upstream as up
from tests.support.mcp.running import free_port
from tests.support.upstream import FakeUpstream, Received, Script

TOOLS: Json = {"tools": []}


def asked(boundary: Opened, number: int = 1) -> Any:
    body = modern(number, "tools/list")
    return send(boundary.port, body, modern_headers("tools/list"))


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        pytest.param(503, "text/plain", "come back later", id="unavailable"),
        pytest.param(429, "application/json", '{"error": "slow down"}', id="limited"),
        pytest.param(
            400, "application/json", '{"jsonrpc":"2.0","id":null,"error":{}}', id="unread"
        ),
        pytest.param(500, "text/plain", "", id="empty"),
    ],
)
def test_an_http_error_is_kept_and_replayed_as_one(status: int, kind: str, text: str) -> None:
    script = up.plain(text.encode(), status, content_type=kind)
    with (
        FakeUpstream(by_method({"tools/list": script})) as upstream,
        recording(upstream.url) as boundary,
    ):
        first = asked(boundary)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
        assert boundary.transport.troubles == ()
    assert lane.calls[0].outcome == Broken(status, text)
    with replaying(lane) as boundary:
        again = asked(boundary)
        assert boundary.boundary.divergence is None
    assert (first.status, first.body) == (again.status, again.body) == (status, text.encode())
    assert first.headers["content-type"] == again.headers["content-type"] == kind


@pytest.mark.parametrize(
    ("sent", "code", "status"),
    [
        pytest.param(404, -32601, 404, id="method-not-found"),
        pytest.param(400, -32602, 400, id="invalid-params"),
        pytest.param(200, -32603, 200, id="internal"),
    ],
)
def test_a_json_rpc_error_is_kept_as_one_whatever_its_status(
    sent: int, code: int, status: int
) -> None:
    error: Json = {"code": code, "message": "no"}
    script = up.answer({"jsonrpc": "2.0", "id": 1, "error": error}, sent)
    with (
        FakeUpstream(by_method({"tools/list": script})) as upstream,
        recording(upstream.url) as boundary,
    ):
        first = asked(boundary)
        lane = boundary.lane()
    assert lane.calls[0].outcome == RpcError(error)
    with replaying(lane) as boundary:
        again = asked(boundary)
    assert first.status == again.status == status
    assert first.json() == again.json() == {"jsonrpc": "2.0", "id": 1, "error": error}


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_the_authors(status: int) -> None:
    script = up.plain(b"no such key", status, content_type="text/plain")
    with (
        FakeUpstream(by_method({"tools/list": script})) as upstream,
        recording(upstream.url) as boundary,
    ):
        assert asked(boundary).status == status
        (trouble,) = boundary.transport.troubles
    assert trouble.whose == "author"
    assert "`files`" in trouble.text and str(status) in trouble.text
    assert "no such key" in trouble.text


def test_a_server_that_cannot_be_reached_is_named_by_its_origin() -> None:
    origin = f"http://127.0.0.1:{free_port()}"
    with recording(f"{origin}/mcp?token=secret-4711") as boundary:
        answer = asked(boundary)
        problems = boundary.boundary.problems
    assert answer.status == 502
    assert answer.json()["id"] == 1
    assert "error" in answer.json()
    assert len(problems) == 1
    assert origin in problems[0] and "Connection refused" in problems[0]
    assert "secret" not in problems[0]


def test_a_notification_that_cannot_be_delivered_is_the_worlds() -> None:
    with recording(f"http://127.0.0.1:{free_port()}/mcp") as boundary:
        body = notification("notifications/cancelled")
        answer = send(boundary.port, body, modern_headers("notifications/cancelled"))
        (trouble,) = boundary.transport.troubles
    assert answer.status == 502
    assert trouble.whose == "world"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(up.plain(b"<html>", content_type="text/html"), id="html"),
        pytest.param(up.plain(b"{"), id="no-json"),
        pytest.param(up.answer([]), id="empty-batch"),
        pytest.param(up.answer(result(99, TOOLS)), id="another-id"),
        pytest.param(up.answer({"jsonrpc": "2.0"}), id="no-message"),
        pytest.param(up.plain(b""), id="nothing"),
        pytest.param(up.stream([]), id="empty-stream"),
        pytest.param(events(notification("notifications/message")), id="no-answer-in-stream"),
        pytest.param(up.cut_stream([b"data: {"], up.Close()), id="cut-stream"),
        pytest.param([up.Close()], id="closed"),
        pytest.param([up.Reset()], id="reset"),
        pytest.param(up.plain(b'"' + b"x" * (11 << 20) + b'"'), id="too-large"),
        pytest.param(up.stream([b"data: " + b"x" * (11 << 20) + b"\n\n"]), id="too-large-event"),
    ],
)
def test_an_answer_that_is_none_is_loud_and_keeps_nobody_waiting(script: Script) -> None:
    with (
        FakeUpstream(by_method({"tools/list": script})) as upstream,
        recording(upstream.url) as boundary,
    ):
        answer = asked(boundary)
        boundary.lane()
        problems = boundary.boundary.problems
    told = answer.events()[-1] if answer.status == 200 and answer.events() else answer.json()
    assert told["id"] == 1
    assert "error" in told
    assert problems and all("files" in one for one in problems)


def test_a_request_that_is_accepted_and_never_answered_is_kept_as_that() -> None:
    script = up.plain(b"", 202)
    with (
        FakeUpstream(by_method({"tools/list": script})) as upstream,
        recording(upstream.url) as boundary,
    ):
        assert asked(boundary).status == 202
        lane = boundary.lane()
    assert lane.calls[0].outcome == Broken(202, "")
    with replaying(lane) as boundary:
        assert asked(boundary).status == 202


def test_a_redirect_within_the_server_is_followed() -> None:
    def respond(request: Received) -> Script:
        if request.target == "/v1":
            return up.redirect("/v1/", 307)
        return up.answer(result(request.json()["id"], TOOLS))

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        assert asked(boundary).json() == result(1, TOOLS)
    assert [one.target for one in upstream.received] == ["/v1", "/v1/"]


def test_a_redirect_elsewhere_is_not_followed() -> None:
    with FakeUpstream(by_method({"tools/list": up.answer(result(1, TOOLS))})) as other:
        with (
            FakeUpstream(lambda _: up.redirect(other.url, 307)) as upstream,
            recording(upstream.url) as boundary,
        ):
            answer = asked(boundary)
            (trouble,) = boundary.transport.troubles
        assert other.received == []
    assert answer.status == 307
    assert "location" not in answer.headers
    assert trouble.whose == "author"


def test_a_stream_that_the_server_ends_early_is_taken_up_again() -> None:
    first = up.stream([b"id: 7\nretry: 10\ndata:\n\n"])

    def rest(request: Received) -> Script:
        assert request.header("last-event-id") == "7"
        return events(result(2, TOOLS))

    with (
        FakeUpstream(by_method({"tools/list": first, "GET": rest})) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers = initialize(boundary.port)
        answer = send(boundary.port, call(2, "tools/list"), headers)
        assert answer.json() == result(2, TOOLS)
        assert boundary.boundary.problems == ()


def test_a_client_without_session_cancels_by_leaving() -> None:
    begun, gone = threading.Event(), threading.Event()

    def respond(request: Received) -> Script:
        told = notification("notifications/progress", {"progressToken": 1, "progress": 1})
        return [up.EVENT_STREAM, up.chunk(up.frame(told)), up.Signal(begun), up.Await(gone)]

    def work(boundary: Opened) -> None:
        body = modern(1, "tools/call", {"name": "slow", "_meta": {"progressToken": 1}})
        headers = modern_headers("tools/call", "slow")
        with EventStream(boundary.port, headers, "POST", body) as stream:
            assert stream.next()["method"] == "notifications/progress"

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        work(boundary)
        assert begun.wait(5)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
        gone.set()
    assert isinstance(lane.calls[0].outcome, Unanswered)
    with replaying(lane) as boundary:
        work(boundary)
        boundary.lane()
        assert boundary.boundary.divergence is None
        assert boundary.boundary.unconsumed() == ()


def test_settling_waits_for_an_answer_on_its_way_and_no_longer_than_it_may() -> None:
    slow = [up.Pause(0.3), *up.answer(result(2, TOOLS))]
    never = [up.Silence()]
    with (
        FakeUpstream(by_method({"tools/list": slow, "ping": never})) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers = initialize(boundary.port)
        threads = [
            threading.Thread(
                target=send, args=(boundary.port, call(number, method), headers), daemon=True
            )
            for number, method in ((2, "tools/list"), (3, "ping"))
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        began = time.monotonic()
        boundary.portal.call(boundary.transport.settle, 1.0)
        assert time.monotonic() - began < 4
        calls = boundary.boundary.lane().calls
    outcomes = {one.method: type(one.outcome).__name__ for one in calls}
    assert outcomes == {"initialize": "Result", "tools/list": "Result", "ping": "Unanswered"}
