"""The official clients' calls beside a conversation: recorded, then served without an upstream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import anthropic
import ollama
import openai
import pytest
from google import genai

from flowproof.model.turn import SideCall
from tests.boundary.tools import recording, replaying
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Script

Act: TypeAlias = Callable[[str, str], Any]
"""What a user does with a client, given the base URL without a version and a text."""

VECTOR = [0.25, -0.5, 1.0]
BASE64 = "AACAPgAAAL8AAIA/"
"""The same vector as little-endian floats."""


def _openai(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="placeholder")


def _anthropic(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="placeholder")


def _google(url: str) -> genai.Client:
    return genai.Client(api_key="placeholder", http_options={"base_url": url})


def openai_embedding(url: str, text: str) -> Any:
    with _openai(url) as api:
        return api.embeddings.create(model="m", input=text).data[0].embedding


def openai_floats(url: str, text: str) -> Any:
    with _openai(url) as api:
        answer = api.embeddings.create(model="m", input=[text], encoding_format="float")
        return answer.data[0].embedding


def openai_count(url: str, text: str) -> Any:
    with _openai(url) as api:
        return api.responses.input_tokens.count(model="m", input=text).input_tokens


def openai_models(url: str, text: str) -> Any:
    with _openai(url) as api:
        return [model.id for model in api.models.list()]


def openai_model(url: str, text: str) -> Any:
    with _openai(url) as api:
        return api.models.retrieve("team/small").id


def anthropic_count(url: str, text: str) -> Any:
    with _anthropic(url) as api:
        said: Any = [{"role": "user", "content": text}]
        return api.messages.count_tokens(model="m", messages=said).input_tokens


def anthropic_models(url: str, text: str) -> Any:
    with _anthropic(url) as api:
        return [model.id for model in api.models.list(limit=1)]


def google_count(url: str, text: str) -> Any:
    with _google(url) as api:
        return api.models.count_tokens(model="gemini-3", contents=text).total_tokens


def google_embedding(url: str, text: str) -> Any:
    with _google(url) as api:
        answer = api.models.embed_content(model="embedding-1", contents=text)
    return [each.values for each in answer.embeddings or ()]


def google_models(url: str, text: str) -> Any:
    with _google(url) as api:
        return [model.name for model in api.models.list()]


def ollama_embedding(url: str, text: str) -> Any:
    with ollama.Client(host=url) as api:
        return list(api.embed(model="m", input=text).embeddings[0])


def ollama_older_embedding(url: str, text: str) -> Any:
    with ollama.Client(host=url) as api:
        return list(api.embeddings(model="m", prompt=text).embedding)


def ollama_tags(url: str, text: str) -> Any:
    with ollama.Client(host=url) as api:
        return [model.model for model in api.list().models]


def ollama_ps(url: str, text: str) -> Any:
    with ollama.Client(host=url) as api:
        return [model.model for model in api.ps().models]


def ollama_show(url: str, text: str) -> Any:
    with ollama.Client(host=url) as api:
        return api.show(text).capabilities


def embeddings(value: Any) -> Any:
    data = [{"object": "embedding", "index": 0, "embedding": value}]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": "m", "data": data, "usage": usage}


MODEL = {"id": "small", "object": "model", "created": 1, "owned_by": "team"}
CLAUDE = {"id": "c", "type": "model", "display_name": "C", "created_at": "2026-01-01T00:00:00Z"}
FIRST_PAGE = {"data": [CLAUDE], "has_more": True, "first_id": "c", "last_id": "c"}
LAST_PAGE = {"data": [CLAUDE | {"id": "d"}], "has_more": False, "first_id": "d", "last_id": "d"}


@dataclass(frozen=True, slots=True)
class Case:
    """What a client is used for, the answers by the target it must be asked at, what its user
    gets, and the path of the difference if the text changes (None: the text is not sent)."""

    provider: str
    act: Act
    answers: dict[str, Any]
    result: Any
    path: str | None = None


CASES = {
    "openai embedding in base64": Case(
        *("openai", openai_embedding, {"/v1/embeddings": embeddings(BASE64)}, VECTOR, "$.input")
    ),
    "openai embedding in floats": Case(
        *("openai", openai_floats, {"/v1/embeddings": embeddings(VECTOR)}, VECTOR, "$.input[0]")
    ),
    "openai count": Case(
        "openai",
        openai_count,
        {"/v1/responses/input_tokens": {"object": "response.input_tokens", "input_tokens": 5}},
        *(5, "$.input"),
    ),
    "openai models": Case(
        "openai", openai_models, {"/v1/models": {"object": "list", "data": [MODEL]}}, ["small"]
    ),
    "openai model": Case("openai", openai_model, {"/v1/models/team%2Fsmall": MODEL}, "small"),
    "anthropic count": Case(
        "anthropic",
        anthropic_count,
        {"/v1/messages/count_tokens": {"input_tokens": 7}},
        *(7, "$.messages[0].content"),
    ),
    "anthropic models": Case(
        "anthropic",
        anthropic_models,
        {"/v1/models?limit=1": FIRST_PAGE, "/v1/models?limit=1&after_id=c": LAST_PAGE},
        ["c", "d"],
    ),
    "google count": Case(
        "google",
        google_count,
        {"/v1/models/gemini-3:countTokens": {"totalTokens": 3}},
        *(3, "$.contents[0].parts[0].text"),
    ),
    "google embedding": Case(
        "google",
        google_embedding,
        {"/v1/models/embedding-1:batchEmbedContents": {"embeddings": [{"values": VECTOR}]}},
        *([VECTOR], "$.requests[0].content.parts[0].text"),
    ),
    "google models": Case(
        "google",
        google_models,
        {"/v1/models": {"models": [{"name": "models/gemini-3"}]}},
        ["models/gemini-3"],
    ),
    "ollama embedding": Case(
        *("ollama", ollama_embedding, {"/api/embed": {"embeddings": [VECTOR]}}, VECTOR, "$.input")
    ),
    "ollama older embedding": Case(
        "ollama",
        ollama_older_embedding,
        {"/api/embeddings": {"embedding": VECTOR}},
        *(VECTOR, "$.prompt"),
    ),
    "ollama tags": Case("ollama", ollama_tags, {"/api/tags": {"models": [{"model": "m"}]}}, ["m"]),
    "ollama ps": Case("ollama", ollama_ps, {"/api/ps": {"models": [{"model": "m"}]}}, ["m"]),
    "ollama show": Case(
        "ollama",
        ollama_show,
        {"/api/show": {"model_info": {}, "capabilities": ["tools"]}},
        ["tools"],
        "$.model",
    ),
}


def bare(url: str) -> str:
    return url.removesuffix("/v1")


def recorded(case: Case) -> tuple[SideCall, ...]:
    """The calls of a recording in which the client is used twice; the upstream is gone."""

    def respond(request: Received) -> Script:
        found = case.answers.get(request.target)
        return up.answer({"error": request.target}, 404) if found is None else up.answer(found)

    with FakeUpstream(respond) as upstream:
        base = upstream.url if case.provider == "openai" else bare(upstream.url)
        with recording(base, provider=case.provider) as boundary:
            for _ in range(2):
                assert case.act(bare(boundary.url), "a") == case.result
            found = boundary.finish_beside()
            assert boundary.finish().turns == ()
    assert found.problems == ()
    return found.calls


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_client_gets_the_same_once_the_upstream_is_gone(case: Case) -> None:
    calls = recorded(case)
    assert len(calls) == len(case.answers)
    with replaying([], beside=calls) as replay:
        for _ in range(3):
            assert case.act(bare(replay.url), "a") == case.result
        assert replay.cassette.divergence is None
        assert (replay.cassette.requests, replay.side_calls.missing) == (0, ())


@pytest.mark.parametrize(
    "case",
    [case for case in CASES.values() if case.path],
    ids=[name for name, case in CASES.items() if case.path],
)
def test_a_changed_text_is_refused_and_its_place_named(case: Case) -> None:
    calls = recorded(case)
    with replaying([], beside=calls) as replay:
        with pytest.raises(Exception, match="flowproof: replay diverged"):
            case.act(bare(replay.url), "b")
        divergence = replay.cassette.divergence
        assert replay.side_calls.requests == 1, "no client tries again"
    assert divergence is not None
    assert divergence.path == case.path
    assert [(line.mark, line.text) for line in divergence.excerpt] == [("-", '"a"'), ("+", '"b"')]


def test_a_client_is_told_of_a_list_that_was_not_recorded() -> None:
    with replaying([]) as replay:
        for act in (openai_models, anthropic_models, google_models, ollama_tags):
            with pytest.raises(Exception, match="flowproof: replay diverged"):
                act(bare(replay.url), "a")
        assert replay.cassette.divergence is not None
        assert replay.cassette.divergence.kind == "side call"
