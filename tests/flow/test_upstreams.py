"""The upstreams of all providers together, and the one header that each gets its key in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from flowproof.errors import UsageError
from flowproof.flow.providers import ANTHROPIC, GOOGLE, OLLAMA, OPENAI, PROVIDERS, Provider
from flowproof.flow.upstream import authorization, choose_upstream, choose_upstreams

GATEWAY = "http://gateway.example/v1"
AZURE = "https://r.openai.azure.com/openai"


def test_a_gateway_serves_every_provider() -> None:
    upstreams = choose_upstreams({"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, "FLOWPROOF_AGENT_KEY": "k"})
    assert {name: choice.url for name, choice in upstreams.chosen.items()} == {
        "openai": GATEWAY,
        "anthropic": "http://gateway.example",
        "google": "http://gateway.example",
        "ollama": "http://gateway.example",
        "azure": "http://gateway.example/openai",
    }
    assert {choice.key for choice in upstreams.chosen.values()} == {"k"}
    assert upstreams.missing == {}


def test_each_public_endpoint_gets_its_own_key() -> None:
    keys = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "GOOGLE_API_KEY": "g"}
    upstreams = choose_upstreams({**keys, "FLOWPROOF_AGENT_KEY": "own"})
    assert {name: choice.key for name, choice in upstreams.chosen.items()} == {
        "openai": "o",
        "anthropic": "a",
        "google": "g",
    }
    assert set(upstreams.missing) == {"ollama", "azure"}


def test_one_usable_upstream_is_enough() -> None:
    environ = {"OPENAI_API_KEY": "o", "ANTHROPIC_BASE_URL": "gateway"}
    upstreams = choose_upstreams(environ)
    assert set(upstreams.chosen) == {"openai"}
    assert "ANTHROPIC_BASE_URL is not an http or https URL" in upstreams.missing["anthropic"]
    assert "set FLOWPROOF_UPSTREAM_GOOGLE" in upstreams.missing["google"]
    keys = "GEMINI_API_KEY or GOOGLE_API_KEY to use https://generative"
    assert keys in upstreams.missing["google"]
    assert "OLLAMA_HOST" in upstreams.missing["ollama"]


def test_without_any_the_malformed_one_is_named() -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_BASE_URL is not an http"):
        choose_upstreams({"ANTHROPIC_BASE_URL": "gateway"})


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        pytest.param("FLOWPROOF_UPSTREAM_GEMINI", "FLOWPROOF_UPSTREAM_GOOGLE", id="a product"),
        pytest.param("FLOWPROOF_UPSTREAM_OPENIA", "FLOWPROOF_UPSTREAM_OPENAI", id="misspelt"),
        pytest.param("FLOWPROOF_UPSTREAM_azure", "FLOWPROOF_UPSTREAM_AZURE", id="in lower case"),
        pytest.param("FLOWPROOF_UPSTREAM_X", None, id="like nothing"),
        pytest.param("FLOWPROOF_UPSTREAM_", None, id="without a name"),
    ],
)
def test_a_misspelt_variable_is_an_error_at_once(variable: str, meant: str | None) -> None:
    environ = {"OPENAI_API_KEY": "o", variable: GATEWAY}
    with pytest.raises(UsageError, match=f"{variable} names no upstream that flow") as caught:
        choose_upstreams(environ)
    assert ("did you mean" in str(caught.value)) is (meant is not None)
    assert f"did you mean {meant}?" in str(caught.value) or meant is None
    assert "FLOWPROOF_UPSTREAM_OLLAMA" in str(caught.value)
    assert choose_upstreams({**environ, variable: " "}).chosen["openai"].key == "o"


def azures(**environ: str) -> tuple[str, str, str | None, dict[str, str]] | None:
    """Where clients of Azure go: URL, what named it, whose key; and the header."""
    choice = choose_upstreams(environ).chosen.get("azure")
    if choice is None:
        return None
    return choice.url, choice.named_by, choice.key_from, authorization(choice)


@pytest.mark.parametrize("variable", ["AZURE_OPENAI_ENDPOINT", "FLOWPROOF_UPSTREAM_AZURE"])
@pytest.mark.parametrize("host", ["https://r.openai.azure.com", "https://llm.example/team"])
@pytest.mark.parametrize("end", ["", "/", "/openai/v1/"])
def test_azures_own_variables_name_its_upstream(variable: str, host: str, end: str) -> None:
    keys = {"AZURE_OPENAI_API_KEY": "a", "OPENAI_API_KEY": "o"}
    found = azures(**{variable: host + end}, **keys)
    assert found == (f"{host}/openai", variable, "AZURE_OPENAI_API_KEY", {"api-key": "a"})


def test_azures_clients_go_where_clients_of_openai_are_sent() -> None:
    endpoint = {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com"}
    assert azures(FLOWPROOF_UPSTREAM_OPENAI=GATEWAY, **endpoint) is None
    assert "azure" not in choose_upstreams({"FLOWPROOF_UPSTREAM_OPENAI": GATEWAY}).missing
    assert "azure" not in choose_upstreams({"OPENAI_BASE_URL": GATEWAY}).missing
    found = azures(FLOWPROOF_AGENT_UPSTREAM=GATEWAY, FLOWPROOF_AGENT_KEY="k", **endpoint)
    assert found is not None
    assert found[:3] == (
        "http://gateway.example/openai",
        "FLOWPROOF_AGENT_UPSTREAM",
        "FLOWPROOF_AGENT_KEY",
    )


def test_azures_clients_are_never_sent_to_openai_for_a_key_alone() -> None:
    missing = choose_upstreams({"OPENAI_API_KEY": "o"}).missing["azure"]
    assert "AZURE_OPENAI_ENDPOINT" in missing and "FLOWPROOF_UPSTREAM_AZURE" in missing
    assert "openai.com" not in missing


def test_an_endpoint_of_azure_is_sent_no_other_key() -> None:
    found = azures(AZURE_OPENAI_ENDPOINT="https://llm.example", OPENAI_API_KEY="o")
    assert found == ("https://llm.example/openai", "AZURE_OPENAI_ENDPOINT", None, {})


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        pytest.param(ANTHROPIC, "ANTHROPIC_AUTH_TOKEN", id="Anthropic"),
        pytest.param(PROVIDERS["azure"], "AZURE_OPENAI_AD_TOKEN", id="Azure"),
    ],
)
def test_a_token_travels_as_one(provider: Provider, variable: str) -> None:
    environ = {provider.upstream_variable: "https://llm.example", variable: "t"}
    choice = choose_upstream(provider, environ)
    assert (choice.key_from, authorization(choice)) == (variable, {"authorization": "Bearer t"})
    choice = choose_upstream(provider, {**environ, provider.key_variables[0]: "k"})
    assert authorization(choice) == {provider.key_header: "k"}


def test_a_token_of_anthropics_is_enough() -> None:
    choice = choose_upstream(ANTHROPIC, {"ANTHROPIC_AUTH_TOKEN": "t"})
    assert choice.url == "https://api.anthropic.com"
    assert authorization(choice) == {"authorization": "Bearer t"}


@pytest.mark.parametrize("environ", [{}, {"FLOWPROOF_AGENT_KEY": "k"}, {"OLLAMA_API_KEY": "k"}])
def test_nothing_named_tells_all_that_would_do(environ: Mapping[str, str]) -> None:
    with pytest.raises(UsageError, match="no upstream is named") as caught:
        choose_upstreams(environ)
    named = {"FLOWPROOF_AGENT_UPSTREAM", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"}
    for provider in PROVIDERS.values():
        named |= {provider.upstream_variable, provider.base_variable}
    named.add("GOOGLE_API_KEY")
    assert {name for name in named if name not in str(caught.value)} == set()
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()][1:] == [
        "  a provider's key, for its public endpoint",
        "  a provider's own base URL",
        "  FLOWPROOF_AGENT_UPSTREAM",
        "  the base URL for one provider alone",
    ]


@pytest.mark.parametrize(
    "variable", ["FLOWPROOF_AGENT_UPSTREAM", *(p.upstream_variable for p in PROVIDERS.values())]
)
def test_a_malformed_variable_of_our_own_is_an_error_at_once(variable: str) -> None:
    good = {"OPENAI_API_KEY": "o", **{p.upstream_variable: GATEWAY for p in PROVIDERS.values()}}
    with pytest.raises(UsageError, match=f"{variable} is not an http or https URL"):
        choose_upstreams({**good, variable: "gateway"})


def test_a_key_of_our_own_that_no_header_can_carry_is_an_error_at_once() -> None:
    environ = {"FLOWPROOF_UPSTREAM_OPENAI": GATEWAY, "OPENAI_API_KEY": "o"}
    assert choose_upstreams(environ).chosen["openai"].key == "o"
    with pytest.raises(UsageError, match="FLOWPROOF_AGENT_KEY holds characters"):
        choose_upstreams({**environ, "FLOWPROOF_AGENT_KEY": "a\nb"})


@pytest.mark.parametrize(
    ("key", "header"),
    [
        pytest.param("sk-1", "Bearer sk-1", id="bare"),
        pytest.param("Bearer sk-1", "Bearer sk-1", id="with its scheme"),
        pytest.param("Basic dTpw", "Basic dTpw", id="with another scheme"),
        pytest.param(" sk-1\n", "Bearer sk-1", id="blanks around it"),
    ],
)
def test_the_header(key: str, header: str) -> None:
    choice = choose_upstream(OPENAI, {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, "OPENAI_API_KEY": key})
    assert authorization(choice) == {"authorization": header}


def test_without_a_key_there_is_no_header() -> None:
    assert authorization(choose_upstream(OPENAI, {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY})) == {}


@pytest.mark.parametrize(
    ("provider", "url", "key", "header"),
    [
        pytest.param(OPENAI, GATEWAY, "k", ("authorization", "Bearer k"), id="openai"),
        pytest.param(ANTHROPIC, GATEWAY, "k", ("x-api-key", "k"), id="anthropic"),
        pytest.param(
            ANTHROPIC,
            GATEWAY,
            "sk-ant-oat01-k",
            ("authorization", "Bearer sk-ant-oat01-k"),
            id="an OAuth token",
        ),
        pytest.param(
            ANTHROPIC, GATEWAY, "Bearer k", ("authorization", "Bearer k"), id="with its scheme"
        ),
        pytest.param(GOOGLE, GATEWAY, "k", ("x-goog-api-key", "k"), id="google"),
        pytest.param(OLLAMA, GATEWAY, "k", ("authorization", "Bearer k"), id="ollama"),
        pytest.param(OPENAI, AZURE, "k", ("api-key", "k"), id="Azure"),
        pytest.param(
            OPENAI, AZURE, "Bearer k", ("authorization", "Bearer k"), id="Azure with a token"
        ),
        pytest.param(
            OPENAI,
            "https://openai.azure.com.example",
            "k",
            ("authorization", "Bearer k"),
            id="no Azure",
        ),
    ],
)
def test_a_key_goes_into_one_header(
    provider: Provider, url: str, key: str, header: tuple[str, str]
) -> None:
    environ = {provider.upstream_variable: url, "FLOWPROOF_AGENT_KEY": key}
    assert authorization(choose_upstream(provider, environ)) == dict([header])
