"""An agent that speaks MCP line by line, for what no SDK does on request.

AGENT_PLAN is a JSON list of actions; each is an object with `do` and what that takes. `on` names a
connection.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, TypeAlias

import psutil

Json: TypeAlias = Any
OPEN: dict[str, Stand] = {}


class Stand:
    """A stand-in that was started, or told of by its command, as a shell reads it."""

    def __init__(self, command: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(["sh", "-c", f"exec {command}"], stdin=pipe, stdout=pipe)
        self._ids = 0

    def write(self, message: Json) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Json) -> Json:
        assert self.process.stdout
        self._ids += 1
        self.write({"id": self._ids, "method": method, "params": params})
        while line := self.process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._ids:
                return answer
        return None

    def close(self) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()


def asked(text: str) -> Json:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def flowproof() -> psutil.Process:
    [found] = [one for one in psutil.Process().parents() if "flowproof" in one.cmdline()]
    return found


def looked() -> Json:
    """What runs below flowproof beside this agent and its guard, and whom flowproof speaks to."""
    ours = flowproof()
    running = [one.cmdline() for one in ours.children(recursive=True)]
    peers = {str(one.raddr[0]) for one in ours.net_connections("inet") if len(one.raddr)}
    return {"running": running, "peers": sorted(peers)}


def do(action: Json) -> Json:
    name = action.get("on", "1")
    match action["do"]:
        case "ask":
            return asked(action["say"])
        case "open":
            version = action.get("version", "2025-06-18")
            OPEN[name] = Stand(os.environ[action.get("variable", "FLOWPROOF_MCP_SERVER_demo")])
            info = {"name": "line", "version": "1"}
            params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
            answer = OPEN[name].ask("initialize", params)
            OPEN[name].write({"method": "notifications/initialized"})
            return answer
        case "list":
            return OPEN[name].ask("tools/list", {})
        case "call":
            arguments = action.get("arguments", {})
            return OPEN[name].ask("tools/call", {"name": action["tool"], "arguments": arguments})
        case "close":
            return OPEN[name].close()
        case "kill":
            OPEN[name].process.kill()
            return OPEN[name].process.wait()
        case "look":
            return looked()
        case "variables":
            return sorted(name for name in os.environ if name.startswith("FLOWPROOF_MCP_"))
        case "touch":
            return Path(action["file"]).write_text("", "utf-8")
        case "sleep":
            return time.sleep(300)
        case "leave":
            sys.stdout.flush()
            os._exit(0)
    raise ValueError(action)


if __name__ == "__main__":
    for action in json.loads(os.environ["AGENT_PLAN"]):
        try:
            print(json.dumps(do(action)), flush=True)
        except (OSError, KeyError) as error:
            print(json.dumps({"failed": repr(error)}), flush=True)
