"""The HTTP/1.1 server, spoken to by bare sockets."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import socket
import struct
import threading
import zlib

import anyio
import pytest

from flowproof.boundary.http1 import Handler, Reply, Request, serve
from flowproof.boundary.loopback import bind_loopback
from flowproof.errors import PortTaken
from tests.boundary.tools import raw, read_all, send, serving

GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
GET_AND_CLOSE = b"GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
TEXT = [("content-type", "text/plain")]


async def echo(request: Request, reply: Reply) -> None:
    """Tells what arrived; a fault as its status."""
    if request.fault is not None:
        await reply.send(request.fault.status, TEXT, request.fault.message.encode())
        return
    told = f"{request.method} {request.path} {request.query} ".encode()
    await reply.send(200, TEXT, told + request.body)


def post(body: bytes, *headers: str, target: str = "/p?q=1") -> bytes:
    lines = [f"POST {target} HTTP/1.1", "host: a", "connection: close", *headers]
    if not any("transfer-encoding" in header for header in headers):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def exchange(data: bytes, max_body: int = 1000) -> bytes:
    with serving(echo, max_body) as port, raw(port) as connection:
        connection.sendall(data)
        return read_all(connection)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        pytest.param(post(b"hello"), b"POST /p q=1 hello", id="plain"),
        pytest.param(
            post(b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "transfer-encoding: chunked"),
            b"POST /p q=1 hello",
            id="chunked",
        ),
        pytest.param(
            post(gzip.compress(b"hello"), "content-encoding: gzip"),
            b"POST /p q=1 hello",
            id="gzip",
        ),
        pytest.param(
            post(gzip.compress(b"hel") + gzip.compress(b"lo"), "content-encoding: gzip"),
            b"POST /p q=1 hello",
            id="gzip of two members",
        ),
        pytest.param(
            post(zlib.compress(b"hello"), "content-encoding: deflate"),
            b"POST /p q=1 hello",
            id="deflate",
        ),
        pytest.param(
            post(b"hello", "content-encoding: identity"), b"POST /p q=1 hello", id="identity"
        ),
        pytest.param(post(b"x" * 1000), b"POST /p q=1 " + b"x" * 1000, id="exactly the bound"),
        pytest.param(
            post(b"", target="http://proxy.example:80/v1/a?b=c"), b"POST /v1/a b=c ", id="absolute"
        ),
        pytest.param(post(b"", target="//v1/a"), b"POST //v1/a  ", id="two slashes"),
        pytest.param(post(b"", target="/a#b?c"), b"POST /a  ", id="fragment"),
        pytest.param(b"GET /old HTTP/1.0\r\n\r\n", b"GET /old  ", id="HTTP/1.0"),
    ],
)
def test_a_request_arrives_whole(sent: bytes, shown: bytes) -> None:
    answer = exchange(sent)
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\n" + shown)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(post(b"x" * 1001), 413, id="too large"),
        pytest.param(
            post(b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n", "transfer-encoding: chunked"),
            413,
            id="too large in chunks",
        ),
        pytest.param(
            post(gzip.compress(b"\0" * 100_000), "content-encoding: gzip"), 413, id="bomb"
        ),
        pytest.param(
            post(zlib.compress(b"\0" * 100_000), "content-encoding: deflate"),
            413,
            id="deflate bomb",
        ),
        pytest.param(
            post(gzip.compress(b"x" * 900) * 2, "content-encoding: gzip"), 413, id="two members"
        ),
        pytest.param(post(b"not gzip", "content-encoding: gzip"), 400, id="corrupt gzip"),
        pytest.param(
            post(gzip.compress(b"hello")[:-4], "content-encoding: gzip"), 400, id="short gzip"
        ),
        pytest.param(
            post(gzip.compress(b"a") + b"junk", "content-encoding: gzip"), 400, id="junk after gzip"
        ),
        pytest.param(post(b"?", "content-encoding: br"), 415, id="brotli"),
        pytest.param(
            post(b"?", "content-encoding: gzip", "content-encoding: gzip"), 415, id="gzip twice"
        ),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, id="TLS hello"),
        pytest.param(b"\r\n\x00\xff garbage \r\n\r\n", 400, id="garbage"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(b"GET http://[::1 HTTP/1.1\r\nhost: a\r\n\r\n", 400, id="malformed target"),
        pytest.param(b"GET /\xc3\xa9 HTTP/1.1\r\nhost: a\r\n\r\n", 400, id="raw UTF-8 target"),
        pytest.param(
            b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"y" * 300_000 + b"\r\n\r\n",
            431,
            id="giant header",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nhost: a\r\n" + b"x: y\r\n" * 30_000 + b"\r\n",
            431,
            id="many headers",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n",
            400,
            id="length of 5000 digits",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
            400,
            id="two lengths",
        ),
        pytest.param(
            post(b"zz\r\nhello\r\n0\r\n\r\n", "transfer-encoding: chunked"), 400, id="bad chunk"
        ),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(sent: bytes, code: int) -> None:
    answer = exchange(sent)
    assert status(answer) == code
    assert len(answer.partition(b"\r\n\r\n")[2]) > 0


def test_a_client_still_sending_a_body_over_the_bound_gets_its_answer() -> None:
    with serving(echo, 1000) as port:
        answer = send(port, b"x" * 20_000_000)
    assert answer.status == 413


def test_connections_are_kept_alive_and_requests_may_be_pipelined() -> None:
    with serving(echo) as port, raw(port) as connection:
        connection.sendall(GET)
        assert status(connection.recv(65536)) == 200
        connection.sendall(GET * 3 + GET_AND_CLOSE)
        answers = read_all(connection)
    assert answers.count(b"HTTP/1.1 200") == 4
    assert answers.endswith(b"GET /last  ")


def test_a_waiting_client_is_told_to_continue() -> None:
    with serving(echo, 1000) as port, raw(port) as connection:
        connection.sendall(post(b"", "expect: 100-continue", "transfer-encoding: chunked"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"5\r\nhello\r\n0\r\n\r\n")
        assert read_all(connection).endswith(b"hello")


def test_a_waiting_client_with_too_much_is_not_told_to_continue() -> None:
    with serving(echo, 1000) as port, raw(port) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1001\r\n\r\n"
        )
        assert status(connection.recv(65536)) == 413


def test_a_client_that_only_closed_its_sending_side_is_answered() -> None:
    with serving(echo) as port, raw(port) as connection:
        connection.sendall(GET)
        connection.shutdown(socket.SHUT_WR)
        assert status(read_all(connection)) == 200


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HT", id="half a line"),
        pytest.param(post(b"hello")[:-2], id="half a body"),
        pytest.param(post(b"5\r\nhel", "transfer-encoding: chunked"), id="half a chunk"),
    ],
)
def test_a_client_that_leaves_early_disturbs_nobody(sent: bytes) -> None:
    with serving(echo) as port:
        with raw(port) as connection:
            connection.sendall(sent)
        with raw(port) as connection:
            connection.sendall(sent)
            reset(connection)
        assert send(port, b"after").status == 200


def reset(connection: socket.socket) -> None:
    """Make closing this connection break it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_a_handler_goes_on_after_its_client_has_left() -> None:
    begun, left, seen = threading.Event(), threading.Event(), threading.Event()

    async def handler(request: Request, reply: Reply) -> None:
        await reply.start(200, TEXT)
        await reply.chunk(b"first")
        begun.set()
        await anyio.to_thread.run_sync(left.wait)
        while not reply.gone:
            await reply.chunk(b"more" * 1000)
        await reply.chunk(b"and more")
        await reply.end()
        seen.set()

    with serving(handler) as port:
        with raw(port) as connection:
            connection.sendall(GET)
            assert begun.wait(10)
            reset(connection)
        left.set()
        assert seen.wait(10)


async def fail_at_once(request: Request, reply: Reply) -> None:
    if request.path == "/bad":
        raise KeyError("boom")
    await echo(request, reply)


async def fail_in_the_middle(request: Request, reply: Reply) -> None:
    if request.path != "/bad":
        await echo(request, reply)
        return
    await reply.start(200, TEXT)
    await reply.chunk(b"part")
    raise KeyError("boom")


async def forget_to_answer(request: Request, reply: Reply) -> None:
    if request.path != "/bad":
        await echo(request, reply)


async def send_a_bad_header(request: Request, reply: Reply) -> None:
    headers = [("x", "a\r\nb: c")] if request.path == "/bad" else []
    await reply.send(200, headers, b"")


@pytest.mark.parametrize(
    "handler", [fail_at_once, forget_to_answer, send_a_bad_header], ids=lambda h: h.__name__
)
def test_a_handler_that_fails_answers_500_and_surfaces_at_the_end(
    handler: Handler,
) -> None:
    with pytest.raises(ExceptionGroup) as caught, serving(handler) as port:
        with raw(port) as other:
            other.sendall(GET)
            assert status(other.recv(65536)) == 200
            failed = send(port, b"", path="/bad")
            other.sendall(GET)
            assert status(other.recv(65536)) == 200
        assert send(port, b"").status == 200
    assert failed.status == 500
    assert failed.headers["x-should-retry"] == "false"
    assert "boom" not in failed.body.decode()
    assert caught.group_contains(Exception, match=r"boom|answered|[Ii]llegal")


def test_a_handler_that_fails_in_the_middle_breaks_that_answer_off() -> None:
    with pytest.raises(ExceptionGroup), serving(fail_in_the_middle) as port:
        with pytest.raises(http.client.IncompleteRead):
            send(port, b"", path="/bad")
        assert send(port, b"").status == 200


def test_a_cut_answer_has_no_end() -> None:
    async def handler(request: Request, reply: Reply) -> None:
        await reply.start(200, TEXT)
        await reply.chunk(b"part")
        await reply.cut()

    with serving(handler) as port, raw(port) as connection:
        connection.sendall(GET)
        answer = read_all(connection)
    assert answer.endswith(b"part\r\n")


@pytest.mark.parametrize("method", ["HEAD", "GET", "OPTIONS", "CONNECT"])
def test_every_method_may_be_answered_with_an_error_body(method: str) -> None:
    async def handler(request: Request, reply: Reply) -> None:
        await reply.send(404, TEXT, b"no such thing")

    target = "a:1" if method == "CONNECT" else "/"
    with serving(handler) as port, raw(port) as connection:
        line = f"{method} {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
        connection.sendall(line.encode())
        answer = read_all(connection)
    assert status(answer) == 404
    assert (b"no such thing" in answer) is (method != "HEAD")


@pytest.mark.parametrize("code", [204, 304])
def test_a_status_without_body_is_sent_without_one(code: int) -> None:
    async def handler(request: Request, reply: Reply) -> None:
        await reply.send(code, [], b"no place for this")

    with serving(handler) as port, raw(port) as connection:
        connection.sendall(GET + GET_AND_CLOSE)
        answers = read_all(connection)
    assert answers.count(f"HTTP/1.1 {code}".encode()) == 2
    assert b"place" not in answers


def test_header_values_that_are_not_ascii_come_and_go_unchanged() -> None:
    async def handler(request: Request, reply: Reply) -> None:
        values = dict(request.headers)
        await reply.send(200, [("x-back", values["x-odd"])], values["x-utf8"].encode())

    with serving(handler) as port, raw(port) as connection:
        connection.sendall(
            b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
            b"x-utf8: caf\xc3\xa9\r\nx-odd: \xff\xfe\r\n\r\n"
        )
        answer = read_all(connection)
    assert b"x-back: \xff\xfe\r\n" in answer
    assert answer.endswith("café".encode())


def test_a_slow_reader_gets_a_large_answer_whole() -> None:
    async def handler(request: Request, reply: Reply) -> None:
        await reply.send(200, TEXT, b"x" * 5_000_000)

    with serving(handler) as port, raw(port) as connection:
        connection.sendall(GET_AND_CLOSE)
        threading.Event().wait(0.2)
        answer = read_all(connection)
    assert len(answer.partition(b"\r\n\r\n")[2]) == 5_000_000


def test_200_connections_at_once() -> None:
    arrived = 0
    all_here = anyio.Event()

    async def handler(request: Request, reply: Reply) -> None:
        nonlocal arrived
        arrived += 1
        if arrived == 200:
            all_here.set()
        await all_here.wait()
        await echo(request, reply)

    async def client(port: int, answers: list[bytes]) -> None:
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(GET)
            answers.append(await stream.receive())

    async def main() -> list[bytes]:
        listener, answers = bind_loopback(), list[bytes]()
        port = listener.getsockname()[1]
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: serve(listener, handler, max_body=1000, failures=[]))
                async with anyio.create_task_group() as clients:
                    for _ in range(200):
                        clients.start_soon(client, port, answers)
                group.cancel_scope.cancel()
        return answers

    answers = anyio.run(main)
    assert [status(answer) for answer in answers] == [200] * 200


def test_cancelling_closes_every_connection() -> None:
    entered = threading.Event()

    async def handler(request: Request, reply: Reply) -> None:
        await reply.start(200, TEXT)
        entered.set()
        await anyio.sleep_forever()

    with contextlib.ExitStack() as stack:
        with serving(handler) as port:
            busy, idle = (stack.enter_context(raw(port)) for _ in range(2))
            busy.sendall(GET)
            assert entered.wait(10)
        assert read_all(busy).endswith(b"\r\n\r\n")
        assert read_all(idle) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_port_in_use_is_named() -> None:
    with bind_loopback() as first:
        port = first.getsockname()[1]
        with pytest.raises(PortTaken, match=f"127.0.0.1:{port}"):
            bind_loopback(port)
    with bind_loopback(port) as again:
        assert again.getsockname()[1] == port
