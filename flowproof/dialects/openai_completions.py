"""The legacy completions API of OpenAI: prompts in, texts out.

Transport, routes and errors are those of `openai_chat`; the streams are in
`openai_completions_stream`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from flowproof.dialects import openai_completions_kinds as kinds
from flowproof.dialects import openai_completions_stream as chunks
from flowproof.dialects.interface import (
    Answer,
    Asked,
    Assembler,
    Envelope,
    EnvelopePart,
    Said,
    Substitution,
)
from flowproof.dialects.openai_chat import OpenAIChat
from flowproof.dialects.openai_chat_chunks import number_of
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText
from flowproof.model.trajectory import Message, ToolCall
from flowproof.model.turn import Operation
from flowproof.model.visible import member_path

_NAMED = re.compile(r"((?:/deployments/([A-Za-z0-9_][A-Za-z0-9_.:-]*))?(?<!/chat)/completions)/?\Z")


class OpenAICompletions(OpenAIChat):
    """The dialect `openai.completions`."""

    name = "openai.completions"
    messages_path = "$.prompt"

    def operation(self, method: str, path: str) -> Operation | None:
        """`/completions` under any prefix that is not `/chat`; an Azure deployment before it is
        kept, since it names the model."""
        named = _NAMED.search(path)
        return Operation(self.name, named[1]) if named and method.upper() == "POST" else None

    def model_of(self, operation: Operation) -> str | None:
        """The deployment in the path of an Azure request."""
        named = _NAMED.fullmatch(operation.path)
        return named[2] if named else None

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
        if not isinstance(pinned, dict):
            return Envelope(())
        others = sorted(key for key in pinned if key not in ("model", "prompt"))
        named = [key for key in ("model", *others) if key in pinned]
        return Envelope(
            tuple(EnvelopePart(key, member_path("$", key), pinned[key]) for key in named)
        )

    def part_kind(self, name: str, path: str) -> str:
        """The name of the part."""
        return name

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference at a JSON path inside the prompt."""
        return kinds.of_message(pinned.get("prompt") if isinstance(pinned, dict) else None, path)

    def said(self, pinned: JsonValue) -> Said:
        """The model; instructions and tools have no place of their own."""
        model = pinned.get("model") if isinstance(pinned, dict) else None
        return Said(model if isinstance(model, str) else None, "", ())

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The prompts, in order; a list of tokens is one."""
        prompt = pinned.get("prompt") if isinstance(pinned, dict) else None
        if isinstance(prompt, list) and all(isinstance(one, str | list) for one in prompt):
            return prompt
        return () if prompt is None else [prompt]

    def message(self, raw: JsonValue, names: dict[str, str]) -> Message:
        """One prompt as the user's message."""
        match raw:
            case str():
                return Message("user", raw)
            case list():
                number = sum(isinstance(one, int | NumberText) for one in raw)
                tokens = "1 token" if number == 1 else f"{number} tokens"
                return Message("user", None, attachments=(f"prompt ({tokens})",))
            case _:
                return Message("user", None)

    def answer(self, body: JsonValue) -> Answer:
        """A message per choice, by index, and the usage; no message if one cannot be read."""
        told = body if isinstance(body, dict) else {}
        listed = told.get("choices")
        found: list[tuple[int, Message]] = []
        for position, choice in enumerate(listed if isinstance(listed, list) else ()):
            text = choice.get("text") if isinstance(choice, dict) else None
            if not isinstance(choice, dict) or not isinstance(text, str):
                # What remained of it could look as if less had been said.
                found.clear()
                break
            index = number_of(choice.get("index"), position)
            found.append((index, Message("assistant", text)))
        found.sort(key=lambda pair: pair[0])
        return Answer(tuple(message for _, message in found), _tokens(told.get("usage")))

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return chunks.CompletionAssembler(asked)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body, usage only if asked for."""
        return chunks.frames(body, usage=asked.stream_usage)


def _tokens(usage: JsonValue) -> tuple[int, int] | None:
    """Tokens in and out; the API leaves out the latter where it generated none."""
    if not isinstance(usage, dict):
        return None
    told = [
        number_of(usage.get("prompt_tokens"), -1),
        number_of(usage.get("completion_tokens", 0), -1),
    ]
    return (told[0], told[1]) if min(told) >= 0 else None
