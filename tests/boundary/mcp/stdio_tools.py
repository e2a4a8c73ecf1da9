"""Opens the stdio transport as a flow does, and speaks with the stand-ins that it tells of."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from flowproof.boundary.mcp.mocks import MockedMcpTool
from flowproof.boundary.mcp.recording import RecordingBoundary
from flowproof.boundary.mcp.replaying import ReplayingBoundary
from flowproof.boundary.mcp.stdio import Stdio, open_stdio
from flowproof.flow.mcp_server import real_server
from flowproof.flow.resolve_env import Prepared
from flowproof.model.mcp import Lane
from tests.support import mcp as support

SERVER = str(Path(support.__file__).with_name("plain_server.py"))
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


STARTED: list[Client] = []
"""The stand-ins of a test, ended with it."""


def servers() -> list[psutil.Process]:
    """The real servers that run."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if SERVER in child.cmdline():
                found.append(child)
    return found


class Client:
    """Speaks with a stand-in, line by line; blocking, so to be used from a thread."""

    def __init__(self, stdio: Stdio) -> None:
        argv = json.loads(stdio.environment["FLOWPROOF_MCP_ARGV_files"])
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env={})
        self._ids = 0
        STARTED.append(self)

    def end(self) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                assert stream
                stream.close()
        self.process.wait(30)

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def send(self, method: str, params: object = None) -> int:
        self._ids += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._ids, "method": method}
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message).encode() + b"\n")
        return self._ids

    def ask(self, method: str, params: object = None) -> Any:
        sent = self.send(method, params)
        while (answer := self.read()) is not None and answer.get("id") != sent:
            pass
        return answer

    def hello(self) -> Any:
        answer = self.ask("initialize", HELLO)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return answer

    def call(self, name: str, **arguments: object) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def leave(self) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        assert self.process.stdout.read() == b""
        return self.process.wait(30)


def prepared(folder: Path, env: Mapping[str, str] | None = None) -> Prepared:
    return Prepared(
        task="",
        assertions=(),
        mocks={},
        command="",
        cwd=folder,
        env=env or {},
        inherited={"PATH": os.environ["PATH"]},
        resolve=lambda text: text,
        warnings=(),
    )


Mocks = Mapping[str, MockedMcpTool]


@asynccontextmanager
async def recording(
    folder: Path, *habits: str, mocks: Mocks | None = None, argv: tuple[str, ...] = ()
) -> AsyncIterator[tuple[RecordingBoundary, Stdio]]:
    words = argv or (sys.executable, "-S", SERVER, *habits)
    boundary = RecordingBoundary("files", mocks or {})
    with real_server(words, prepared(folder)) as start:
        async with open_stdio("files", boundary, start) as stdio:
            yield boundary, stdio


@asynccontextmanager
async def replaying(lane: Lane) -> AsyncIterator[tuple[ReplayingBoundary, Stdio]]:
    boundary = ReplayingBoundary(lane, {})
    async with open_stdio("files", boundary, None) as stdio:
        yield boundary, stdio


def said(answer: Any) -> Any:
    """The text of a result."""
    return answer["result"]["content"][0]["text"]
