"""A standard-library agent for benchmarks: asks its model once, and calls an MCP server often.

Where there is no flowproof, SERVER has the server's command as a JSON list, or URL its address.
MEASURED is the file for what it measures, in seconds: the median `start`, from opening a connection
to the answer to `initialize`, and the median `call`.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

STARTS, CALLS = 7, 500
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "measured", "version": "1"},
}


class Connection(Protocol):
    """One to a server."""

    def ask(self, message: dict[str, Any]) -> None:
        """Send a message, and wait for its answer if it has an id."""

    def close(self) -> None:
        """End it."""


class Stdio:
    """To a child."""

    def __init__(self, argv: list[str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    def ask(self, message: dict[str, Any]) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        if "id" in message:
            assert "result" in json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


class Http:
    """To a URL."""

    def __init__(self, url: str) -> None:
        at = urlsplit(url)
        self.connection = http.client.HTTPConnection(at.netloc)
        self.path = at.path
        self.headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }

    def ask(self, message: dict[str, Any]) -> None:
        self.connection.request("POST", self.path, json.dumps(message).encode(), self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        if session := answer.getheader("mcp-session-id"):
            self.headers["mcp-session-id"] = session
        if "id" in message:
            assert b'"result"' in body, body

    def close(self) -> None:
        self.connection.close()


def ask_model() -> None:
    body = {"model": "canned", "messages": [{"role": "user", "content": "measure"}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(
        urllib.request.Request(url, json.dumps(body).encode(), headers)
    ) as answer:
        answer.read()


def connect() -> Connection:
    env = os.environ
    if url := env.get("FLOWPROOF_MCP_URL_DEMO") or env.get("URL"):
        return Http(url)
    argv: list[str] = json.loads(env.get("FLOWPROOF_MCP_ARGV_DEMO") or env["SERVER"])
    return Stdio(argv)


def opened() -> tuple[Connection, float]:
    """A connection after its handshake, and how long that took."""
    began = time.perf_counter()
    connection = connect()
    connection.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
    took = time.perf_counter() - began
    connection.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return connection, took


def main() -> None:
    ask_model()
    starts, calls = [], []
    for number in range(1, STARTS + 1):
        connection, took = opened()
        starts.append(took)
        for at in range(1, CALLS + 1 if number == STARTS else 1):
            params = {"name": "echo", "arguments": {"at": at}}
            began = time.perf_counter()
            connection.ask({"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params})
            calls.append(time.perf_counter() - began)
        connection.close()
    found = {"start": statistics.median(starts), "call": statistics.median(calls)}
    Path(os.environ["MEASURED"]).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
