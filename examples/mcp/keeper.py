"""An agent whose tools are those of an MCP server: the agent under test.

It needs nothing but Python, and nothing in it knows flowproof. Its model is at OPENAI_BASE_URL,
and NOTES_SERVER holds the command of its MCP server.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import urllib.request
from types import TracebackType
from typing import Any, Self

MODEL = "gpt-5-mini"
MAX_TURNS = 8
SYSTEM = "You keep the notes of Casey Otieno. Read a note before you delete it."
SERVER = f"{sys.executable} notes_server.py notes"


class McpServer:
    """An MCP server that runs as a child, and speaks on its stdin and stdout."""

    def __init__(self, command: str) -> None:
        self.process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.asked = 0

    def __enter__(self) -> Self:
        client = {"name": "keeper", "version": "1.0.0"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=10)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        self.asked += 1
        self._send({"id": self.asked, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") != self.asked:
                continue
            if "error" in message:
                raise SystemExit(f"the MCP server refused {method}: {message['error']['message']}")
            result: dict[str, Any] = message["result"]
            return result
        raise SystemExit("the MCP server is gone")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()


def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model answers."""
    body = json.dumps({"model": MODEL, "messages": messages, "tools": tools}).encode()
    key = os.environ.get("OPENAI_API_KEY", "")
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as response:
        message: dict[str, Any] = json.load(response)["choices"][0]["message"]
    return message


def offered(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool of the server as the model sees it."""
    function = {"name": tool["name"], "description": tool["description"]}
    return {"type": "function", "function": {**function, "parameters": tool["inputSchema"]}}


def keep(task: str, server: McpServer) -> str:
    """Work on a task until the model answers in words."""
    tools = [offered(tool) for tool in server.ask("tools/list")["tools"]]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": task},
    ]
    for _ in range(MAX_TURNS):
        message = complete(messages, tools)
        if not message.get("tool_calls"):
            return message["content"] or ""
        messages.append(message)
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            result = server.ask("tools/call", name=name, arguments=arguments)
            text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    raise SystemExit(f"no answer after {MAX_TURNS} turns")


if __name__ == "__main__":
    with McpServer(os.environ.get("NOTES_SERVER", SERVER)) as server:
        print(keep(os.environ.get("FLOWPROOF_PROMPT") or " ".join(sys.argv[1:]), server))
