"""The heads of answers as bytes: for old clients, for HEAD, and the same in every run."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.boundary.tools import chat_request, raw, read_all, recording, replaying, send, turn
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

BODY = up.completion("Hello there")
FRAMES = b"".join(up.frames(BODY))
FRAMING = {"transfer-encoding", "content-length", "content-encoding"}


def compressed_stream() -> Script:
    packed = gzip.compress(FRAMES)
    head = up.head(
        200,
        [
            ("content-type", "text/event-stream"),
            ("content-encoding", "gzip"),
            ("content-length", str(len(packed))),
        ],
    )
    return [head, up.Send(packed)]


def asked(port: int, body: Any, version: str) -> tuple[dict[str, str], bytes]:
    """Headers and raw body of one answer, read until the connection ends."""
    data = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/{version}\r\nhost: a\r\nconnection: close\r\n"
        f"content-length: {len(data)}\r\n\r\n"
    )
    with raw(port) as connection:
        connection.sendall(head.encode() + data)
        top, _, rest = read_all(connection).partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in top.decode().split("\r\n")[1:]]
    assert len({name.lower() for name, _, _ in lines}) == len(lines)
    return {name.lower(): value for name, _, value in lines}, rest


def test_a_stream_for_a_client_of_http_1_0_ends_with_its_connection() -> None:
    request = chat_request(stream=True, stream_options={"include_usage": True})
    with (
        FakeUpstream(up.scripted(compressed_stream())) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers, body = asked(boundary.port, request, "1.0")
        recorded = boundary.finish()
    assert body == FRAMES
    assert not FRAMING & headers.keys()
    with replaying(recorded.turns) as replay:
        headers, body = asked(replay.port, request, "1.0")
    assert body.startswith(b"data: {") and body.endswith(b"data: [DONE]\n\n")
    assert not FRAMING & headers.keys()


def test_a_stream_for_others_is_chunked_and_nothing_else() -> None:
    request = chat_request(stream=True, stream_options={"include_usage": True})
    with (
        FakeUpstream(up.scripted(compressed_stream())) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers, body = asked(boundary.port, request, "1.1")
    assert FRAMING & headers.keys() == {"transfer-encoding"}
    assert body.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_whole_answer_has_its_length_alone(version: str) -> None:
    with (
        FakeUpstream(up.scripted(up.gzipped(BODY))) as upstream,
        recording(upstream.url) as boundary,
    ):
        headers, body = asked(boundary.port, chat_request(), version)
    assert FRAMING & headers.keys() == {"content-length"}
    assert headers["content-length"] == str(len(body))
    assert json.loads(body) == BODY


@pytest.mark.parametrize("path", ["/", "/api/hello", "/v1/models", "/v1/chat/completions"])
def test_head_is_told_a_length_and_no_body(path: str) -> None:
    with FakeUpstream(up.scripted()) as upstream, recording(upstream.url) as boundary:
        first = send(boundary.port, b"", path=path, method="HEAD")
        assert upstream.received == []
    with replaying([turn(chat_request())]) as replay:
        second = send(replay.port, b"", path=path, method="HEAD")
    assert first == second
    assert first.body == b""
    assert int(first.headers["content-length"]) > 0
    assert first.status == (200 if path in ("/", "/api/hello") else 404)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "as a stream"])
def test_every_replay_is_told_the_same(stream: bool) -> None:
    turns = [
        turn(chat_request(), {"error": {"message": "later"}}, 429),
        turn(chat_request(), BODY),
        turn(chat_request("Bye"), {"error": {"message": "no"}}, 500),
    ]
    told = []
    for _ in range(2):
        with replaying(turns) as boundary:
            told.append(
                [
                    send(boundary.port, chat_request(content, stream=stream))
                    for content in ("Hi", "Hi", "Bye", "?")
                ]
            )
    assert told[0] == told[1]
    assert [answer.status for answer in told[0]] == [429, 200, 500, 400]
