"""Every dialect that flowproof speaks; the boundary looks here for who serves a request.

Each is loaded when it is first needed: most runs need one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from flowproof.dialects.interface import Dialect
from flowproof.dialects.names import SPOKEN
from flowproof.model.turn import Operation

if TYPE_CHECKING:
    from flowproof.dialects.side_endpoints import SideRoute


def _openai_chat() -> Dialect:
    from flowproof.dialects.openai_chat import OpenAIChat

    return OpenAIChat()


def _openai_responses() -> Dialect:
    from flowproof.dialects.openai_responses import OpenAIResponses

    return OpenAIResponses()


def _openai_completions() -> Dialect:
    from flowproof.dialects.openai_completions import OpenAICompletions

    return OpenAICompletions()


def _anthropic_messages() -> Dialect:
    from flowproof.dialects.anthropic_messages import AnthropicMessages

    return AnthropicMessages()


def _google_generate() -> Dialect:
    from flowproof.dialects.google_generate import GoogleGenerate

    return GoogleGenerate()


def _ollama_chat() -> Dialect:
    from flowproof.dialects.ollama_chat import OllamaChat

    return OllamaChat()


def _ollama_generate() -> Dialect:
    from flowproof.dialects.ollama_generate import OllamaGenerate

    return OllamaGenerate()


_LOADERS: Mapping[str, Callable[[], Dialect]] = {
    "openai.chat": _openai_chat,
    "openai.responses": _openai_responses,
    "openai.completions": _openai_completions,
    "anthropic.messages": _anthropic_messages,
    "google.generate": _google_generate,
    "ollama.chat": _ollama_chat,
    "ollama.generate": _ollama_generate,
}
_PARTS = (
    ("/chat/completions", "openai.chat"),
    ("/responses", "openai.responses"),
    ("/completions", "openai.completions"),
    ("/messages", "anthropic.messages"),
    (":generateContent", "google.generate"),
    (":streamGenerateContent", "google.generate"),
    ("/api/chat", "ollama.chat"),
    ("/api/generate", "ollama.generate"),
)
"""What a path holds that a dialect serves. Several dialects may be tried for one path, in this
order; the dialect itself decides."""


@cache
def by_name(name: str) -> Dialect:
    """The dialect of that name.

    :raises KeyError: if flowproof speaks no such dialect.
    """
    return _LOADERS[name]()


class _Dialects(Mapping[str, Dialect]):
    def __getitem__(self, name: str) -> Dialect:
        return by_name(name)

    def __iter__(self) -> Iterator[str]:
        return iter(SPOKEN)

    def __len__(self) -> int:
        return len(SPOKEN)


DIALECTS: Mapping[str, Dialect] = _Dialects()
"""All dialects by name."""


def find(method: str, path: str) -> tuple[Dialect, Operation] | None:
    """The dialect that serves a request path (without query), with the operation it names."""
    for part, name in _PARTS:
        if part in path:
            dialect = by_name(name)
            operation = dialect.operation(method, path)
            if operation is not None:
                return dialect, operation
    return None


def find_side(
    method: str, path: str, query: str, headers: Sequence[tuple[str, str]]
) -> tuple[Dialect, SideRoute] | None:
    """The side endpoint that a request asks for, with the dialect whose clients read its
    errors."""
    from flowproof.dialects.side_endpoints import route

    found = route(method, path, query, headers)
    return None if found is None else (by_name(found.endpoint.dialect), found)


_HEADERS: Sequence[tuple[str, str]] = (
    ("anthropic-version", "anthropic.messages"),
    ("x-goog-api-key", "google.generate"),
    ("x-goog-api-client", "google.generate"),
)
_LOOKS: Sequence[tuple[str, str]] = (
    ("/messages", "anthropic.messages"),
    ("/v1beta", "google.generate"),
    ("/models/", "google.generate"),
    ("/api/", "ollama.chat"),
)


def resembling(path: str, headers: Sequence[tuple[str, str]]) -> Dialect:
    """The dialect whose clients send such a request, though none serves it: `openai.chat` where
    nothing tells."""
    sent = {name for name, _ in headers}
    hints = [
        *(name for header, name in _HEADERS if header in sent),
        *(name for part, name in _LOOKS if part in path),
    ]
    return by_name(next(iter(hints), "openai.chat"))
