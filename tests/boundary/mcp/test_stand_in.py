"""The stand-in as a process: what an agent starts in place of a stdio MCP server."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowproof.boundary.mcp.link import Link, listening, stranger

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")


@pytest.fixture
def link() -> Iterator[Link]:
    with listening() as made:
        made.listener.settimeout(30)
        yield made


@contextlib.contextmanager
def started(argv: tuple[str, ...]) -> Iterator[subprocess.Popen[bytes]]:
    """A stand-in, started as MCP clients do: with hardly any variable, in a folder of theirs."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env={}, cwd="/")
    with process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def accepted(link: Link) -> Iterator[socket.socket]:
    channel, _ = link.listener.accept()
    with channel:
        channel.settimeout(30)
        yield channel


def read_exactly(channel: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (chunk := channel.recv(1 << 20)):
        data += chunk
    return bytes(data)


def said(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    return process.stderr.read().decode()


def test_bytes_go_both_ways_as_they_come_and_it_ends_when_both_have_closed(link: Link) -> None:
    with started(link.argv) as process, accepted(link) as channel:
        assert process.stdin and process.stdout
        process.stdin.write(b'{"a":1}')
        process.stdin.flush()
        assert channel.recv(100) == b'{"a":1}'
        channel.sendall(b"\xff\x00 half a li")
        assert os.read(process.stdout.fileno(), 100) == b"\xff\x00 half a li"
        process.stdin.close()
        assert channel.recv(100) == b""
        channel.sendall(b"last words\n")
        channel.close()
        assert process.stdout.read() == b"last words\n"
        assert (process.wait(30), said(process)) == (0, "")


def test_messages_of_ten_megabytes_cross_each_other(link: Link) -> None:
    there, back = os.urandom(10 << 20), os.urandom(10 << 20)
    with started(link.argv) as process, accepted(link) as channel:
        assert process.stdin and process.stdout
        # Both sides write before either reads: neither may wait for the other in the middle.
        senders = [
            threading.Thread(target=channel.sendall, args=(back,)),
            threading.Thread(target=process.stdin.write, args=(there,)),
        ]
        for sender in senders:
            sender.start()
        time.sleep(0.2)
        assert read_exactly(channel, len(there)) == there
        assert process.stdout.read(len(back)) == back
        for sender in senders:
            sender.join(30)


def test_a_flow_that_ends_the_connection_first_is_told_of(link: Link) -> None:
    with started(link.argv) as process, accepted(link) as channel:
        channel.sendall(b"half an ans")
        channel.close()
        assert process.stdout is not None
        assert process.stdout.read() == b"half an ans"
        assert (process.wait(30), said(process)) == (
            1,
            "flowproof's MCP stand-in: flowproof has ended this connection\n",
        )


def test_a_flow_that_is_gone_is_told_of_at_once(link: Link) -> None:
    link.listener.close()
    with started(link.argv) as process:
        assert process.wait(30) == 1
        text = said(process)
        assert "flowproof is not there" in text
        assert "good for one run" in text


@pytest.mark.parametrize("arguments", [(), ("a", "b")], ids=["none", "two"])
def test_without_its_address_it_says_what_it_takes(link: Link, arguments: tuple[str, ...]) -> None:
    with started((*link.argv[:-1], *arguments)) as process:
        assert process.wait(30) == 2
        assert "takes one argument" in said(process)


@pytest.mark.parametrize("address", ["\udcff", "x" * 500, ""], ids=["odd", "long", "empty"])
def test_an_address_that_is_none_is_no_traceback(link: Link, address: str) -> None:
    with started((*link.argv[:-1], address)) as process:
        assert process.wait(30) == 1
        assert "Traceback" not in said(process)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_signal_ends_it_quietly(link: Link, number: signal.Signals) -> None:
    with started(link.argv) as process, accepted(link) as channel:
        channel.sendall(b"x")
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"  # it relays, so it is ready for signals
        process.send_signal(number)
        assert (process.wait(30), said(process)) == (-number, "")
        assert channel.recv(100) == b""


def test_an_agent_that_no_longer_reads_ends_it(link: Link) -> None:
    with started(link.argv) as process, accepted(link) as channel:
        assert process.stdout is not None
        process.stdout.close()
        channel.sendall(b"x" * 100_000)
        assert process.wait(30) == 0
        with contextlib.suppress(ConnectionResetError):
            assert channel.recv(100) == b""


def test_the_command_line_has_the_same(link: Link) -> None:
    argv = (sys.executable, "-m", "flowproof", "mcp", "stand-in", link.argv[-1])
    pipe = subprocess.PIPE
    folder = Path(__file__).parents[3]
    with (
        subprocess.Popen(argv, stdin=pipe, stdout=pipe, cwd=folder) as process,
        accepted(link) as channel,
    ):
        assert process.stdin and process.stdout
        process.stdin.write(b"hello\n")
        process.stdin.close()
        assert read_exactly(channel, 100) == b"hello\n"
        channel.sendall(b"bye\n")
        channel.close()
        assert process.stdout.read() == b"bye\n"
        assert process.wait(30) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs abstract addresses")
def test_the_address_is_no_file_and_its_user_is_known(link: Link) -> None:
    address = link.argv[-1]
    assert address.startswith("@flowproof-")
    assert len(address.partition("-")[2]) == 32
    with started(link.argv), accepted(link) as channel:
        assert stranger(channel) is None


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs another user")
def test_another_user_is_a_stranger(link: Link) -> None:
    pid = os.fork()
    if not pid:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as other:
            other.connect("\0" + link.argv[-1][1:])
            other.recv(1)
        os._exit(0)
    with accepted(link) as channel:
        assert stranger(channel) == 65534
    os.waitpid(pid, 0)


def test_what_it_imports_is_next_to_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); "
        "from flowproof.boundary.mcp import stand_in; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    theirs = {name for name in done.stdout.split() if not name.startswith("flowproof")}
    assert theirs <= {"__future__", "_signal", "_socket", "_thread", "os", "stat", "posixpath"} | {
        "_stat", "abc", "_abc", "_collections_abc", "genericpath", "os.path"
    }  # fmt: skip


@pytest.mark.slow
def test_it_adds_less_than_60_ms(link: Link) -> None:
    def used() -> float:
        found = resource.getrusage(resource.RUSAGE_CHILDREN)
        return found.ru_utime + found.ru_stime

    def seconds() -> float:
        """What it takes of a processor: on a busy machine it may have to wait for one."""
        begun = used()
        with started(link.argv) as process, accepted(link) as channel:
            assert process.stdin and process.stdout
            process.stdin.write(b"ping\n")
            process.stdin.flush()
            assert channel.recv(100) == b"ping\n"
            channel.sendall(b"pong\n")
            assert process.stdout.readline() == b"pong\n"
            process.stdin.close()
            assert channel.recv(100) == b""
            channel.close()
            process.wait(30)
        return used() - begun

    assert min(seconds() for _ in range(5)) < 0.06
