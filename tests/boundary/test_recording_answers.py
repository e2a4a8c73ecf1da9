"""Answers that are not what they seem: cut, not understood, told to nobody, or echoing the key."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from openai import OpenAI

from flowproof.boundary.keys import PLACEHOLDER_KEY, credentials, placeholder_for
from flowproof.model.jsonvalue import write
from flowproof.model.turn import Response
from tests.boundary.tools import SECRET, RecordingBoundary, chat_request, raw, recording, send
from tests.support import upstream as up
from tests.support.upstream import Action, FakeUpstream, Script

STREAMING = chat_request(stream=True)
BODY = up.completion("Hello there")
FRAMES = up.frames(BODY)


def unsized(body: bytes, content_type: str = "application/json") -> list[Action]:
    """A body that ends with the connection, as if it were complete."""
    return [up.head(200, [("content-type", content_type)]), up.Send(body), up.Close()]


CUT = [
    pytest.param(unsized(json.dumps(BODY).encode()[:-9]), id="cut"),
    pytest.param(unsized(b'{"id": NaN}'), id="NaN"),
    pytest.param(unsized(b'{"id": "\xff"}'), id="not UTF-8"),
    pytest.param(unsized(b"[" * 500 + b"]" * 500), id="too deep"),
    pytest.param(unsized(b""), id="empty"),
    pytest.param(up.plain(b"oops"), id="of known length"),
    pytest.param(up.plain(b"<busy>", 503), id="an error"),
    pytest.param(unsized(b"{", "application/problem+json; charset=utf-8"), id="+json"),
]


@pytest.mark.parametrize("script", CUT)
def test_json_that_is_none_is_passed_on_and_no_answer(script: Script) -> None:
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, chat_request())
        recorded = boundary.finish()
    sent = [action.data for action in script if isinstance(action, up.Send)]
    assert answer.body == sent[-1]
    assert recorded.turns == ()
    (problem,) = recorded.problems
    assert "json" in problem
    assert "is no JSON" in problem


@pytest.mark.parametrize("script", CUT)
def test_json_that_is_none_and_was_asked_for_again_is_left_out(script: Script) -> None:
    respond = up.scripted(script, up.answer(BODY))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        for _ in range(2):
            send(boundary.port, chat_request())
        recorded = boundary.finish()
    assert (len(recorded.turns), recorded.retries_dropped, recorded.problems) == (1, 1, ())


def test_an_error_without_a_body_is_a_turn() -> None:
    with (
        FakeUpstream(up.scripted(up.plain(b"", 401))) as upstream,
        recording(upstream.url) as boundary,
    ):
        send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert (turn.response.status, turn.response.text) == (401, "")


def recorded_stream(frames: Sequence[bytes], request: Any = STREAMING) -> Any:
    script = up.stream(frames)
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        assert send(boundary.port, request).status == 200
        return boundary.finish()


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        pytest.param([*FRAMES[:2], b"data: {oops\n\n", *FRAMES[2:]], "{oops", id="cut JSON"),
        pytest.param([*FRAMES[:2], b"data: {oops\n\n"], "{oops", id="and no end"),
        pytest.param([*FRAMES, b"data: {oops"], None, id="after the end"),
        pytest.param([*FRAMES[:-1], b"data: {oops"], "{oops", id="in place of DONE"),
        pytest.param([b"data: a\x1b[2J" + b"b" * 900 + b"\n\n", *FRAMES], "a\\u001b[2J", id="odd"),
        pytest.param(FRAMES, None, id="all JSON"),
        pytest.param([*FRAMES[:2], b": keep-alive\n\n", *FRAMES[2:]], None, id="a comment"),
    ],
)
def test_a_stream_with_data_that_is_no_json_fails_the_recording(
    frames: Sequence[bytes], says: str | None
) -> None:
    recorded = recorded_stream(frames)
    if says is None:
        assert (len(recorded.turns), recorded.problems) == (1, ())
        return
    (problem,) = recorded.problems
    assert "request 1 cannot be recorded: the stream holds what is no JSON: " + says in problem
    assert len(problem) < 500
    assert recorded.turns == ()


def test_a_stream_cut_inside_a_frame_is_a_failure_worth_a_retry() -> None:
    respond = up.scripted(up.stream([*FRAMES[:2], FRAMES[2][:20]]), up.stream(FRAMES))
    with FakeUpstream(respond) as upstream, recording(upstream.url) as boundary:
        for _ in range(2):
            send(boundary.port, STREAMING)
        recorded = boundary.finish()
    assert (len(recorded.turns), recorded.retries_dropped, recorded.problems) == (1, 1, ())


def test_a_stream_that_nobody_asked_for_fails_the_recording() -> None:
    recorded = recorded_stream(FRAMES, chat_request())
    (problem,) = recorded.problems
    assert "a stream of events, and none was asked for" in problem


def abandoned(boundary: RecordingBoundary, request: Any, arrived: threading.Event) -> None:
    """Ask, and hang up before the answer comes."""
    connection = http.client.HTTPConnection("127.0.0.1", boundary.port, timeout=10)
    connection.request("POST", "/v1/chat/completions", json.dumps(request))
    assert arrived.wait(10)
    connection.close()


@pytest.mark.parametrize("again", [True, False], ids=["asked again", "asked for something else"])
@pytest.mark.parametrize("request_body", [chat_request(), STREAMING], ids=["plain", "streaming"])
def test_an_attempt_whose_client_left_is_dropped_if_it_asked_again(
    request_body: dict[str, Any], again: bool
) -> None:
    arrived, go = threading.Event(), threading.Event()
    streams = "stream" in request_body
    whole = up.stream(FRAMES) if streams else up.answer(BODY)
    first: Script = [up.Signal(arrived), up.Await(go), *whole]
    later = request_body if again else request_body | {"seed": 7}
    with (
        FakeUpstream(up.scripted(first, whole)) as upstream,
        recording(upstream.url) as boundary,
    ):
        abandoned(boundary, request_body, arrived)
        go.set()
        assert send(boundary.port, later).status == 200
        recorded = boundary.finish()
    assert (len(recorded.turns), recorded.retries_dropped) == ((1, 1) if again else (2, 0))
    assert recorded.problems == ()


@pytest.mark.parametrize(
    "until",
    [
        pytest.param(2, id="in the middle"),
        pytest.param(len(FRAMES) - 2, id="after it had finished"),
        pytest.param(len(FRAMES), id="after the end"),
    ],
)
def test_a_client_that_closes_a_stream_it_had_begun_to_read_was_answered(until: int) -> None:
    closed = threading.Event()
    script: Script = [
        up.EVENT_STREAM,
        *map(up.chunk, FRAMES[:until]),
        up.Await(closed),
        *map(up.chunk, FRAMES[until:]),
        up.LAST_CHUNK,
    ]
    request = json.dumps(chat_request(stream=True, stream_options={"include_usage": True})).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n"
    with (
        FakeUpstream(up.scripted(script, up.stream(FRAMES))) as upstream,
        recording(upstream.url) as boundary,
    ):
        with raw(boundary.port) as connection:
            connection.sendall(head % len(request) + request)
            heard = b""
            while FRAMES[until - 1] not in heard:
                heard += connection.recv(65536)
        closed.set()
        assert send(boundary.port, json.loads(request)).status == 200
        recorded = boundary.finish()
    assert (len(recorded.turns), recorded.retries_dropped) == (2, 0)


def test_the_official_clients_timeout_and_retry_make_one_turn() -> None:
    slow: Script = [up.Pause(0.8), *up.answer(BODY)]
    with (
        FakeUpstream(up.scripted(slow, up.answer(BODY))) as upstream,
        recording(upstream.url) as boundary,
        OpenAI(base_url=boundary.url, api_key="k", timeout=0.3, max_retries=2) as api,
    ):
        hello: Any = [{"role": "user", "content": "Hi"}]
        answer = api.chat.completions.create(model="m", messages=hello)
        recorded = boundary.finish()
    assert answer.choices[0].message.content == "Hello there"
    assert (len(recorded.turns), recorded.retries_dropped, recorded.problems) == (1, 1, ())


ECHO = f"you sent Bearer {SECRET} and {SECRET}"
COMMENT = f": {ECHO}\n\n".encode()
IN_PIECES = [COMMENT[at : at + 5] for at in range(0, len(COMMENT), 5)]


def all_of(response: Response) -> str:
    return f"{write(response.body)} {response.text} {response.events} {response.content_type}"


@pytest.mark.parametrize(
    ("script", "request_body"),
    [
        pytest.param(up.answer({"error": ECHO}, 401), chat_request(), id="plain"),
        pytest.param(
            up.plain(ECHO.encode() + b"\xff", content_type=f"text/plain; a={SECRET}"),
            chat_request(),
            id="text and its type",
        ),
        pytest.param(up.gzipped({"error": ECHO}), chat_request(), id="compressed"),
        pytest.param(up.stream([up.frame({"error": ECHO})]), STREAMING, id="an error event"),
        pytest.param(
            up.stream([COMMENT, *FRAMES]),
            STREAMING,
            id="a comment",
        ),
        pytest.param(
            up.stream([*IN_PIECES, *FRAMES]),
            STREAMING,
            id="a frame in pieces",
        ),
        pytest.param(
            up.stream([*FRAMES[:-1], f"data: [DONE]\n: {ECHO}\n".encode()]), STREAMING, id="rest"
        ),
        pytest.param(
            up.answer(BODY, headers=[("x-echo", ECHO)]), chat_request(), id="a header value"
        ),
    ],
)
def test_a_key_that_an_upstream_echoes_reaches_nobody(script: Script, request_body: Any) -> None:
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, request_body)
        recorded = boundary.finish()
    assert upstream.received[0].header("authorization") == f"Bearer {SECRET}"
    (turn,) = recorded.turns
    heard = answer.body.decode("utf-8", "replace") + str(dict(answer.headers))
    assert SECRET not in heard + all_of(turn.response)
    assert PLACEHOLDER_KEY in heard
    if "content-length" in answer.headers:
        assert answer.headers["content-length"] == str(len(answer.body))


def test_a_key_in_a_frame_that_is_no_json_is_not_told() -> None:
    frames = [f"data: {SECRET}\n\n".encode(), *FRAMES]
    (problem,) = recorded_stream(frames).problems
    assert SECRET not in problem
    assert PLACEHOLDER_KEY in problem


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        pytest.param("Bearer sk-12345678", "a sk-12345678 b", f"a {PLACEHOLDER_KEY} b", id="bare"),
        pytest.param("Bearer sk-12345678", "Bearer sk-12345678!", f"{PLACEHOLDER_KEY}!", id="all"),
        pytest.param("Bearer sk-1", "sk-1", "sk-1", id="too short to be a key"),
        pytest.param("Bearer sk-12345678", "Bearer sk-1234", "Bearer sk-1234", id="another"),
        pytest.param("Negotiate 123456789", "Negotiate", "Negotiate", id="the scheme is no key"),
        pytest.param("Basic a/b+c/d==", '"a\\/b+c\\/d=="', f'"{PLACEHOLDER_KEY}"', id="slashes"),
        pytest.param('Basic ab"cd"efg', '"ab\\"cd\\"efg"', f'"{PLACEHOLDER_KEY}"', id="quotes"),
    ],
)
def test_what_of_a_credential_is_secret(value: str, text: str, expected: str) -> None:
    assert placeholder_for(credentials(value))(text) == expected


def test_headers_that_cannot_be_sent_on_are_dropped() -> None:
    body = json.dumps(BODY).encode()
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json;\x0b a=\x01b\r\nx-fine: a\tb\r\n"
        b"x-odd: a\x0bb\r\nx-bell: \x07\r\ncontent-length: %d\r\n\r\n" % len(body)
    )
    script: Script = [up.Send(head + body)]
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert answer.status == 200
    assert answer.headers["x-fine"] == "a\tb"
    assert not {"x-odd", "x-bell"} & set(answer.headers)
    assert turn.response.content_type == answer.headers["content-type"] == "application/json; a=b"


@pytest.mark.parametrize("status", [600, 999])
def test_a_status_that_no_answer_has_is_no_answer(status: int) -> None:
    with (
        FakeUpstream(up.scripted(up.answer(BODY, status))) as upstream,
        recording(upstream.url) as boundary,
    ):
        answer = send(boundary.port, chat_request())
        recorded = boundary.finish()
    assert answer.status == 502
    (problem,) = recorded.problems
    assert f"the status {status}, which no answer has" in problem


@pytest.mark.parametrize(("echoes", "problems"), [(True, 1), (False, 0)], ids=["echo", "no echo"])
def test_a_key_that_comes_back_in_pieces_makes_no_recording(echoes: bool, problems: int) -> None:
    pieces = (SECRET[:9], SECRET[9:]) if echoes else ("sk-", "nothing")
    deltas = [{"index": 0, "delta": {"content": piece}} for piece in pieces]
    said = [up.frame({"object": "chat.completion.chunk", "choices": [one]}) for one in deltas]
    script = up.stream([*said, *FRAMES[-3:]])
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url) as boundary,
    ):
        send(boundary.port, chat_request(stream=True))
        recorded = boundary.finish()
    assert len(recorded.problems) == problems
    assert SECRET not in str(recorded)
