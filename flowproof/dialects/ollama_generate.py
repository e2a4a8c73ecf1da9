"""Ollama's generate API: one prompt in, one text out, no conversation and no tools.

Its streams are in `ollama_stream`; `ollama_chat` is its sibling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowproof.dialects import ollama_kinds as kinds
from flowproof.dialects import ollama_message as messages
from flowproof.dialects import ollama_stream, requests
from flowproof.dialects.interface import Answer, Envelope, Said, Substitution
from flowproof.dialects.ollama import Ollama, tokens_of
from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue
from flowproof.model.trajectory import Message, ToolCall

_SAID = ("system", "prompt", "images")
_ANSWERED = {"response": "content", "thinking": "thinking", "tool_calls": "tool_calls"}


class OllamaGenerate(Ollama):
    """The dialect `ollama.generate`."""

    name = "ollama.generate"
    messages_path = "$.prompt"
    path = "/api/generate"
    form = ollama_stream.GENERATE

    def substitute(
        self,
        pinned: JsonObject,
        substitution: Substitution,
        earlier: Mapping[str, ToolCall],
    ) -> tuple[JsonObject, tuple[str, ...]]:
        """Nothing to replace: a request has no tool results."""
        return pinned, ()

    def envelope(self, pinned: JsonValue) -> Envelope:
        """The model, then every other parameter by name."""
        return requests.envelope(pinned, apart=_SAID) if isinstance(pinned, dict) else Envelope(())

    def part_kind(self, name: str, path: str) -> str:
        """The name of the part."""
        return name

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference at a JSON path in the instructions or the prompt."""
        return kinds.of_generate(path)

    def said(self, pinned: JsonValue) -> Said:
        """The model and the instructions."""
        model, system = text_of(member_of(pinned, "model")), text_of(member_of(pinned, "system"))
        return Said(model, system or "", ())

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The instructions, if there are any, then the prompt with its images, as chat messages
        have them."""
        if not isinstance(pinned, dict):
            return ()
        found: list[JsonValue] = []
        if pinned.get("system") not in (None, ""):
            found.append({"role": "system", "content": pinned["system"]})
        if "prompt" in pinned or "images" in pinned:
            prompt: JsonObject = {"role": "user", "content": pinned.get("prompt")}
            images: JsonObject = {"images": pinned["images"]} if "images" in pinned else {}
            found.append(prompt | images)
        return found

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One of these in neutral words."""
        return messages.message(raw, names)

    def answer(self, body: JsonValue) -> Answer:
        """The text and the usage; no message where there is none, or it cannot be read."""
        if not isinstance(body, dict):
            return Answer((), None)
        raw: JsonObject = {key: body[member] for member, key in _ANSWERED.items() if member in body}
        found: tuple[Message, ...] = ()
        if isinstance(body.get("response"), str) and messages.readable(raw):
            found = (messages.message(raw | {"role": "assistant"}, {}),)
        return Answer(found, tokens_of(body))
