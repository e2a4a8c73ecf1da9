"""Sessions, their stream, and clients without: recorded from a scripted server, then replayed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from flowproof.model.mcp import Lane, Result
from tests.boundary.mcp.http_scripts import (
    SESSION,
    By,
    Json,
    begun,
    by_method,
    events,
    notification,
    result,
)
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
from tests.support.upstream import FakeUpstream, Received, Script

TOOLS: Json = {"tools": []}
CHANGED = notification("notifications/tools/list_changed")


def listing(request: Received) -> Script:
    return up.answer(result(request.json()["id"], TOOLS))


def echo(request: Received) -> Script:
    message = request.json()
    return up.answer(result(message["id"], {"said": message["params"]["arguments"]}))


def recorded(scripts: By, work: Any) -> Lane:
    """The lane of what `work` does with a port."""
    with FakeUpstream(by_method(scripts)) as upstream, recording(upstream.url) as boundary:
        work(boundary)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
        assert boundary.transport.troubles == ()
        return lane


def replayed(lane: Lane, work: Any) -> None:
    with replaying(lane) as boundary:
        work(boundary)
        boundary.lane()
        assert boundary.boundary.divergence is None
        assert boundary.boundary.unconsumed() == ()


def listed(boundary: Opened) -> None:
    headers = initialize(boundary.port)
    answer = send(boundary.port, call(2, "tools/list"), headers)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == result(2, TOOLS)


def test_the_session_of_a_recording_is_that_of_the_server_and_of_a_replay_a_constant() -> None:
    seen: list[str] = []

    def work(boundary: Opened) -> None:
        seen.append(initialize(boundary.port)["mcp-session-id"])

    replayed(recorded({}, work), work)
    assert seen == [SESSION, "flowproof-replay"]


def test_the_session_and_the_key_reach_the_server_and_nothing_else() -> None:
    key = "sk-4711-very-secret-key"
    with (
        FakeUpstream(by_method({"tools/list": listing})) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers = {**initialize(boundary.port), "authorization": f"Bearer {key}"}
        send(boundary.port, call(2, "tools/list"), headers)
        lane = boundary.lane()
    last = upstream.received[-1]
    assert last.header("authorization") == f"Bearer {key}"
    assert last.header("mcp-session-id") == SESSION
    assert last.header("mcp-protocol-version") == "2025-11-25"
    assert key not in repr(lane) and SESSION not in repr(lane)


def test_a_key_that_the_server_repeats_is_not_kept() -> None:
    key = "sk-4711-very-secret-key"

    def repeats(request: Received) -> Script:
        return up.answer(result(request.json()["id"], {"you sent": request.headers}))

    with (
        FakeUpstream(by_method({"tools/list": repeats})) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers = {**initialize(boundary.port), "authorization": f"Bearer {key}"}
        answer = send(boundary.port, call(2, "tools/list"), headers)
        lane = boundary.lane()
    assert key.encode() not in answer.body
    assert key not in repr(lane) and SESSION not in repr(lane)


@pytest.mark.parametrize("phase", ["record", "replay"])
def test_a_session_must_be_named_and_known(phase: str) -> None:
    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        other = {**headers, "mcp-session-id": "another"}
        for method in ("POST", "GET", "DELETE"):
            body = call(2, "tools/list") if method == "POST" else None
            assert send(boundary.port, body, method=method).status == 400
            assert send(boundary.port, body, other, method=method).status == 404
        assert send(boundary.port, headers=headers, method="DELETE").status == 200
        assert send(boundary.port, call(2, "tools/list"), headers).status == 404

    lane = recorded({"DELETE": up.plain(b"")}, work)
    assert [one.method for one in lane.calls] == ["initialize"]
    if phase == "replay":
        replayed(lane, work)


def test_two_sessions_have_a_connection_each() -> None:
    def work(boundary: Opened) -> None:
        first, second = initialize(boundary.port), initialize(boundary.port)
        for headers, said in ((first, "one"), (second, "two"), (first, "three")):
            params = {"name": "echo", "arguments": {"text": said}}
            answer = send(boundary.port, call(2, "tools/call", params), headers)
            assert answer.json()["result"] == {"said": {"text": said}}

    number = iter(range(9))

    def begin(request: Received) -> Script:
        value = {"protocolVersion": "2025-11-25", "capabilities": {}}
        headers = [("mcp-session-id", f"session-{next(number)}")]
        return up.answer(result(request.json()["id"], value), headers=headers)

    lane = recorded({"initialize": begin, "tools/call": echo}, work)
    assert [one.connection for one in lane.calls] == [1, 2, 1, 2, 1]
    replayed(lane, work)


def test_a_server_without_sessions_gets_none() -> None:
    def begin(request: Received) -> Script:
        return up.answer(result(request.json()["id"], {"protocolVersion": "2025-11-25"}))

    scripts = by_method({"initialize": begin, "tools/list": listing})
    with FakeUpstream(scripts) as upstream, recording(upstream.url) as boundary:
        listed(boundary)
        lane = boundary.lane()
    assert all(one.header("mcp-session-id") is None for one in upstream.received)
    replayed(lane, listed)


def test_notifications_of_a_call_come_over_the_stream_of_the_session() -> None:
    told = notification("notifications/message", {"level": "info", "data": "half"})

    def slow(request: Received) -> Script:
        return events(told, result(request.json()["id"], TOOLS))

    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        with EventStream(boundary.port, headers) as stream:
            assert stream.status == 200
            answer = send(boundary.port, call(2, "tools/list"), headers)
            assert answer.json() == result(2, TOOLS)
            assert stream.next() == told

    never: Script = [up.EVENT_STREAM, up.Silence()]
    lane = recorded({"tools/list": slow, "GET": never}, work)
    assert [one.message["method"] for one in lane.events if one.sender == "server"] == [
        "notifications/message"
    ]
    replayed(lane, work)


def test_what_the_server_says_unasked_is_bridged_and_replayed() -> None:
    asked = threading.Event()

    def listing_then_change(request: Received) -> Script:
        return [up.Signal(asked), *listing(request)]

    push: Script = [up.EVENT_STREAM, up.Await(asked), up.chunk(up.frame(CHANGED)), up.Silence()]

    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        with EventStream(boundary.port, headers) as stream:
            send(boundary.port, call(2, "tools/list"), headers)
            assert stream.next() == CHANGED
            assert send(boundary.port, headers=headers, method="GET").status == 409

    lane = recorded({"tools/list": listing_then_change, "GET": push}, work)
    replayed(lane, work)


def test_an_agent_that_never_opens_the_stream_is_not_kept_waiting() -> None:
    def slow(request: Received) -> Script:
        return events(CHANGED, result(request.json()["id"], TOOLS))

    lane = recorded({"tools/list": slow}, listed)
    replayed(lane, listed)


def test_a_stream_is_taken_up_again_behind_the_last_event() -> None:
    messages = [notification("notifications/message", {"data": one}) for one in "abc"]

    def slow(request: Received) -> Script:
        return events(*messages, result(request.json()["id"], TOOLS))

    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        send(boundary.port, call(2, "tools/list"), headers)
        with EventStream(boundary.port, headers) as stream:
            assert [stream.next() for _ in "ab"] == messages[:2]
            first = stream.last_id
            assert stream.next() == messages[2]
        again = {**headers, "last-event-id": first}
        with EventStream(boundary.port, again) as stream:
            assert stream.next() == messages[2]

    lane = recorded({"tools/list": slow, "GET": [up.EVENT_STREAM, up.Silence()]}, work)
    replayed(lane, work)


def test_a_server_without_a_stream_says_so() -> None:
    refused = up.answer({"error": "no stream"}, 405)

    def work(boundary: Opened) -> None:
        answer = send(boundary.port, headers=initialize(boundary.port), method="GET")
        assert (answer.status, answer.json()) == (405, {"error": "no stream"})

    recorded({"GET": refused}, work)


def test_a_request_of_the_server_comes_in_the_answer_where_there_is_no_other_way() -> None:
    answered = threading.Event()
    question = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}
    roots: Json = {"roots": [{"uri": "file:///a"}]}

    def asking(request: Received) -> Script:
        done = result(request.json()["id"], TOOLS)
        return [
            up.EVENT_STREAM,
            up.chunk(up.frame(question)),
            up.Await(answered),
            up.chunk(up.frame(done)),
            up.LAST_CHUNK,
        ]

    base = by_method({"tools/list": asking})

    def respond(request: Received) -> Script:
        if request.method == "POST" and "result" in request.json():
            answered.set()
        return base(request)

    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        with EventStream(boundary.port, headers, "POST", call(2, "tools/list")) as stream:
            assert stream.next() == question
            told = send(boundary.port, result("q1", roots), headers)
            assert told.status == 202
            assert stream.next() == result(2, TOOLS)
            assert stream.next() is None

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        work(boundary)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    asked = next(one for one in lane.events if one.sender == "server")
    assert asked.answer == Result(roots)
    replayed(lane, work)


def test_an_answer_whose_stream_broke_is_taken_up_again() -> None:
    answered = threading.Event()
    question = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}

    def asking(request: Received) -> Script:
        done = up.chunk(up.frame(result(request.json()["id"], TOOLS)))
        first = up.chunk(up.frame(question))
        return [up.EVENT_STREAM, first, up.Await(answered), done, up.LAST_CHUNK]

    base = by_method({"tools/list": asking})

    def respond(request: Received) -> Script:
        if request.method == "POST" and "result" in request.json():
            answered.set()
        return base(request)

    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        with EventStream(boundary.port, headers, "POST", call(2, "tools/list")) as stream:
            assert stream.next() == question
            last = stream.last_id
        assert send(boundary.port, result("q1", {"roots": []}), headers).status == 202
        again = {**headers, "last-event-id": last}
        with EventStream(boundary.port, again) as stream:
            assert stream.next() == result(2, TOOLS)
            assert stream.next() is None

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        work(boundary)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    replayed(lane, work)


def test_a_request_of_the_server_comes_over_the_stream_if_there_is_one() -> None:
    answered = threading.Event()
    question = {"jsonrpc": "2.0", "id": 0, "method": "roots/list"}

    def asking(request: Received) -> Script:
        done = result(request.json()["id"], TOOLS)
        first, last = up.chunk(up.frame(question)), up.chunk(up.frame(done))
        return [up.EVENT_STREAM, first, up.Await(answered), last, up.LAST_CHUNK]

    base = by_method({"tools/list": asking, "GET": [up.EVENT_STREAM, up.Silence()]})

    def respond(request: Received) -> Script:
        if request.method == "POST" and "result" in request.json():
            answered.set()
        return base(request)

    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        with EventStream(boundary.port, headers) as stream:
            got: list[Any] = []

            def ask() -> None:
                got.append(send(boundary.port, call(2, "tools/list"), headers))

            asking_thread = threading.Thread(target=ask)
            asking_thread.start()
            assert stream.next() == question
            assert send(boundary.port, result(0, {"roots": []}), headers).status == 202
            asking_thread.join()
            assert got[0].headers["content-type"] == "application/json"
            assert got[0].json() == result(2, TOOLS)

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        work(boundary)
        lane = boundary.lane()
        assert boundary.boundary.problems == ()
    replayed(lane, work)


def test_another_answer_to_the_server_diverges() -> None:
    test_roots = {"roots": [{"uri": "file:///a"}]}
    question = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}
    answered = threading.Event()

    def asking(request: Received) -> Script:
        done = up.chunk(up.frame(result(request.json()["id"], TOOLS)))
        first = up.chunk(up.frame(question))
        return [up.EVENT_STREAM, first, up.Await(answered), done, up.LAST_CHUNK]

    base = by_method({"tools/list": asking})

    def respond(request: Received) -> Script:
        if request.method == "POST" and "result" in request.json():
            answered.set()
        return base(request)

    def work(boundary: Opened, roots: Any) -> Any:
        headers = initialize(boundary.port)
        with EventStream(boundary.port, headers, "POST", call(2, "tools/list")) as stream:
            stream.next()
            send(boundary.port, result("q1", roots), headers)
            return stream.next()

    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        work(boundary, test_roots)
        lane = boundary.lane()
    with replaying(lane) as boundary:
        told = work(boundary, {"roots": [{"uri": "file:///b"}]})
        assert "error" in told
        assert boundary.boundary.divergence is not None
        assert "roots/list" in str(boundary.boundary.divergence)


def test_a_client_that_found_no_newer_version_goes_on_in_its_connection() -> None:
    refused = up.answer(
        {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "no"}}, 400
    )

    def work(boundary: Opened) -> None:
        probe = modern(1, "server/discover")
        answer = send(boundary.port, probe, modern_headers("server/discover"))
        assert (answer.status, answer.json()["error"]["message"]) == (400, "no")
        initialize(boundary.port, 2)

    lane = recorded({"server/discover": refused}, work)
    assert [one.connection for one in lane.calls] == [1, 1]
    replayed(lane, work)


def test_clients_without_sessions_are_told_apart_by_their_ids() -> None:
    def say(boundary: Opened, number: int, text: str) -> None:
        params = {"name": "echo", "arguments": {"text": text}}
        headers = modern_headers("tools/call", "echo")
        answer = send(boundary.port, modern(number, "tools/call", params), headers)
        assert answer.json()["result"] == {"said": {"text": text}}

    def work(boundary: Opened) -> None:
        for number, text in ((1, "a1"), (2, "a2"), (1, "b1"), (3, "a3"), (2, "b2")):
            say(boundary, number, text)

    def otherwise(boundary: Opened) -> None:
        for number, text in ((1, "a1"), (2, "a2"), (3, "a3"), (1, "b1"), (2, "b2")):
            say(boundary, number, text)

    lane = recorded({"tools/call": echo}, work)
    assert [one.connection for one in lane.calls] == [1, 1, 2, 1, 2]
    replayed(lane, work)
    replayed(lane, otherwise)


def test_a_client_that_gives_every_request_the_same_id_is_one() -> None:
    def work(boundary: Opened) -> None:
        for text in "abc":
            params = {"name": "echo", "arguments": {"text": text}}
            headers = modern_headers("tools/call", "echo")
            answer = send(boundary.port, modern(1, "tools/call", params), headers)
            assert answer.json()["result"] == {"said": {"text": text}}

    lane = recorded({"tools/call": echo}, work)
    assert [one.connection for one in lane.calls] == [1, 1, 1]
    replayed(lane, work)


def test_a_batch_of_the_version_that_has_them_is_answered_as_one() -> None:
    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port, version="2025-03-26")
        batch = [call(2, "tools/list"), call(3, "tools/list"), CHANGED]
        answer = send(boundary.port, batch, headers)
        assert answer.json() == [result(2, TOOLS), result(3, TOOLS)]

    scripts: By = {"initialize": begun(version="2025-03-26"), "tools/list": listing}
    replayed(recorded(scripts, work), work)


@pytest.mark.parametrize("phase", ["record", "replay"])
def test_a_batch_of_any_other_version_is_a_400(phase: str) -> None:
    def work(boundary: Opened) -> None:
        headers = initialize(boundary.port)
        answer = send(boundary.port, [call(2, "tools/list")], headers)
        assert answer.status == 400
        assert answer.json()["id"] is None
        assert "batch" in answer.json()["error"]["message"]

    lane = recorded({}, lambda boundary: initialize(boundary.port))
    if phase == "record":
        with FakeUpstream(by_method({})) as upstream, recording(upstream.url) as boundary:
            work(boundary)
            assert any("batch" in one for one in boundary.boundary.problems)
    else:
        with replaying(lane) as boundary:
            work(boundary)
            assert boundary.boundary.divergence is not None
