"""Ollama's chat API, whose requests are those of chat completions but for a few members.

Its streams are in `ollama_stream`, its messages in `ollama_message`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowproof.dialects import ollama_kinds as kinds
from flowproof.dialects import ollama_message as messages
from flowproof.dialects import ollama_stream, openai_chat_kinds
from flowproof.dialects.interface import Answer, Envelope, Said, Substitution
from flowproof.dialects.mocks import Mocks
from flowproof.dialects.ollama import Ollama, tokens_of
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall

_CHAT = OpenAIChat()


class OllamaChat(Ollama):
    """The dialect `ollama.chat`."""

    name = "ollama.chat"
    messages_path = "$.messages"
    path = "/api/chat"
    form = ollama_stream.CHAT

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Replace the content of tool results."""
        raws = _CHAT.message_list(pinned)
        mocks = Mocks(substitution)
        changed = list(raws)
        for place, call in messages.answered(raws).items():
            text = mocks.text(call.name, call.id, call.arguments)
            raw = raws[place]
            if text is not None and isinstance(raw, dict):
                changed[place] = raw | {"content": text}
        return (pinned | {"messages": changed}, tuple(mocks.tools)) if mocks.tools else (pinned, ())

    def envelope(self, pinned: JsonValue) -> Envelope:
        """Model, tool names, tools, roles, then every other parameter, as in chat completions."""
        return _CHAT.envelope(pinned)

    def part_kind(self, name: str, path: str) -> str:
        """What a reader calls a difference at a JSON path inside one part of the envelope."""
        return openai_chat_kinds.of_part(name, path)

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference at a JSON path inside the messages."""
        return kinds.of_chat(self.message_list(pinned), path)

    def said(self, pinned: JsonValue) -> Said:
        """The model, the instructions that open the conversation, and the tools offered."""
        return _CHAT.said(pinned)

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The messages of a request, in order; a tool result that names nothing gets the tool
        whose call it answers by its place."""
        return messages.with_tools(_CHAT.message_list(pinned))

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One message in neutral words; calls in it that have an id are added to `names`."""
        return messages.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """The message and the usage; no message if it cannot be read."""
        raw = body.get("message") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(raw, dict) or not messages.readable(raw):
            return Answer((), tokens_of(body) if isinstance(body, dict) else None)
        said = replace(messages.message(raw, {}), role="assistant", call_id=None, tool=None)
        return Answer((said,), tokens_of(body))
