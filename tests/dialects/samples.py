"""A request, an answer and a stream of each dialect, for the tests that hold for all of them.

A new dialect needs a file in `samples`, a stream here, and a client in `sdk`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from flowproof.dialects import registry
from flowproof.dialects.interface import Asked, Dialect, Target
from flowproof.dialects.names import SPOKEN
from flowproof.model.jsonvalue import JsonObject, JsonValue, parse
from tests.dialects import anthropic_messages_tools as messages
from tests.dialects import google_generate_tools as gemini
from tests.dialects import ollama_tools as ollama
from tests.dialects import openai_chat_tools as chat
from tests.dialects import openai_completions_tools as completions
from tests.dialects import openai_responses_tools as responses
from tests.dialects.strategies import hostile
from tests.dialects.tools import WITH_USAGE

_FILES = Path(__file__).with_name("samples")


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream as the API sends it, asked for so, and the body that it amounts to.

    `end` is how a line ends in it, and `ends` are the other ways that clients accept.
    """

    frames: Sequence[bytes]
    body: JsonValue
    asked: Asked = WITH_USAGE
    end: bytes = b"\n"
    ends: Sequence[bytes] = (b"\n", b"\r\n", b"\r")


@dataclass(frozen=True, slots=True)
class Sample:
    """What one dialect speaks: `also` has values that a stream or a request may hold besides."""

    name: str
    target: Target
    request: JsonObject
    body: JsonObject
    also: Sequence[JsonValue]

    @property
    def dialect(self) -> Dialect:
        return registry.by_name(self.name)

    def odd(self) -> st.SearchStrategy[JsonValue]:
        """Any value made of what the dialect speaks."""
        return hostile(self.request, self.body, [*self.also])

    @property
    def stream(self) -> Stream:
        return STREAMS[self.name][0]


def _generated() -> Stream:
    last: JsonObject = {**ollama.head(9), "response": "", **ollama.END}
    frames = [ollama.text_line("Grü", 1), ollama.text_line("ße 👋", 2), ollama.raw_line(last)]
    return Stream(frames, last | {"response": "Grüße 👋"}, ends=(b"\n", b"\r\n"))


STREAMS: dict[str, tuple[Stream, ...]] = {
    "openai.chat": (Stream(chat.TEXT, chat.TEXT_BODY),),
    "openai.responses": (Stream(responses.TEXT, responses.BODY),),
    "openai.completions": (Stream(completions.TEXT, completions.TEXT_BODY),),
    "anthropic.messages": (Stream(messages.TEXT, messages.TEXT_BODY),),
    "google.generate": (
        Stream(gemini.events(*gemini.TEXT), gemini.TEXT_BODY, gemini.EVENTS, end=b"\r\n"),
        Stream([gemini.array(*gemini.TEXT)], gemini.TEXT_BODY, gemini.ARRAY),
    ),
    "ollama.chat": (Stream(ollama.TEXT, ollama.TEXT_BODY, ends=(b"\n", b"\r\n")),),
    "ollama.generate": (_generated(),),
}


def _sample(name: str) -> Sample:
    told = parse((_FILES / f"{name}.json").read_bytes())
    match told:
        case {"path": str(path), "request": dict(request), "body": dict(body), "also": list(also)}:
            return Sample(name, Target(path), request, body, also)
        case _:
            raise AssertionError(f"no sample of {name}")


SAMPLES = {name: _sample(name) for name in SPOKEN}
