"""What arrives and is no request: it fails the flow, in both phases, and says what it was."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest

from flowproof.boundary.connections import hung_up
from flowproof.model.outcome import Divergence
from tests.boundary.tools import chat_request, raw, read_all, recording, replaying, send, turn
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream

CHAT = b"POST /v1/chat/completions HTTP/1.1\r\n"
RECEIVED = "flowproof's proxy received "
GUILTY = [
    pytest.param(
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "a TLS handshake (is the base URL https?)",
        id="TLS",
    ),
    pytest.param(
        CHAT + b"content-length: 2\r\n\r\n{}",
        "what is not HTTP/1.1: Missing mandatory Host: header",
        id="no host",
    ),
    pytest.param(
        CHAT + b"host: a\r\nx: " + b"y" * 300_000 + b"\r\n\r\n",
        "what is not HTTP/1.1: Receive buffer too long",
        id="giant head",
    ),
    pytest.param(
        CHAT + b"host: a\r\ncontent-length: many\r\n\r\n",
        "what is not HTTP/1.1: bad Content-Length",
        id="bad length",
    ),
    pytest.param(
        CHAT + b"host: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        "what is not HTTP/1.1: Only Transfer-Encoding: chunked is supported",
        id="gzip, chunked",
    ),
    pytest.param(
        CHAT + b"host: a\r\nauthorization\x01 Bearer k\r\n\r\n",
        "what is not HTTP/1.1: illegal header line",
        id="no header, and no part of it shown",
    ),
    pytest.param(
        CHAT + b"host: a\r\ncontent-length: 500\r\n\r\n{",
        "a request to /v1/chat/completions that broke off in its body",
        id="half a body",
    ),
    pytest.param(
        CHAT + b"host: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
        "a request to /v1/chat/completions that broke off in its body",
        id="half a chunk",
    ),
    pytest.param(
        CHAT + b"host: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{",
        "a request to /v1/chat/completions whose body is not HTTP/1.1: illegal chunk header",
        id="no chunk",
    ),
    pytest.param(CHAT + b"ho", "a request that broke off in its head", id="half a head"),
    pytest.param(
        b"GET http://[::1 HTTP/1.1\r\nhost: a\r\n\r\n",
        "a request whose target is not a URL path",
        id="target",
    ),
]


def deliver(port: int, data: bytes) -> None:
    """Send these bytes and nothing more, and wait until the server has done with them."""
    with raw(port) as connection, contextlib.suppress(OSError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)


@contextlib.contextmanager
def replay() -> Iterator[tuple[int, Callable[[], Divergence | None]]]:
    with replaying([turn(chat_request())]) as boundary:
        yield boundary.port, lambda: boundary.cassette.divergence


@contextlib.contextmanager
def record() -> Iterator[tuple[int, Callable[[], Divergence | None]]]:
    with (
        FakeUpstream(up.chat(up.completion())) as upstream,
        recording(upstream.url) as boundary,
    ):
        yield boundary.port, lambda: boundary.proxy.rejected


PHASES = pytest.mark.parametrize("phase", [record, replay], ids=["record", "replay"])


@PHASES
@pytest.mark.parametrize(("sent", "says"), GUILTY)
def test_what_is_no_request_fails_the_flow(
    phase: Callable[[], contextlib.AbstractContextManager[tuple[int, Callable[[], object]]]],
    sent: bytes,
    says: str,
) -> None:
    with phase() as (port, found):
        deliver(port, sent)
        divergence = found()
    assert isinstance(divergence, Divergence)
    assert (divergence.kind, divergence.request) == ("request", 1)
    assert divergence.message == RECEIVED + says


@PHASES
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /v1/files HTTP/1.0\r\n\r\n", id="an unserved request"),
        pytest.param(
            b"POST /telemetry HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{",
            id="half a request that nobody serves",
        ),
    ],
)
def test_what_does_not_concern_the_model_is_no_failure(
    phase: Callable[[], contextlib.AbstractContextManager[tuple[int, Callable[[], object]]]],
    sent: bytes,
) -> None:
    with phase() as (port, found):
        deliver(port, sent)
        assert send(port, chat_request()).status == 200
        assert found() is None


def test_the_path_of_a_broken_request_is_bounded_and_printable() -> None:
    target = b"/" + b"\\u0041" * 200 + b"/chat/completions"
    with replaying([]) as boundary:
        deliver(boundary.port, b"POST %s HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n" % target)
        divergence = boundary.cassette.divergence
    assert divergence is not None
    assert len(divergence.message) < 600
    assert divergence.message.isprintable()


def test_a_client_that_has_hung_up_is_known_before_anything_is_written_to_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        with server:
            assert not hung_up(server.fileno())
            client.sendall(b"x")
            server.recv(1, socket.MSG_PEEK)
            assert not hung_up(server.fileno())
            assert server.recv(9) == b"x"
            client.close()
            assert server.recv(9) == b""
            assert hung_up(server.fileno())
