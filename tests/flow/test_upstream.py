"""Where a recording's requests go, with which key, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import UsageError
from flowproof.flow.providers import (
    ANTHROPIC,
    GOOGLE,
    OLLAMA,
    OPENAI,
    PROVIDERS,
    Provider,
)
from flowproof.flow.upstream import choose_upstream

GATEWAY = "http://gateway.example/v1"
SAFE = "https://gateway.example/v1"
KEY = "FLOWPROOF_AGENT_KEY"
OWN = {KEY: "own"}
KEYS = {
    "OPENAI_API_KEY": "openai",
    "ANTHROPIC_API_KEY": "anthropic",
    "GEMINI_API_KEY": "gemini",
    "OLLAMA_API_KEY": "ollama",
    "AZURE_OPENAI_API_KEY": "azure",
}


@pytest.mark.parametrize(
    ("environ", "url", "named_by", "key_from"),
    [
        pytest.param(
            {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, "OPENAI_BASE_URL": "http://other/v1"},
            GATEWAY,
            "FLOWPROOF_AGENT_UPSTREAM",
            None,
            id="named twice",
        ),
        pytest.param(
            {"OPENAI_BASE_URL": "http://other/v1", **KEYS},
            "http://other/v1",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            id="the provider's variable",
        ),
        pytest.param(
            {"FLOWPROOF_AGENT_UPSTREAM": " ", "OPENAI_BASE_URL": "http://other/v1"},
            "http://other/v1",
            "OPENAI_BASE_URL",
            None,
            id="a blank counts as unset",
        ),
        pytest.param(
            {"OPENAI_API_KEY": "openai"},
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "OPENAI_API_KEY",
            id="the public endpoint",
        ),
        pytest.param(
            {"OPENAI_API_KEY": "openai", **OWN},
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "FLOWPROOF_AGENT_KEY",
            id="the public endpoint with our key",
        ),
        pytest.param(
            {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, **KEYS, **OWN},
            GATEWAY,
            "FLOWPROOF_AGENT_UPSTREAM",
            "FLOWPROOF_AGENT_KEY",
            id="our key first",
        ),
        pytest.param(
            {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, **KEYS},
            GATEWAY,
            "FLOWPROOF_AGENT_UPSTREAM",
            "OPENAI_API_KEY",
            id="then the provider's own",
        ),
        pytest.param(
            {"FLOWPROOF_AGENT_UPSTREAM": SAFE, "ANTHROPIC_API_KEY": "anthropic"},
            SAFE,
            "FLOWPROOF_AGENT_UPSTREAM",
            "ANTHROPIC_API_KEY",
            id="another one's for a named upstream",
        ),
        pytest.param(
            {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, "GEMINI_API_KEY": "gemini"},
            GATEWAY,
            "FLOWPROOF_AGENT_UPSTREAM",
            None,
            id="but no third one's",
        ),
    ],
)
def test_openai_goes_to(
    environ: Mapping[str, str], url: str, named_by: str, key_from: str | None
) -> None:
    choice = choose_upstream(OPENAI, environ)
    assert (choice.url, choice.named_by, choice.key_from) == (url, named_by, key_from)
    assert choice.key == (environ[key_from] if key_from else None)


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="nothing"),
        pytest.param(OWN, id="only our key"),
        pytest.param({"ANTHROPIC_API_KEY": "anthropic"}, id="only another provider's key"),
        pytest.param({"OPENAI_API_KEY": "  "}, id="a blank key"),
    ],
)
def test_nothing_names_an_upstream(environ: Mapping[str, str]) -> None:
    with pytest.raises(UsageError, match=r"FLOWPROOF_AGENT_UPSTREAM .* or OPENAI_BASE_URL"):
        choose_upstream(OPENAI, environ)


@pytest.mark.parametrize(
    ("provider", "key_from"),
    [
        pytest.param(OPENAI, "OPENAI_API_KEY", id="openai"),
        pytest.param(ANTHROPIC, "ANTHROPIC_API_KEY", id="anthropic"),
        pytest.param(GOOGLE, "GEMINI_API_KEY", id="google"),
    ],
)
def test_each_provider_has_its_own_key(provider: Provider, key_from: str) -> None:
    choice = choose_upstream(provider, KEYS)
    assert (choice.url, choice.key_from) == (provider.url, key_from)


SPELLINGS = [
    pytest.param("https://{}", id="plain"),
    pytest.param("https://{}/v1/", id="with a path"),
    pytest.param("https://{}:443/v1", id="with a port"),
    pytest.param("https://{}:8443", id="with another port"),
    pytest.param("https://{}./v1", id="with a final dot"),
    pytest.param("https://{}.:443", id="with a final dot and a port"),
    pytest.param("HTTPS://{}/v1", id="upper-case scheme"),
    pytest.param("https://eu.{}/v1", id="regional"),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("upper", [False, True], ids=["as it is", "upper-case"])
@pytest.mark.parametrize("owner", PROVIDERS.values(), ids=PROVIDERS)
def test_a_providers_key_never_goes_to_another_provider(
    owner: Provider, upper: bool, spelling: str
) -> None:
    host = owner.hosts[0].upper() if upper else owner.hosts[0]
    for provider in PROVIDERS.values():
        for variable in ("FLOWPROOF_AGENT_UPSTREAM", provider.upstream_variable):
            environ = {variable: spelling.format(host), **KEYS}
            choice = choose_upstream(provider, environ)
            assert choice.key_from in owner.key_variables
            foreign = {k: v for k, v in environ.items() if k not in owner.key_variables}
            assert choose_upstream(provider, foreign).key is None
            assert choose_upstream(provider, {**foreign, **OWN}).key == "own", "meant for anyone"


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("api.anthropic.com.evil.example", id="as a beginning"),
        pytest.param("xapi.anthropic.com", id="as an end without a dot"),
        pytest.param("anthropic.com", id="its parent"),
    ],
)
def test_a_host_that_only_looks_like_a_providers_is_a_named_upstream(host: str) -> None:
    environ = {"FLOWPROOF_AGENT_UPSTREAM": f"https://{host}", "OPENAI_API_KEY": "openai"}
    assert choose_upstream(OPENAI, environ).key == "openai"


@pytest.mark.parametrize("key", ["sk-a\nx: y", "sk-a\rb", "sk-\x00a", "sk-ä"])
def test_a_key_that_no_header_can_carry_is_refused_without_printing_it(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_upstream(OPENAI, {"OPENAI_API_KEY": key})
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "sk-" not in str(caught.value)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8))
def test_a_key_never_shows(key: str) -> None:
    choice = choose_upstream(OPENAI, {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, KEY: key})
    assert choice.key == key
    assert (
        repr(choice) == f"UpstreamChoice({GATEWAY!r}, 'FLOWPROOF_AGENT_UPSTREAM', key from {KEY!r})"
    )


ONE_EACH = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic"}


@pytest.mark.parametrize(
    ("provider", "environ", "named_by", "key_from"),
    [
        pytest.param(
            ANTHROPIC,
            {
                "FLOWPROOF_UPSTREAM_ANTHROPIC": "http://a",
                "FLOWPROOF_AGENT_UPSTREAM": GATEWAY,
                "ANTHROPIC_BASE_URL": "http://other",
            },
            "FLOWPROOF_UPSTREAM_ANTHROPIC",
            None,
            id="its own variable first",
        ),
        pytest.param(
            ANTHROPIC,
            {"FLOWPROOF_UPSTREAM_ANTHROPIC": "http://a", **ONE_EACH, **OWN},
            "FLOWPROOF_UPSTREAM_ANTHROPIC",
            "ANTHROPIC_API_KEY",
            id="with its own key first",
        ),
        pytest.param(
            GOOGLE,
            {"FLOWPROOF_UPSTREAM_GOOGLE": "http://a", **ONE_EACH, **OWN},
            "FLOWPROOF_UPSTREAM_GOOGLE",
            "FLOWPROOF_AGENT_KEY",
            id="else ours",
        ),
        pytest.param(
            GOOGLE,
            {"FLOWPROOF_UPSTREAM_GOOGLE": "http://a", "GOOGLE_API_KEY": "g"},
            "FLOWPROOF_UPSTREAM_GOOGLE",
            "GOOGLE_API_KEY",
            id="its second name",
        ),
        pytest.param(
            OPENAI,
            {"FLOWPROOF_UPSTREAM_ANTHROPIC": "http://a", "FLOWPROOF_AGENT_UPSTREAM": GATEWAY},
            "FLOWPROOF_AGENT_UPSTREAM",
            None,
            id="another one's is none",
        ),
        pytest.param(
            OPENAI, {**ONE_EACH, **OWN}, "OPENAI_API_KEY", "OPENAI_API_KEY", id="two public ones"
        ),
        pytest.param(
            ANTHROPIC,
            {"ANTHROPIC_API_KEY": "a", "OPENAI_BASE_URL": GATEWAY, **OWN},
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_API_KEY",
            id="a public one beside a gateway",
        ),
        pytest.param(
            OLLAMA,
            {"OLLAMA_HOST": "box", **ONE_EACH},
            "OLLAMA_HOST",
            None,
            id="no other key for Ollama",
        ),
        pytest.param(
            OLLAMA,
            {"OLLAMA_HOST": "box", "OLLAMA_API_KEY": "o"},
            "OLLAMA_HOST",
            "OLLAMA_API_KEY",
            id="Ollama's own",
        ),
        pytest.param(
            OPENAI,
            {"OPENAI_BASE_URL": "https://r.openai.azure.com/openai", **KEYS},
            "OPENAI_BASE_URL",
            "AZURE_OPENAI_API_KEY",
            id="Azure",
        ),
    ],
)
def test_each_provider_goes_its_own_way(
    provider: Provider, environ: Mapping[str, str], named_by: str, key_from: str | None
) -> None:
    choice = choose_upstream(provider, environ)
    assert (choice.named_by, choice.key_from) == (named_by, key_from)


def test_ollama_has_to_be_named() -> None:
    with pytest.raises(UsageError, match="FLOWPROOF_UPSTREAM_OLLAMA") as caught:
        choose_upstream(OLLAMA, {"OLLAMA_API_KEY": "o"})
    assert "OLLAMA_HOST" in str(caught.value)
    assert "OLLAMA_API_KEY" not in str(caught.value)
