"""A canned upstream for benchmarks: answers at once, with a tool call while one is wanted.

It is a process of its own, so that the agent measured against it shares no interpreter with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet an answer, or the bare agent would wait 40 ms for each delayed acknowledgement.
    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        turn = sum(message["role"] == "assistant" for message in request["messages"]) + 1
        body = json.dumps(_answer(turn, wants_more=turn < int(os.environ["TURNS"]))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _answer(turn: int, *, wants_more: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "done"}
    if wants_more:
        function = {"name": "look", "arguments": json.dumps({"at": turn})}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    finish = "tool_calls" if wants_more else "stop"
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "canned",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


@contextmanager
def canned_upstream(turns: int) -> Iterator[str]:
    """Run one; gives its base URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.canned"],
        env={**os.environ, "TURNS": str(turns)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process, process.stdout:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.terminate()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
