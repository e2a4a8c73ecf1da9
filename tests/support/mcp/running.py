"""Starts the real MCP server of `http_server` in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
from anyio.from_thread import start_blocking_portal

_ROOT = Path(__file__).parent.parent.parent.parent
_PATIENCE = 30.0


def free_port() -> int:
    """A port that nothing uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextlib.contextmanager
def mcp_server(*options: str) -> Iterator[str]:
    """The URL of a running server."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.mcp.http_server", str(port), *options]
    with subprocess.Popen(command, cwd=_ROOT) as process:
        try:
            with start_blocking_portal() as portal:
                portal.call(_answers, port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


async def _answers(port: int) -> None:
    with anyio.fail_after(_PATIENCE):
        while True:
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                with contextlib.closing(connection):
                    connection.request("GET", "/nothing")
                    connection.getresponse().read()
                    return
            await anyio.sleep(0.05)
