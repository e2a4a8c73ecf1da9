"""What `--scheduler` may name, and servers there that are no scheduler."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from flowproof.errors import UsageError, WorldError
from flowproof.suite.engines.cluster import connected, require_address, sweep

Said = Callable[[socket.socket], None]


@contextmanager
def serving(said: Said) -> Iterator[str]:
    """The address of a server that says this to whoever connects."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    kept.append(connection)
                    with suppress(OSError):
                        said(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for one in kept:
                one.close()


def words(data: bytes) -> Said:
    return lambda connection: connection.sendall(data)


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    left = tmp_path / f"flowproof-run-{ended.pid}-abc"
    others = [f"flowproof-run-{os.getpid()}-abc", "flowproof-run-x-abc", f"flowproof-{ended.pid}-a"]
    for folder in (left, *(tmp_path / name for name in others)):
        (folder / "projects").mkdir(parents=True)
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


async def connect(address: str) -> float:
    """How many seconds it took to find out that there is no scheduler."""
    begun = anyio.current_time()
    with pytest.raises(WorldError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:"):
        async with connected(address, 1.5):
            pass
    return anyio.current_time() - begun


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(lambda _: None, id="silence"),
        pytest.param(words(b"HTTP/1.1 400 Bad\r\n\r\n" * 50), id="another protocol"),
        pytest.param(words(struct.pack("QQ", 1, 1 << 50) + b"x" * 1000), id="odd frames"),
        pytest.param(words(struct.pack("Q", 1 << 50)), id="a huge frame"),
        pytest.param(words(struct.pack("QQQ", 16, 1, 0)), id="an empty frame"),
    ],
)
def test_a_server_that_is_no_scheduler(said: Said) -> None:
    with serving(said) as address:
        assert anyio.run(connect, address) < 10


@pytest.mark.parametrize("address", ["tcp://h:99999", "tcp://h:0", "tcp://h:x", "tls://h:65536"])
def test_a_port_that_is_none(address: str) -> None:
    with pytest.raises(UsageError, match="is no port, which is a number from 1 to 65535"):
        require_address(address)


@pytest.mark.parametrize("address", ["tcp://h:8786", "tls://[::1]:1", "tcp://h:65535"])
def test_a_port_that_may_be_one(address: str) -> None:
    require_address(address)
