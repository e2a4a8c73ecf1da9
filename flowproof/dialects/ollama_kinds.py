"""What a reader calls the place where two Ollama requests differ.

The dialects say what the parts are; the boundary finds the place and its JSON path.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowproof.dialects import openai_chat_kinds
from flowproof.dialects.kinds import steps_of
from flowproof.model.jsonvalue import JsonValue


def of_chat(messages: Sequence[JsonValue], path: str) -> str:
    """The kind of a difference inside chat messages, of which `messages` is one side."""
    match steps_of(path):
        case ["messages", int(), "images", *_]:
            return "image"
        case ["messages", int(), "thinking"]:
            return "thinking"
        case ["messages", int(), "tool_name"]:
            return "tool result's tool"
        case ["messages", int(), "tool_calls", int(), "function", "arguments", *_]:
            return "tool call arguments"
        case _:
            return openai_chat_kinds.of_message(messages, path)


def of_generate(path: str) -> str:
    """The kind of a difference in what a generate request says."""
    match steps_of(path):
        case ["system", *_]:
            return "system text"
        case ["prompt", *_]:
            return "user text"
        case ["images", *_]:
            return "image"
        case _:
            return "request"
