"""A stand-in for a model: answers OpenAI chat completion requests from a script.

It speaks the wire format of `/v1/chat/completions` (plain and streaming) and `/v1/models`, needs
no key and no package, and listens on 127.0.0.1 only. It understands nothing: the first rule of
the script that fits the conversation gives the answer. README.md beside it shows the script.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL = "scripted-model-not-a-real-model"
MAX_BODY = 16 * 1024 * 1024
ROLES = ("system", "developer", "user", "assistant", "tool")


class BadScript(Exception):
    """The script cannot be used; the text says why."""


class Refused(Exception):
    """A request that gets an error answer: HTTP status, message, parameter and code."""

    def __init__(
        self, status: int, message: str, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def body(self) -> dict[str, Any]:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error}


# --- the script -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conversation:
    """What rules can ask about a request."""

    last_role: str
    last_tool: str | None
    last_text: str
    user_text: str
    system_text: str
    offered: frozenset[str]


CONDITIONS: dict[str, Callable[[Conversation, str], bool]] = {
    "last_role": lambda seen, value: seen.last_role == value,
    "last_tool": lambda seen, value: seen.last_tool == value,
    "last_contains": lambda seen, value: value in seen.last_text,
    "user_contains": lambda seen, value: value in seen.user_text,
    "system_contains": lambda seen, value: value in seen.system_text,
    "offers": lambda seen, value: value in seen.offered,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the script: where every condition holds, this is the answer."""

    when: dict[str, str]
    content: str | None
    tool_calls: tuple[tuple[str, str], ...]

    def fits(self, seen: Conversation) -> bool:
        return all(CONDITIONS[name](seen, value) for name, value in self.when.items())


def load_script(path: Path) -> tuple[Rule, ...]:
    """The rules of a script file, in order. Raises BadScript, naming the rule at fault."""
    try:
        script = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadScript(f"{path}: {error}") from error
    rules = script.get("rules") if isinstance(script, dict) else None
    if not isinstance(rules, list) or not rules:
        raise BadScript(f'{path}: a script is an object {{"rules": [...]}} with at least one rule')
    return tuple(_rule(f"{path}: rule {n}", rule) for n, rule in enumerate(rules, start=1))


def _rule(where: str, rule: Any) -> Rule:
    if not isinstance(rule, dict) or set(rule) != {"when", "answer"}:
        raise BadScript(f'{where}: a rule has "when" and "answer", and nothing else')
    when, answer = rule["when"], rule["answer"]
    if not isinstance(when, dict) or not all(isinstance(value, str) for value in when.values()):
        raise BadScript(f'{where}: "when" is an object whose values are text')
    unknown = sorted(set(when) - set(CONDITIONS))
    if unknown:
        raise BadScript(f"{where}: no condition {unknown[0]!r}; there are {', '.join(CONDITIONS)}")
    if not isinstance(answer, dict) or not answer or set(answer) - {"content", "tool_calls"}:
        raise BadScript(f'{where}: an answer has "content", "tool_calls" or both')
    content = answer.get("content")
    if content is not None and not isinstance(content, str):
        raise BadScript(f'{where}: "content" is text')
    return Rule(when, content, tuple(_calls(where, answer.get("tool_calls", []))))


def _calls(where: str, calls: Any) -> Iterator[tuple[str, str]]:
    for call in calls if isinstance(calls, list) else [calls]:
        match call:
            case {"name": str(name), "arguments": dict(arguments), **rest} if not rest:
                yield name, json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
            case {"name": str(name), "arguments": str(text), **rest} if not rest:
                yield name, text  # sent as it is, so that broken JSON can be tried too
            case _:
                raise BadScript(f'{where}: a tool call is {{"name": text, "arguments": object}}')


# --- requests ---------------------------------------------------------------------------------


def read_conversation(request: dict[str, Any]) -> Conversation:
    """What the request says, as the rules see it. Raises Refused where a real API would."""
    if not isinstance(request.get("model"), str):
        raise Refused(400, "you must provide a model parameter", "model")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "'messages' must be an array with at least one message", "messages")
    if not isinstance(request.get("stream_options", {}), dict | None):
        raise Refused(400, "'stream_options' must be an object", "stream_options")
    if request.get("n") not in (None, 1):
        raise Refused(400, "the scripted model gives one choice only", "n")
    asked: dict[str, str] = {}
    for number, message in enumerate(messages):
        _check_message(number, message, asked)
    last = messages[-1]
    return Conversation(
        last_role=last["role"],
        last_tool=asked[str(last["tool_call_id"])] if last["role"] == "tool" else None,
        last_text=_text(last),
        user_text=next((_text(m) for m in reversed(messages) if m["role"] == "user"), ""),
        system_text="\n".join(_text(m) for m in messages if m["role"] in ("system", "developer")),
        offered=frozenset(_offered(request.get("tools") or [])),
    )


def _check_message(number: int, message: Any, asked: dict[str, str]) -> None:
    """Check one message and note the tool calls in it: call id to tool name."""
    where = f"messages[{number}]"
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise Refused(400, f"{where}: role must be one of {', '.join(ROLES)}", f"{where}.role")
    if message["role"] == "tool" and str(message.get("tool_call_id")) not in asked:
        said = f"{where}: a tool message must answer a tool call of an earlier message"
        raise Refused(400, said, f"{where}.tool_call_id")
    try:
        for call in message.get("tool_calls") or []:
            asked[str(call["id"])] = str(call["function"]["name"])
    except (KeyError, TypeError) as error:
        said = f"{where}: each tool call needs id and function.name"
        raise Refused(400, said, f"{where}.tool_calls") from error


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _offered(tools: Any) -> Iterator[str]:
    for number, tool in enumerate(tools if isinstance(tools, list) else [tools]):
        match tool:
            case {"type": "function", "function": {"name": str(name)}}:
                yield name
            case _:
                raise Refused(400, f"tools[{number}]: needs type and function.name", "tools")


def choose(rules: tuple[Rule, ...], seen: Conversation) -> Rule:
    """The first rule that fits. Raises Refused where none does, or its tool is not offered."""
    rule = next((rule for rule in rules if rule.fits(seen)), None)
    if rule is None:
        last = f"last message: {seen.last_tool or seen.last_role}: {seen.last_text[:200]!r}"
        tried = "; ".join(f"{n}: {json.dumps(r.when)}" for n, r in enumerate(rules, start=1))
        said = f"no rule of the script fits this conversation. {last}. Rules tried: {tried}"
        raise Refused(400, said, "messages", "no_rule_fits")
    for name, _ in rule.tool_calls:
        if name not in seen.offered:
            offered = ", ".join(sorted(seen.offered)) or "none"
            said = f"rule {rules.index(rule) + 1} calls {name}; the request offers: {offered}"
            raise Refused(400, said, "tools", "tool_not_offered")
    return rule


# --- answers ----------------------------------------------------------------------------------


def completion(rule: Rule, request: dict[str, Any], now: int) -> dict[str, Any]:
    """The answer as one `chat.completion` object. Equal requests get equal ids."""
    digest = hashlib.sha256(json.dumps(request["messages"], sort_keys=True).encode()).hexdigest()
    message: dict[str, Any] = {"role": "assistant", "content": rule.content, "refusal": None}
    if rule.tool_calls:
        message["tool_calls"] = [
            {
                "id": f"call_{digest[:20]}{number:04}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for number, (name, arguments) in enumerate(rule.tool_calls)
        ]
    finish = "tool_calls" if rule.tool_calls else "stop"
    return {
        "id": f"chatcmpl-{digest[:29]}",
        "object": "chat.completion",
        "created": now,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": _usage(request, message),
        "system_fingerprint": None,
    }


def _usage(request: dict[str, Any], message: dict[str, Any]) -> dict[str, int]:
    """Words, not tokens: a script has no tokenizer, but a client can still add them up."""
    prompt = len(json.dumps(request["messages"], ensure_ascii=False).split())
    answer = len(json.dumps(message, ensure_ascii=False).split())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
    }


def chunks(whole: dict[str, Any], with_usage: bool) -> Iterator[dict[str, Any]]:
    """The same answer as the `chat.completion.chunk` objects of a stream."""
    choice = whole["choices"][0]
    head = {k: whole[k] for k in ("id", "created", "model", "system_fingerprint")}
    usage = {"usage": None} if with_usage else {}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        part = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**head, "object": "chat.completion.chunk", "choices": [part], **usage}

    message = choice["message"]
    opening = None if message["content"] is None else ""
    yield chunk({"role": "assistant", "content": opening, "refusal": None})
    for piece in _pieces(message["content"] or ""):
        yield chunk({"content": piece})
    for index, call in enumerate(message.get("tool_calls", [])):
        opened = {"name": call["function"]["name"], "arguments": ""}
        start = {"index": index, "id": call["id"], "type": "function", "function": opened}
        yield chunk({"tool_calls": [start]})
        for piece in _pieces(call["function"]["arguments"], 16):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if with_usage:
        yield {**chunk({}), "choices": [], "usage": whole["usage"]}


def _pieces(text: str, size: int = 12) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


# --- the server -------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    """One HTTP/1.1 connection."""

    protocol_version = "HTTP/1.1"
    rules: tuple[Rule, ...] = ()

    def do_GET(self) -> None:
        if self._path() != "/v1/models":
            return self._refuse(Refused(404, f"nothing is served at GET {self.path}"))
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "scripted_model.py"}
        self._send(200, {"object": "list", "data": [model]})

    def do_POST(self) -> None:
        try:
            body = self._body()
            if self._path() != "/v1/chat/completions":
                raise Refused(404, f"nothing is served at POST {self.path}")
            request = _parse(body)
            rule = choose(self.rules, read_conversation(request))
        except Refused as refused:
            return self._refuse(refused)
        answer = completion(rule, request, int(datetime.now(UTC).timestamp()))
        if not request.get("stream"):
            return self._send(200, answer)
        options = request.get("stream_options") or {}
        self._stream(chunks(answer, with_usage=bool(options.get("include_usage"))))

    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True  # what follows cannot be told from a next request
            raise Refused(411, f"send a Content-Length of at most {MAX_BODY} bytes")
        return self.rfile.read(int(length))

    def _send(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status != 200:
            self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self._frame(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
        self._frame(b"data: [DONE]\n\n")
        self._frame(b"")

    def _frame(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _refuse(self, refused: Refused) -> None:
        print(f"scripted model: {refused.status}: {refused.message}", file=sys.stderr)
        self._send(refused.status, refused.body())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests that were answered."""


def _parse(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "the body of the request is not valid JSON") from error
    if not isinstance(request, dict):
        raise Refused(400, "the body of the request must be a JSON object")
    return request


def main() -> int:
    parser = argparse.ArgumentParser(description="Answer chat completion requests from a script.")
    parser.add_argument("--script", type=Path, required=True, help="the JSON file with the rules")
    parser.add_argument("--port", type=int, default=4747, help="default 4747; 0 takes a free one")
    options = parser.parse_args()
    try:
        handler = type("ScriptedHandler", (Handler,), {"rules": load_script(options.script)})
        server = ThreadingHTTPServer(("127.0.0.1", options.port), handler)
    except BadScript as error:
        print(f"scripted model: {error}", file=sys.stderr)
        return 2
    except (OSError, OverflowError) as error:
        print(f"scripted model: cannot listen on port {options.port}: {error}", file=sys.stderr)
        return 2
    print(f"FLOWPROOF_AGENT_UPSTREAM=http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
