"""The Messages API of Anthropic, as its SDKs, the Claude CLI and gateways speak it.

Requests and plain answers here; messages, events and assembly in the files beside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from flowproof.dialects import anthropic_messages_kinds as kinds
from flowproof.dialects import anthropic_messages_message as messages
from flowproof.dialects import anthropic_messages_tools as tools
from flowproof.dialects import requests
from flowproof.dialects.answers import tokens
from flowproof.dialects.anthropic_messages_assembly import MessagesAssembler
from flowproof.dialects.anthropic_messages_events import frames
from flowproof.dialects.anthropic_messages_results import Replacing
from flowproof.dialects.attachments import short
from flowproof.dialects.interface import (
    Answer,
    Asked,
    Assembler,
    Envelope,
    Framing,
    Said,
    Substitution,
    Target,
)
from flowproof.dialects.sse import EVENT_STREAM
from flowproof.dialects.values import list_of, member_of, number_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.rawtext import to_bytes
from flowproof.model.trajectory import Message, ToolCall
from flowproof.model.turn import Operation

_NAMED = re.compile(r"/messages/?\Z")
# The OpenAI Assistants API adds a message to a thread at such a path.
_OF_A_THREAD = re.compile(r"/threads/[^/]*/messages/?\Z")
_PATH = "/messages"
_ENDPOINT = "/v1/messages"
_ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_CACHED_TOKENS = ("cache_creation_input_tokens", "cache_read_input_tokens")
_ORDINARY_STOPS = ("end_turn", "tool_use", "stop_sequence")


class AnthropicMessages:
    """The dialect `anthropic.messages`."""

    name = "anthropic.messages"
    provider = "anthropic"
    messages_path = "$.messages"

    def operation(self, method: str, path: str) -> Operation | None:
        """`/messages` under any prefix; what stands below it, such as batches, is not ours."""
        if method.upper() != "POST" or not _NAMED.search(path) or _OF_A_THREAD.search(path):
            return None
        return Operation(self.name, _PATH)

    def model_of(self, operation: Operation) -> str | None:
        """None: the body names the model."""
        return None

    def asked(self, body: JsonObject, target: Target) -> Asked:
        """Split a request body: `stream` is transport. A stream always tells the usage."""
        return requests.asked(body, ("stream",), stream=body.get("stream") is True)

    def forwarded(self, pinned: JsonObject, asked: Asked) -> JsonObject:
        """The body to send upstream, transport put back."""
        return pinned | asked.transport

    def destination(self, operation: Operation, asked: Asked, target: Target) -> Target:
        """The endpoint with its version, which the upstream's base URL does not hold."""
        return Target(_ENDPOINT, target.query)

    def framing(self, asked: Asked) -> Framing:
        """Server-sent events."""
        return EVENT_STREAM

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace the content of results whose call stands before them, else in `earlier`."""
        replacing = Replacing(substitution, earlier)
        changed = [replacing.message(raw) for raw in list_of(pinned.get("messages"))]
        if not replacing.tools:
            return pinned, ()
        return pinned | {"messages": changed}, tuple(replacing.tools)

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter by name.

        The instructions in `system` are compared with the messages.
        """
        if not isinstance(pinned, dict):
            return Envelope(())
        return requests.envelope(
            pinned,
            requests.tool_names(map(tools.label, tools.listed(pinned))),
            "tools",
            requests.roles("$.messages", list_of(pinned.get("messages"))),
            apart=("messages", "system"),
        )

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""
        return kinds.of_part(name, path)

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference in the instructions or the messages."""
        return kinds.of_message(pinned, path)

    def said(self, pinned: JsonValue) -> Said:
        """The model, the instructions that open the conversation, and the tools offered."""
        if not isinstance(pinned, dict):
            return Said(None, "", ())
        return requests.said(
            pinned,
            requests.opening(messages.units(pinned), messages.role_of, messages.message),
            tools.offered(pinned),
            tools.parameters(pinned),
            continues=_continues(pinned.get("thread")),
        )

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The instructions as one system message, then the messages, results of tools apart."""
        return messages.units(pinned)

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One of these in neutral words; calls in it are added to `names`."""
        return messages.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """One message and the usage; no message if anything said in it cannot be read.

        Tokens in are all that were sent, read from the cache or written to it included.
        """
        if not isinstance(body, dict) or not messages.readable(body.get("content")):
            return Answer((), None)
        spoken = messages.message({"role": "assistant", "content": body["content"]}, {})
        stopped = text_of(body.get("stop_reason"))
        if stopped == "tool_use" and not spoken.asks:
            # What was called stands where nobody can see it.
            return Answer((), None)
        if stopped is not None and stopped not in _ORDINARY_STOPS:
            why = f"stopped ({short(stopped)})"
            spoken = replace(spoken, attachments=(*spoken.attachments, why))
        return Answer((spoken,), _tokens(body.get("usage")), text_of(body.get("id")))

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream."""
        return MessagesAssembler()

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body."""
        return frames(body)

    def replayed(self, events: Iterable[str], asked: Asked) -> Iterator[bytes]:
        """Stored raw frames, all of them."""
        return map(to_bytes, events)

    def error(self, status: int, message: str, code: str) -> JsonObject:
        """An error body as the official SDKs read it."""
        kind = "api_error" if status >= 500 else "invalid_request_error"
        kind = _ERROR_TYPES.get(status, kind)
        details: JsonObject = {"error_code": code}
        told: JsonObject = {"type": kind, "message": message, "details": details}
        return {"type": "error", "error": told, "request_id": None}


def _continues(thread: JsonValue) -> str | None:
    match thread:
        case {"type": "continue", "previous_message_id": str(message_id)}:
            return message_id
        case _:
            return None


def _tokens(usage: JsonValue) -> tuple[int, int] | None:
    counted = tokens(member_of(usage, "input_tokens"), member_of(usage, "output_tokens"))
    cached = sum(max(0, number_of(member_of(usage, key), 0)) for key in _CACHED_TOKENS)
    return None if counted is None else (counted[0] + cached, counted[1])
