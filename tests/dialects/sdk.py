"""The official clients, answered by a function in place of a server.

`CLIENTS` has, by dialect, one call of its client and how that tells an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import anthropic
import httpx
import httpx2
import ollama
import openai
from google import genai
from google.genai import errors, types

from flowproof.dialects.interface import Asked, Dialect
from flowproof.model.jsonvalue import JsonValue, write
from tests.dialects.tools import WITH_USAGE

URL = "http://127.0.0.1:1"
Answering: TypeAlias = Callable[[Any], Any]
"""A request of the client's own HTTP library, answered by a response of it."""


def _answering(dialect: Dialect, status: int, media: str, data: bytes, http: Any) -> Answering:
    """Answers every request that the dialect serves, and no other."""

    def answer(request: Any) -> Any:
        assert dialect.operation(request.method, request.url.path) is not None
        return http.Response(status, headers={"content-type": media}, content=data)

    return answer


def served(dialect: Dialect, body: JsonValue, status: int = 200, http: Any = httpx2) -> Answering:
    """Answers with a body."""
    return _answering(dialect, status, "application/json", write(body).encode(), http)


def served_stream(
    dialect: Dialect, frames: Iterable[bytes], asked: Asked = WITH_USAGE, http: Any = httpx2
) -> Answering:
    """Answers with a stream."""
    media = dialect.framing(asked).content_type
    return _answering(dialect, 200, media, b"".join(frames), http)


def _http(answer: Answering) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(answer))


def openai_client(answer: Answering) -> openai.OpenAI:
    return openai.OpenAI(
        api_key="none", base_url=f"{URL}/v1", http_client=_http(answer), max_retries=0
    )


def anthropic_client(answer: Answering) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="none", base_url=URL, http_client=_http(answer), max_retries=0
    )


def google_client(answer: Answering) -> genai.Client:
    options = types.HttpOptions(base_url=URL, httpx_client=_http(answer))
    return genai.Client(api_key="placeholder", http_options=options)


def ollama_client(answer: Answering) -> ollama.Client:
    return ollama.Client(URL, transport=httpx.MockTransport(answer))


@dataclass(frozen=True, slots=True)
class Client:
    """`call` asks once, as a stream or not, and reads all of it.

    `error` is what it raises on an answer of status 400, from which `code` reads our code where
    it has a place for one; `broken` is what it raises on an error inside a stream.
    """

    call: Callable[[Answering, bool], object]
    error: type[Exception]
    broken: type[Exception]
    code: Callable[[Any], str | None]
    http: Any = httpx2


def _read(answer: Any, stream: bool) -> object:
    return list(answer) if stream else answer


def _chat(answer: Answering, stream: bool) -> object:
    with openai_client(answer) as sdk:
        return _read(sdk.chat.completions.create(model="m", messages=[], stream=stream), stream)


def _completion(answer: Answering, stream: bool) -> object:
    with openai_client(answer) as sdk:
        return _read(sdk.completions.create(model="m", prompt="Hi", stream=stream), stream)


def _response(answer: Answering, stream: bool) -> object:
    with openai_client(answer) as sdk:
        return _read(sdk.responses.create(model="m", input="Hi", stream=stream), stream)


def _message(answer: Answering, stream: bool) -> object:
    with anthropic_client(answer) as sdk:
        made = sdk.messages.create(model="m", max_tokens=9, messages=[], stream=stream)
        return _read(made, stream)


def _content(answer: Answering, stream: bool) -> object:
    with google_client(answer) as sdk:
        if stream:
            return list(sdk.models.generate_content_stream(model="m", contents="Hi"))
        return sdk.models.generate_content(model="m", contents="Hi")


def _ollama_chat(answer: Answering, stream: bool) -> object:
    with ollama_client(answer) as sdk:
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        return _read(sdk.chat(**asked, stream=stream), stream)


def _ollama_text(answer: Answering, stream: bool) -> object:
    with ollama_client(answer) as sdk:
        asked: Any = {"model": "m", "prompt": "Hi"}
        return _read(sdk.generate(**asked, stream=stream), stream)


def _openai(call: Callable[[Answering, bool], object]) -> Client:
    return Client(call, openai.BadRequestError, openai.APIError, lambda error: error.code)


def _ollama(call: Callable[[Answering, bool], object]) -> Client:
    # Its errors have no place for a code.
    return Client(call, ollama.ResponseError, ollama.ResponseError, lambda _: None, httpx)


CLIENTS = {
    "openai.chat": _openai(_chat),
    "openai.completions": _openai(_completion),
    "openai.responses": _openai(_response),
    "anthropic.messages": Client(
        _message,
        anthropic.BadRequestError,
        anthropic.APIError,
        lambda error: error.error_code,
    ),
    "google.generate": Client(
        _content,
        errors.ClientError,
        errors.APIError,
        lambda error: error.details["error"]["details"][0]["reason"],
    ),
    "ollama.chat": _ollama(_ollama_chat),
    "ollama.generate": _ollama(_ollama_text),
}
