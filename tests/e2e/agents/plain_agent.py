"""An agent of the standard library alone, for what no SDK does on request and where speed counts.

AGENT_PLAN is a JSON list of actions; each is an object with `do` and what that takes.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

BASE = urlsplit(os.environ["OPENAI_BASE_URL"])
OPEN: list[http.client.HTTPConnection] = []
MESSAGES: list[dict[str, Any]] = []


def connection(keep: bool) -> http.client.HTTPConnection:
    assert BASE.hostname
    if keep and OPEN:
        return OPEN[0]
    made = http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=60)
    if keep:
        OPEN.append(made)
    return made


def body_of(action: dict[str, Any]) -> bytes:
    body: dict[str, Any] = {"model": "small-1", "messages": MESSAGES, "temperature": 0}
    body |= action.get("with", {})
    if action.get("reorder"):
        body = json.loads(json.dumps(body), object_pairs_hook=lambda pairs: dict(pairs[::-1]))
    return json.dumps(body, indent=action.get("indent")).encode()


def post(action: dict[str, Any]) -> tuple[int, Any]:
    """Ask the model; the status and the JSON value, or the text, of its answer."""
    keep = action.get("keep_alive", True)
    client = connection(keep)
    path = BASE.path + action.get("path", "/chat/completions")
    headers = {"content-type": "application/json", **action.get("headers", {})}
    if not keep:
        headers["connection"] = "close"
    data = body_of(action)
    if action.get("chunked"):
        pieces = (data[at : at + 7] for at in range(0, len(data), 7))
        client.request("POST", path, pieces, headers, encode_chunked=True)
    else:
        client.request("POST", path, data, headers)
    answer = client.getresponse()
    text = answer.read().decode()
    if not keep:
        client.close()
    is_json = "json" in (answer.headers["content-type"] or "")
    return answer.status, json.loads(text) if is_json else text


def ask(action: dict[str, Any]) -> None:
    """One turn of a conversation; the calls of the answer get the result that the action names."""
    if "say" in action:
        MESSAGES.append({"role": "user", "content": action["say"]})
    status, answer = post(action)
    print(json.dumps({"status": status, "answer": answer}, sort_keys=True), flush=True)
    if status == 200 and isinstance(answer, dict):
        message = answer["choices"][0]["message"]
        MESSAGES.append(message)
        for call in message.get("tool_calls") or ():
            result = action.get("result", "").replace("NOW", str(time.time_ns()))
            MESSAGES.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def at_once(action: dict[str, Any]) -> None:
    """Several different requests at the same time."""
    count = action["count"]
    statuses: list[int] = []

    def one(number: int) -> None:
        said = [{"role": "user", "content": f"question {number}"}]
        with_messages = {"with": {"messages": said}, "keep_alive": False}
        statuses.append(post(with_messages)[0])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"statuses": statuses, "seconds": time.monotonic() - began}), flush=True)


def grandchild(action: dict[str, Any]) -> None:
    """Start a process in a session of its own that ignores SIGTERM and does not end by itself."""
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True)"
        "; time.sleep(300)"
    )
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    )
    assert child.stdout
    child.stdout.readline()


def surroundings() -> dict[str, Any]:
    """All that the agent can see of itself and of its parent: environments and command lines."""
    seen: dict[str, Any] = {"env": dict(os.environ)}
    for name, pid in (("self", "self"), ("parent", str(os.getppid()))):
        for file in ("environ", "cmdline"):
            try:
                seen[f"{name}/{file}"] = Path("/proc", pid, file).read_bytes().decode()
            except OSError as error:
                seen[f"{name}/{file}"] = f"not readable: {error.strerror}"
    return seen


def act(action: dict[str, Any]) -> None:
    match action["do"]:
        case "ask":
            ask(action)
        case "at once":
            at_once(action)
        case "touch":
            Path(action["file"]).write_text("", "utf-8")
        case "sleep":
            time.sleep(action["seconds"])
        case "grandchild":
            grandchild(action)
        case "print":
            print(json.dumps({name: os.environ.get(name) for name in action["names"]}), flush=True)
        case "where":
            print(json.dumps({"cwd": str(Path.cwd()), "argv": sys.argv[1:]}), flush=True)
        case "surroundings":
            print(json.dumps(surroundings()), flush=True)
        case "crash":
            raise RuntimeError("the agent broke after its work")
        case "ignore terminate":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "exit":
            sys.exit(action["status"])
        case unknown:
            raise ValueError(unknown)


if __name__ == "__main__":
    for step in json.loads(os.environ["AGENT_PLAN"]):
        act(step)
