"""A real MCP server whose every byte a test writes, on top of `tests.support.upstream`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.support import upstream as up
from tests.support.upstream import Received, Responder, Script

Json: TypeAlias = Any
By: TypeAlias = Mapping[str, Script | Callable[[Received], Script]]
SESSION = "0123456789abcdef-session"


def result(number: Json, value: Json) -> Json:
    return {"jsonrpc": "2.0", "id": number, "result": value}


def notification(method: str, params: Json = None) -> Json:
    told = {"jsonrpc": "2.0", "method": method}
    return told if params is None else {**told, "params": params}


def begun(number: int = 1, version: str = "2025-11-25") -> Script:
    """The answer to `initialize`."""
    value = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "fake"}}
    return up.answer(result(number, value), headers=[("mcp-session-id", SESSION)])


def events(*messages: Json, before: bytes = b"") -> Script:
    """A stream of messages."""
    frames = [up.frame(one) for one in messages]
    return up.stream([before + frames[0], *frames[1:]] if frames else [before])


def by_method(scripts: By) -> Responder:
    """Answers by the HTTP method or that of the message; 202 to what asks for nothing."""

    def respond(request: Received) -> Script:
        name = request.method
        if name == "POST":
            message = request.json()
            if "method" not in message or "id" not in message:
                return up.plain(b"", 202)
            name = message["method"]
        script = scripts.get(name)
        if script is None and name == "initialize":
            return begun(request.json()["id"])
        if script is None:
            return up.answer({"error": f"nothing for {name}"}, 500)
        return script(request) if callable(script) else script

    return respond
