"""The legacy completions API of OpenAI: prompts in, texts out.

Transport, routes and errors are in `openai`; the streams are in `openai_completions_stream`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flowproof.dialects import openai_completions_kinds as kinds
from flowproof.dialects import openai_completions_stream as chunks
from flowproof.dialects import requests
from flowproof.dialects.answers import messages_by_index, tokens
from flowproof.dialects.interface import Answer, Asked, Assembler, Envelope, Said, Substitution
from flowproof.dialects.openai import ChunkedOpenAI, route
from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue, NumberText
from flowproof.model.trajectory import Message, ToolCall


class OpenAICompletions(ChunkedOpenAI):
    """The dialect `openai.completions`."""

    name = "openai.completions"
    messages_path = "$.prompt"
    named = route("(?<!/chat)/completions")

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
        return (
            requests.envelope(pinned, apart=("prompt",))
            if isinstance(pinned, dict)
            else Envelope(())
        )

    def part_kind(self, name: str, path: str) -> str:
        """The name of the part."""
        return name

    def message_kind(self, pinned: JsonValue, path: str) -> str:
        """What a reader calls a difference at a JSON path inside the prompt."""
        return kinds.of_message(member_of(pinned, "prompt"), path)

    def said(self, pinned: JsonValue) -> Said:
        """The model; instructions and tools have no place of their own."""
        return Said(text_of(member_of(pinned, "model")), "", ())

    def message_list(self, pinned: JsonValue) -> Sequence[JsonValue]:
        """The prompts, in order; a list of tokens is one."""
        prompt = member_of(pinned, "prompt")
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
        usage = member_of(body, "usage")
        # The API leaves out the count of what it generated where that is nothing.
        given = usage.get("completion_tokens", 0) if isinstance(usage, dict) else None
        return Answer(
            messages_by_index(member_of(body, "choices"), _answered),
            tokens(member_of(usage, "prompt_tokens"), given),
        )

    def assembler(self, asked: Asked) -> Assembler:
        """A fresh assembler for one stream asked for so."""
        return chunks.CompletionAssembler(asked)

    def stream(self, body: JsonValue, asked: Asked) -> Iterator[bytes]:
        """The frames that say the same as a plain response body, usage only if asked for."""
        return chunks.frames(body, usage=asked.stream_usage)


def _answered(choice: JsonValue) -> Message | None:
    text = text_of(member_of(choice, "text"))
    return None if text is None else Message("assistant", text)
