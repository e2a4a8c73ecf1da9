"""Which requests go beside the conversation, where, and which never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.dialects.registry import find, find_side
from flowproof.dialects.side_endpoints import SIDE_ENDPOINTS, Policy, SideRoute, route

ANTHROPIC = (("anthropic-version", "2023-06-01"),)
GOOGLE = (("x-goog-api-key", "k"),)
AI_STUDIO = (("x-goog-api-client", "google-genai-sdk/3.6.1"),)
Sent = tuple[tuple[str, str], ...]


def routed(method: str, path: str, headers: Sent = (), query: str = "") -> SideRoute:
    found = route(method, path, query, headers)
    assert found is not None, path
    return found


# Method, path as sent, headers; then the endpoint, its operation's path, and the path upstream.
SERVED: dict[str, tuple[str, str, Sent, str, str, str]] = {
    "embeddings": (
        *("POST", "/v1/embeddings", ()),
        *("openai.embeddings", "/embeddings", "/embeddings"),
    ),
    "embeddings of a deployment": (
        *("POST", "/openai/deployments/ada-2/embeddings", ()),
        *("openai.embeddings", "/deployments/ada-2/embeddings", "/deployments/ada-2/embeddings"),
    ),
    "embeddings under a doubled version": (
        *("POST", "/v1/v1/embeddings/", ()),
        *("openai.embeddings", "/embeddings", "/embeddings"),
    ),
    "count of tokens of a response": (
        *("POST", "/v1/responses/input_tokens", ()),
        *("openai.count_tokens", "/responses/input_tokens", "/responses/input_tokens"),
    ),
    "models": ("GET", "/v1/models", (), "openai.models", "/models", "/models"),
    "a model": ("GET", "/v1/models/o3:x", (), "openai.models", "/models/o3:x", "/models/o3:x"),
    "a model with a slash": (
        *("GET", "/v1/models/a%2Fb", ()),
        *("openai.models", "/models/a%2Fb", "/models/a%2Fb"),
    ),
    "models through a prefix of Google's": (
        *("GET", "/v1beta/openai/models", ()),
        *("openai.models", "/models", "/models"),
    ),
    "count of tokens of a message": (
        *("POST", "/v1/messages/count_tokens", ANTHROPIC),
        *("anthropic.count_tokens", "/messages/count_tokens", "/v1/messages/count_tokens"),
    ),
    "Anthropic's models": (
        *("GET", "/v1/models", ANTHROPIC),
        *("anthropic.models", "/models", "/v1/models"),
    ),
    "Google's models by key": (
        *("GET", "/v1/models", GOOGLE),
        *("google.models", "/models", "/v1/models"),
    ),
    "Google's models by client": (
        *("GET", "/models", AI_STUDIO),
        *("google.models", "/models", "/v1beta/models"),
    ),
    "Google's models by version": (
        *("GET", "/v1beta/models/gemini-3", ()),
        *("google.models", "/models/gemini-3", "/v1beta/models/gemini-3"),
    ),
    "Google's tuned models": (
        *("GET", "/v1beta/tunedModels", GOOGLE),
        *("google.models", "/tunedModels", "/v1beta/tunedModels"),
    ),
    "Google's count of tokens": (
        *("POST", "/v1/models/g-3:countTokens", GOOGLE),
        *("google.count_tokens", "/models/g-3:countTokens", "/v1/models/g-3:countTokens"),
    ),
    "Google's embedding without version": (
        *("POST", "/models/e:embedContent", ()),
        *("google.embeddings", "/models/e:embedContent", "/v1beta/models/e:embedContent"),
    ),
    "Google's embeddings": (
        *("POST", "/v1beta/models/e:batchEmbedContents", ()),
        "google.embeddings",
        "/models/e:batchEmbedContents",
        "/v1beta/models/e:batchEmbedContents",
    ),
    "Ollama's embeddings": (
        *("POST", "/api/embed", ()),
        *("ollama.embeddings", "/api/embed", "/api/embed"),
    ),
    "Ollama's older embeddings": (
        *("POST", "/api/embeddings", ()),
        *("ollama.embeddings", "/api/embeddings", "/api/embeddings"),
    ),
    "tags": ("GET", "/v1/api/tags", (), "ollama.tags", "/api/tags", "/api/tags"),
    "show": ("POST", "/api/show", (), "ollama.show", "/api/show", "/api/show"),
    "version": ("GET", "/api/version", (), "ollama.version", "/api/version", "/api/version"),
    "ps": ("GET", "/api/ps", (), "ollama.ps", "/api/ps", "/api/ps"),
}


@pytest.mark.parametrize(
    ("method", "path", "headers", "name", "operation", "upstream"), SERVED.values(), ids=SERVED
)
def test_what_is_served(
    method: str, path: str, headers: Sent, name: str, operation: str, upstream: str
) -> None:
    found = routed(method, path, headers)
    assert (found.endpoint.name, found.operation.dialect) == (name, name)
    assert (found.operation.path, found.target.path) == (operation, upstream)
    assert found.endpoint.provider == name.partition(".")[0]
    assert find(method, path) is None, "no conversation"
    dialect, again = find_side(method, path, "", headers) or pytest.fail("not found")
    assert again == found
    assert "error" in dialect.error(400, "no", "code")


def test_counts_and_embeddings_are_pinned_and_the_rest_is_free() -> None:
    assert {name for _, _, _, name, _, _ in SERVED.values()} == set(SIDE_ENDPOINTS)
    for name, endpoint in SIDE_ENDPOINTS.items():
        asks = name.endswith((".embeddings", ".count_tokens"))
        assert endpoint.policy is (Policy.PINNED if asks else Policy.FREE)


@pytest.mark.parametrize(
    ("method", "path"),
    [("HEAD", "/api/hello"), ("HEAD", "/"), ("GET", "/"), ("GET", ""), ("HEAD", "/v1/api/hello")],
)
def test_probes(method: str, path: str) -> None:
    assert routed(method, path).endpoint.is_probe


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/v1/embeddings", id="wrong method"),
        pytest.param("POST", "/v1/models", id="a list is not posted to"),
        pytest.param("HEAD", "/v1/models", id="head of a list"),
        pytest.param("DELETE", "/v1/models/x", id="deleting"),
        pytest.param("GET", "/v1/models/../keys", id="climbing"),
        pytest.param("GET", "/v1/models/%2e%2e", id="climbing, escaped"),
        pytest.param("GET", "/v1/models/a%2F..", id="climbing behind a slash"),
        pytest.param("GET", "/v1/models/a/b", id="two segments"),
        pytest.param("POST", "/v1/embeddings\n", id="line end"),
        pytest.param("POST", "/v1/models/a/b:countTokens", id="two segments before a verb"),
        pytest.param("POST", "/v1/xembeddings", id="part of a segment"),
        pytest.param("POST", "/deployments/my%20ada/embeddings", id="an odd deployment"),
        pytest.param("POST", "/deployments/a/ada/embeddings", id="a deployment of two segments"),
        pytest.param("GET", "/v1beta/models/m:generateContent", id="a verb looked up"),
        pytest.param("GET", "/v1beta/tunedModels/m:deleteAll", id="a verb of a tuned model"),
        pytest.param("GET", "/v1", id="a prefix alone"),
        pytest.param("POST", "/", id="posting to the root"),
        pytest.param("POST", "/v1/chat/completions", id="a conversation"),
    ],
)
def test_what_is_not_served(method: str, path: str) -> None:
    assert route(method, path, "", ()) is None


@pytest.mark.parametrize("sent", ["key=s", "api-key=s", "ACCESS_TOKEN=s", "%6bey=s"])
def test_credentials_in_a_query_go_nowhere(sent: str) -> None:
    found = routed("GET", "/v1beta/models", (), f"pageSize=5&{sent}&pageToken=a%2Fb")
    assert found.operation.path == "/models?pageSize=5&pageToken=a%2Fb"
    assert found.target.query == "pageSize=5&pageToken=a%2Fb"


def test_only_of_a_list_does_the_query_say_what_is_asked() -> None:
    found = routed("POST", "/v1/messages/count_tokens", ANTHROPIC, "beta=true")
    assert found.operation.path == "/messages/count_tokens"
    assert found.target.query == "beta=true"


@given(st.sampled_from(("GET", "POST", "HEAD")), st.text(), st.text())
def test_any_target_is_looked_up(method: str, path: str, query: str) -> None:
    for prefix in ("", "/v1/models/", "/models/a:", "/deployments/"):
        found = route(method, prefix + path, query, ())
        if found is not None:
            assert ".." not in found.target.path or "/" not in path


def test_a_long_path_is_looked_up_fast() -> None:
    for path in ("/models/" * 8000, "/models/" + "a%2Fb" * 10_000, "/v1" * 20_000):
        for method in ("GET", "POST"):
            assert route(method, path + "!", "", ()) is None
