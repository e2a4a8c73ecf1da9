"""What the tests of Ollama's dialects share: writing lines, cutting and assembling them."""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects.interface import Assembled, Dialect
from flowproof.dialects.ndjson import LINES
from flowproof.dialects.ollama_chat import OllamaChat
from flowproof.dialects.ollama_generate import OllamaGenerate
from flowproof.model.jsonvalue import JsonObject, JsonValue, write
from tests.dialects import tools

CHAT = OllamaChat()
GENERATE = OllamaGenerate()
STREAMING = tools.WITH_USAGE


def split(chunks: Iterable[bytes]) -> tuple[list[bytes], bytes]:
    return tools.split(chunks, LINES)


def assemble(lines: Iterable[bytes], dialect: Dialect = CHAT) -> Assembled:
    return tools.assembled(dialect, lines)


def raw_line(value: JsonValue) -> bytes:
    """A value on a line of its own, as servers send it."""
    return write(value).encode() + b"\n"


def message_line(second: int = 0, **message: JsonValue) -> bytes:
    """A line of a chat that goes on."""
    said: JsonObject = {"role": "assistant", "content": ""}
    return raw_line({**head(second), "message": said | message, "done": False})


def text_line(text: str, second: int = 0, **others: JsonValue) -> bytes:
    """A line of generated text that goes on."""
    return raw_line({**head(second), "response": text, **others, "done": False})


def head(second: int = 0) -> JsonObject:
    return {"model": "qwen3", "created_at": f"2026-11-30T10:00:{second:02}.123456789Z"}


END: JsonObject = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 5191566416,
    "load_duration": 2154458,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 383809000,
    "eval_count": 298,
    "eval_duration": 4799921000,
}


def call(name: str, arguments: JsonValue, **others: JsonValue) -> JsonObject:
    return {**others, "function": {"name": name, "arguments": arguments}}


LAST: JsonObject = {**head(9), "message": {"role": "assistant", "content": ""}, **END}
TEXT = [
    message_line(1, thinking="Hm"),
    message_line(2, thinking="."),
    message_line(3, content="Grü"),
    message_line(4, content="ße"),
    message_line(5, content=" 👋"),
    raw_line(LAST),
]
TEXT_BODY: JsonObject = {
    **head(9),
    "message": {"role": "assistant", "content": "Grüße 👋", "thinking": "Hm."},
    **END,
}
