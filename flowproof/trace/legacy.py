"""Reads the traces of flowproof 0.23, which hold parts of each request and response.

They become a `Trace` that pins `legacy`: nothing is invented but what a protocol cannot go
without (ids, times, token counts of 0). What was seen of the network in them is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse
from flowproof.model.turn import Operation, Response, Turn
from flowproof.trace.document import RecordedMock, RecordedServer, Trace
from flowproof.trace.node import Node

_CHAT = Operation("openai.chat", "/chat/completions")
_MESSAGES = Operation("anthropic.messages", "/messages")


def read(root: Node, max_turns: int) -> Trace:
    """The trace that such a document holds.

    :raises Defect: if it is not shaped as flowproof 0.23 wrote it.
    """
    document = root.entries()
    if "app" in document and document["app"].value != "agent":
        raise document["app"].defect("only recordings of agents can be replayed")
    cassette = _member(document["cassette"], "turns")
    turns = cassette.items()
    if len(turns) > max_turns:
        raise cassette.defect(f"more than {max_turns} turns")
    mocks = document["mocks"].entries() if "mocks" in document else {}
    servers: dict[str, RecordedServer] = {}
    if "mcp" in document:
        from flowproof.trace.legacy_lanes import read_servers

        servers = read_servers(document["mcp"])
    return Trace(
        flowproof="0.23",
        recorded="",
        spec_name="",
        spec_file="",
        spec_sha256="",
        driver="",
        platform="",
        containment="",
        mocks={tool: RecordedMock((mock.value,), True) for tool, mock in mocks.items()},
        turns=tuple(_turn(node, number) for number, node in enumerate(turns, 1)),
        pins="legacy",
        mcp=servers,
    )


def _turn(node: Node, number: int) -> Turn:
    turn = node.entries()
    request, response = _member(node, "request"), _member(node, "response")
    message = _message(_member(response, "message"))
    stop = _optional_text(response, "stop_reason")
    model = _optional_text(request, "model")
    asked = request.entries()
    messages = [_message(item) for item in asked["messages"].items()] if "messages" in asked else []
    if "protocol" in turn and turn["protocol"].value == "anthropic":
        operation = _MESSAGES
        body, answer = _as_messages(messages), _message_answer(message, stop, number)
    else:
        operation = _CHAT
        body, answer = {"messages": _chat(messages)}, _chat_answer(message, stop, number)
    if model is not None:
        body, answer = {"model": model, **body}, {"model": model, **answer}
    if "tools" in asked:
        body["tools"] = [tool.text() for tool in asked["tools"].items()]
    return Turn(operation, body, Response(200, answer))


def _member(node: Node, key: str) -> Node:
    members = node.entries()
    if key not in members:
        raise node.defect(f"the key `{key}` is missing")
    return members[key]


def _optional_text(node: Node, key: str) -> str | None:
    found = node.entries().get(key)
    return None if found is None or found.value is None else found.text()


@dataclass(frozen=True, slots=True)
class _Call:
    id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class _Message:
    role: str
    content: str | None
    calls: tuple[_Call, ...]
    call_id: str | None


def _message(node: Node) -> _Message:
    calls = node.entries().get("tool_calls")
    return _Message(
        role=_optional_text(node, "role") or "assistant",
        content=_optional_text(node, "content"),
        calls=() if calls is None or calls.value is None else tuple(map(_call, calls.items())),
        call_id=_optional_text(node, "tool_call_id"),
    )


def _call(node: Node) -> _Call:
    return _Call(
        _optional_text(node, "id"),
        _member(node, "name").text(),
        _optional_text(node, "arguments") or "",
    )


def _chat(messages: list[_Message]) -> list[JsonValue]:
    return [_chat_message(message) for message in messages]


def _chat_message(message: _Message) -> JsonObject:
    body: JsonObject = {"role": message.role, "content": message.content}
    if message.calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    if message.call_id is not None:
        body["tool_call_id"] = message.call_id
    return body


def _chat_answer(message: _Message, stop: str | None, number: int) -> JsonObject:
    reason = stop or ("tool_calls" if message.calls else "stop")
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "choices": [{"index": 0, "message": _chat_message(message), "finish_reason": reason}],
    }


def _as_messages(messages: list[_Message]) -> JsonObject:
    """A request of the Messages API: instructions apart, tool results told by the user."""
    system = "\n".join(message.content or "" for message in messages if message.role == "system")
    said: list[JsonValue] = []
    results: list[JsonValue] | None = None
    for message in messages:
        if message.role == "system":
            continue
        if message.role != "tool":
            results = None
            content: JsonValue = list(_blocks(message)) if message.calls else message.content
            said.append({"role": message.role, "content": content})
            continue
        # The API wants all results of one answer in one message.
        if results is None:
            results = []
            said.append({"role": "user", "content": results})
        results.append(
            {
                "type": "tool_result",
                "tool_use_id": message.call_id,
                "content": message.content,
            }
        )
    return {"system": system, "messages": said} if system else {"messages": said}


def _blocks(message: _Message) -> Iterator[JsonValue]:
    if message.content:
        yield {"type": "text", "text": message.content}
    for call in message.calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)}


def _input(call: _Call) -> JsonValue:
    try:
        return parse(call.arguments) if call.arguments else {}
    except JsonError:
        return call.arguments


def _message_answer(message: _Message, stop: str | None, number: int) -> JsonObject:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": list(_blocks(message)),
        "stop_reason": stop or ("tool_use" if message.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
