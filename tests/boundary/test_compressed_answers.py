"""Compressed upstream answers over real sockets: kept decoded, passed on plain, never unbounded."""

from __future__ import annotations

import http.client
import importlib
import json
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from flowproof.boundary.decoding import decoders
from flowproof.boundary.endpoint import Endpoint, Limits
from flowproof.boundary.upstream import NoAnswer, open_upstream
from flowproof.dialects.interface import Target
from tests.boundary.test_decoding import CODINGS, Compress, importer
from tests.boundary.tools import chat_request, recording, replaying, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script

BODY = up.completion("Hello there")
STREAMING = chat_request(stream=True)
DATA = json.dumps(BODY).encode()


def compressed(data: bytes, coding: str, compress: Compress) -> Script:
    return up.plain(compress(data), headers=[("content-encoding", coding)])


def streamed(packed: bytes, coding: str, size: int = 23) -> Script:
    """A compressed event stream, cut anywhere."""
    head = up.head(
        200,
        [
            ("content-type", "text/event-stream"),
            ("transfer-encoding", "chunked"),
            ("content-encoding", coding),
        ],
    )
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    return [head, *map(up.chunk, pieces), up.LAST_CHUNK]


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
def test_a_plain_answer(coding: str, compress: Compress) -> None:
    # Also where it was not asked for: `send` accepts no coding.
    with (
        FakeUpstream(up.scripted(compressed(DATA, coding, compress))) as upstream,
        recording(upstream.url) as boundary,
    ):
        answer = send(boundary.port, chat_request())
        (turn,) = boundary.finish().turns
    assert upstream.received[0].header("accept-encoding") == "identity"
    assert answer.json() == turn.response.body == BODY
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-length"] == str(len(answer.body))
    with replaying([turn]) as replay:
        again = send(replay.port, chat_request(), headers={"accept-encoding": coding})
    assert again.json() == BODY
    assert "content-encoding" not in again.headers


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
def test_a_stream(coding: str, compress: Compress) -> None:
    frames = up.frames(BODY)
    script = streamed(compress(b"".join(frames)), coding)
    asks = chat_request(stream=True, stream_options={"include_usage": True})
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, asks)
        (turn,) = boundary.finish().turns
    assert answer.body == b"".join(frames)
    assert "content-encoding" not in answer.headers
    assert turn.response.body == BODY


@pytest.mark.parametrize("accepted", ["gzip, deflate, br, zstd", "gzip", "zstd, br"])
def test_what_the_client_accepts_is_asked_for(accepted: str) -> None:
    with FakeUpstream(up.chat(BODY)) as upstream, recording(upstream.url) as boundary:
        send(boundary.port, chat_request(), headers={"Accept-Encoding": accepted})
    assert upstream.received[0].header("accept-encoding") == accepted


def test_frames_of_a_compressed_stream_arrive_before_it_ends() -> None:
    frames, seen = up.frames(BODY), threading.Event()
    packer = zlib.compressobj(wbits=31)

    def packed() -> Iterator[bytes]:
        for one in frames:
            yield packer.compress(one) + packer.flush(zlib.Z_SYNC_FLUSH)
        yield packer.flush()

    chunks = list(packed())
    head, *_ = streamed(b"", "gzip")
    rest = [*map(up.chunk, chunks[2:]), up.LAST_CHUNK]
    script: Script = [head, *map(up.chunk, chunks[:2]), up.Await(seen), *rest]
    asks = chat_request(stream=True, stream_options={"include_usage": True})
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        connection = http.client.HTTPConnection("127.0.0.1", boundary.port, timeout=10)
        connection.request("POST", "/v1/chat/completions", json.dumps(asks))
        response = connection.getresponse()
        first = frames[0] + frames[1]
        assert response.read(len(first)) == first
        seen.set()
        assert response.read() == b"".join(frames[2:])
        connection.close()


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
@pytest.mark.parametrize("asks", [chat_request(), STREAMING], ids=["plain", "streaming"])
def test_a_bomb_is_no_answer(coding: str, compress: Compress, asks: Any) -> None:
    comment = b": " + b"x" * 9_996 + b"\n\n"
    bomb = compress(comment * 300)
    streams = asks is STREAMING
    script = streamed(bomb, coding, 4096) if streams else compressed(b"", coding, lambda _: bomb)
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url, limits=Limits(max_body=1_000_000)) as boundary,
    ):
        try:
            send(boundary.port, asks)
        except http.client.IncompleteRead:
            assert streams
        (problem,) = boundary.finish().problems
    assert "larger than 1000000 bytes" in problem


def test_one_that_never_decodes_to_anything_is_bounded_too() -> None:
    # Empty blocks of a deflate stream: five bytes each, and nothing in them.
    endless = b"\x78\x9c" + b"\x00\x00\x00\xff\xff" * 100_000
    script = up.plain(endless, headers=[("content-encoding", "deflate")])
    with (
        FakeUpstream(up.scripted(script)) as upstream,
        recording(upstream.url, limits=Limits(max_body=100_000)) as boundary,
    ):
        assert send(boundary.port, chat_request()).status == 502
        (problem,) = boundary.finish().problems
    assert "larger than" in problem


@pytest.mark.parametrize(("coding", "compress"), CODINGS)
@pytest.mark.parametrize("asks", [chat_request(), STREAMING], ids=["plain", "streaming"])
def test_one_whose_end_is_missing_is_no_answer(coding: str, compress: Compress, asks: Any) -> None:
    data = b"".join(up.frames(BODY)) if asks is STREAMING else DATA
    cut = compress(data)[:-1]
    script = streamed(cut, coding) if asks is STREAMING else compressed(b"", coding, lambda _: cut)
    with FakeUpstream(up.scripted(script)) as upstream, recording(upstream.url) as boundary:
        try:
            send(boundary.port, asks)
        except http.client.IncompleteRead:
            assert asks is STREAMING
        recorded = boundary.finish()
    assert recorded.turns == ()
    assert "broke off" in recorded.problems[0]


@pytest.mark.parametrize(
    ("coding", "says"),
    [
        pytest.param("gzip", "cannot be decoded as gzip", id="not in that coding"),
        pytest.param("snappy", "`snappy`, which was not asked for", id="one that nobody knows"),
        pytest.param("gzip, br", "`gzip, br`, which was not asked for", id="one upon another"),
        pytest.param("a\u200bb" * 90, "which was not asked for", id="an odd one"),
    ],
)
def test_what_cannot_be_decoded_is_named(coding: str, says: str) -> None:
    body = up.plain(DATA, headers=[("content-encoding", coding.encode().decode("latin-1"))])
    with FakeUpstream(up.scripted(body)) as upstream, recording(upstream.url) as boundary:
        answer = send(boundary.port, chat_request())
        (problem,) = boundary.finish().problems
    assert answer.status == 502
    assert says in problem
    assert upstream.url in problem
    assert len(problem) < 400


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_a_decoder_that_is_not_installed_is_named_with_its_extra(coding: str) -> None:
    known = decoders(importer("brotli", "brotlicffi", "backports", "compression"))
    script = up.plain(DATA, headers=[("content-encoding", coding)])

    async def ask(url: str) -> None:
        endpoints = {"openai": Endpoint(url, {})}
        async with open_upstream(endpoints, Limits(), known=known) as client:
            sent = [("accept-encoding", "gzip, br, zstd")]
            async with client.send("openai", "POST", Target("/x"), sent, b"{}") as answer:
                await answer.body()

    with FakeUpstream(up.scripted(script)) as upstream:
        with pytest.raises(NoAnswer, match="flowproof-py\\[compression\\]") as caught:
            anyio.run(ask, upstream.url)
        assert upstream.received[0].header("accept-encoding") == "gzip"
    assert f"content-encoding {coding}," in str(caught.value)


def test_what_an_installation_decodes_is_what_its_extra_installs() -> None:
    importlib.import_module("brotli")
    assert {"br", "zstd"} <= set(decoders())
