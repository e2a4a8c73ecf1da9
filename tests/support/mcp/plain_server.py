"""An MCP server on stdio of the standard library alone, which can also misbehave.

Each argument is a habit; tools do what their names say.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any
HABITS = set(sys.argv[1:])
TOOLS = [
    {"name": name, "description": f"It can {name}", "inputSchema": {"type": "object"}}
    for name in ("echo", "write", "crash", "mumble", "misname", "big", "fail", "refuse", "env")
]


def send(message: Json) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    sys.stdout.write(data)
    sys.stdout.flush()


def text(value: object, **more: object) -> Json:
    return {"content": [{"type": "text", "text": str(value)}], **more}


def call(request_id: Json, name: str, arguments: Json) -> None:
    match name:
        case "echo":
            send({"id": request_id, "result": text(json.dumps(arguments))})
        case "write":
            Path(arguments["path"]).write_text("written", "utf-8")
            send({"id": request_id, "result": text("written")})
        case "crash":
            print("Segmentation fault, or so", file=sys.stderr, flush=True)
            os._exit(3)
        case "mumble":
            print("this is no JSON", flush=True)
        case "misname":
            send({"id": "nobody-asked", "result": text("?")})
        case "big":
            send({"id": request_id, "result": text("x" * arguments["size"])})
        case "fail":
            send({"id": request_id, "result": text("no such file", isError=True)})
        case "refuse":
            send({"id": request_id, "error": {"code": -32001, "message": "not today"}})
        case "env":
            found = {name: os.environ.get(name) for name in arguments["names"]}
            send({"id": request_id, "result": text(json.dumps({**found, "cwd": str(Path.cwd())}))})
        case _:
            send({"id": request_id, "error": {"code": -32602, "message": f"no tool {name}"}})


def handle(message: Json) -> None:
    request_id, params = message.get("id"), message.get("params", {})
    match message.get("method"):
        case "initialize":
            version = params["protocolVersion"]
            info = {"name": "plain", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
            send({"id": request_id, "result": result})
        case "tools/list":
            send({"method": "notifications/message", "params": {"level": "info", "data": "listed"}})
            send({"id": request_id, "result": {"tools": TOOLS}})
        case "tools/call":
            call(request_id, params["name"], params.get("arguments", {}))
        case "ping":
            send({"id": request_id, "result": {}})


def main() -> None:
    if log := os.environ.get("SERVER_LOG"):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    if "crash-first" in HABITS:
        print("cannot open the database", file=sys.stderr)
        sys.exit(7)
    if "banner" in HABITS:
        print("npm warn deprecated\n[INFO] ready", flush=True)
    print("plain server is up", file=sys.stderr, flush=True)
    if "deaf" in HABITS:
        time.sleep(600)
    for line in sys.stdin:
        handle(json.loads(line))
    if "stays" in HABITS:
        print("staying", file=sys.stderr, flush=True)
        time.sleep(600)
    print("leaving", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
