"""Figures of the MCP boundary: what it adds to a call and to an agent's start.

The agent measures itself, in turn without flowproof, while recording and at replay. `make bench`
prints the figures; `python -m tests.benchmarks.mcp` prints them alone.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.canned import canned_upstream
from tests.benchmarks.measure import Command, run
from tests.support import mcp as support

AGENT = [sys.executable, str(Path(__file__).with_name("mcp_agent.py"))]
SERVER = [sys.executable, "-S", str(Path(support.__file__).with_name("plain_server.py"))]
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Seconds:
    """Medians of one agent: a connection's start, and a call."""

    start: float
    call: float


@dataclass(frozen=True, slots=True)
class Bench:
    """Where one flow is, its upstream, and how flowproof is run on it."""

    folder: Path
    upstream: str
    flowproof: Sequence[str]
    env: Mapping[str, str]

    def measured(self, argv: Sequence[str], **env: str) -> Seconds:
        """What the agent measured in a command that runs it."""
        file = self.folder / "measured.json"
        file.unlink(missing_ok=True)
        run(Command(argv, {**self.env, "MEASURED": str(file), **env}, self.folder))
        return Seconds(**json.loads(file.read_text("utf-8")))

    def rounds(self, server: Mapping[str, str], **bare: str) -> list[tuple[Seconds, ...]]:
        """Without flowproof, at record, at replay; `bare` leads the agent to its server."""
        agent = {"command": shlex.join(AGENT), "env": {"MEASURED": "${MEASURED}"}}
        spec = {
            "name": "calls",
            "agent": agent,
            "mcp": [{"name": "demo", **server}],
            "steps": [{"prompt": "measure"}],
        }
        (self.folder / "calls.flow.yaml").write_text(json.dumps(spec), "utf-8")
        own = {"OPENAI_BASE_URL": self.upstream, **bare}
        upstream = {"FLOWPROOF_AGENT_UPSTREAM": self.upstream}
        record = [*self.flowproof, "record", "calls.flow.yaml"]
        replay = [*self.flowproof, "run", "calls.flow.yaml"]
        return [
            (
                self.measured(AGENT, **own),
                self.measured(record, **upstream),
                self.measured(replay),
            )
            for _ in range(ROUNDS)
        ]


def mcp(folder: Path, flowproof: Sequence[str], env: Mapping[str, str]) -> None:
    """Print all of them."""
    with canned_upstream(1) as upstream, _http_server() as url:
        bench = Bench(folder, upstream, flowproof, env)
        stdio = bench.rounds({"command": shlex.join(SERVER)}, SERVER=json.dumps(SERVER))
        http = bench.rounds({"url": url}, URL=url)
    for title, rounds in (("stdio", stdio), ("HTTP", http)):
        alone = statistics.median(bare.call for bare, _, _ in rounds)
        record = statistics.median(one.call - bare.call for bare, one, _ in rounds)
        replay = statistics.median(one.call for _, _, one in rounds)
        aim = " (aims 1.00)" if title == "stdio" else ""
        print(
            f"MCP call over {title:5}          {record * 1000:+5.2f} ms at record, "
            f"{replay * 1000:.2f} ms in all at replay{aim}, server alone {alone * 1000:.2f} ms"
        )
    added = statistics.median(one.start - bare.start for bare, one, _ in stdio)
    start = statistics.median(one.start for _, _, one in stdio)
    print(
        f"  start of the stand-in      {added * 1000:+5.0f} ms at record, {start * 1000:.0f} ms in "
        "all at replay (aims 60)"
    )


class _Handler(BaseHTTPRequestHandler):
    """A server whose tool says nothing, without sessions."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(_answer(message)).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": "done"}]}
    if message["method"] == "initialize":
        info = {"name": "measured", "version": "1"}
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


@contextmanager
def _http_server() -> Iterator[str]:
    """Run one as a process; gives its URL."""
    argv = [sys.executable, "-m", "tests.benchmarks.mcp", "serve"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.terminate()


def main() -> None:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as folder:
        mcp(Path(folder), [sys.executable, "-m", "flowproof"], env)


if __name__ == "__main__":
    if "serve" in sys.argv:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
    else:
        main()
