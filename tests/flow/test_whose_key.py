"""Which key may reach which upstream, stated once more and held against any environment."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import UsageError
from flowproof.flow.providers import PROVIDERS, is_private
from flowproof.flow.upstream import UpstreamChoice, choose_upstreams

GATEWAY, AGENT_KEY = "FLOWPROOF_AGENT_UPSTREAM", "FLOWPROOF_AGENT_KEY"
FAMILY = {
    variable: name
    for name, provider in PROVIDERS.items()
    for variable in (*provider.base_variables, *provider.key_variables)
}
NAMED = {provider.upstream_variable: name for name, provider in PROVIDERS.items()}
HOSTS = {host: name for name, provider in PROVIDERS.items() for host in provider.hosts}
KEYS = [name for provider in PROVIDERS.values() for name in provider.key_variables]
PLACES = [GATEWAY, *NAMED, *(name for name in FAMILY if name not in KEYS)]
URLS = [
    "https://llm.example/v1",
    "http://llm.example",
    "http://gpu-box:8000",
    "http://10.0.0.7/v1",
    *(f"https://{host}" for host in HOSTS),
]
environments = st.builds(
    lambda places, keys: {**places, **{name: f"key-of-{name}" for name in keys}},
    st.dictionaries(st.sampled_from(PLACES), st.sampled_from(URLS), max_size=4),
    st.sets(st.sampled_from([AGENT_KEY, *KEYS]), max_size=4),
)


def host_of(url: str) -> str:
    return url.split("://")[1].split("/")[0].split(":")[0]


def may_have(provider: str, choice: UpstreamChoice, environ: Mapping[str, str]) -> set[str]:
    """The variables whose key may reach an upstream."""
    ours = {name for name in (GATEWAY, *NAMED) if name in environ}
    if choice.named_by == GATEWAY:
        allowed = {AGENT_KEY}
    elif choice.named_by in NAMED:
        allowed = set() if GATEWAY in environ else {AGENT_KEY}
    else:
        in_play = {FAMILY[name] for name in environ if name in FAMILY}
        allowed = {AGENT_KEY} if not ours and in_play == {provider} else set()
    host = host_of(choice.url)
    if host in HOSTS:
        return allowed | {name for name in KEYS if FAMILY[name] == HOSTS[host]}
    allowed |= {name for name in KEYS if FAMILY[name] == provider}
    safe = choice.url.startswith("https") or host != "llm.example"
    if choice.named_by == GATEWAY and provider != "ollama" and safe:
        allowed |= {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
    return allowed


@given(environments)
def test_no_key_reaches_what_others_named(environ: dict[str, str]) -> None:
    try:
        chosen = choose_upstreams(environ).chosen
    except UsageError:
        return
    for provider, choice in chosen.items():
        allowed = may_have(provider, choice, environ)
        assert choice.key_from in allowed | {None}
        assert choice.key == (environ[choice.key_from] if choice.key_from else None)
        # Nor is anybody left without a key that is theirs.
        if choice.key is None:
            assert not allowed & environ.keys()
        if choice.named_by == GATEWAY and AGENT_KEY in environ:
            assert choice.key_from == AGENT_KEY
        elif (owned := FAMILY.get(choice.key_from or "")) is not None:
            own = [name for name in KEYS if FAMILY[name] == owned and name in environ]
            assert choice.key_from == own[0]
        if choice.named_by in FAMILY and choice.named_by not in KEYS:
            mine = HOSTS.get(host_of(choice.url), provider)
            own = [name for name in KEYS if FAMILY[name] == mine and name in environ]
            assert choice.key_from == (own[0] if own else choice.key_from)


@pytest.mark.parametrize(
    ("environ", "keys"),
    [
        pytest.param(
            {
                "FLOWPROOF_UPSTREAM_OPENAI": "https://gw.example",
                AGENT_KEY: "GW",
                "OLLAMA_HOST": "box",
            },
            {"openai": "GW", "ollama": None},
            id="another host in clear text",
        ),
        pytest.param(
            {
                "FLOWPROOF_UPSTREAM_OPENAI": "https://gw.example",
                AGENT_KEY: "GW",
                "ANTHROPIC_BASE_URL": "https://third.example",
                "ANTHROPIC_API_KEY": "OWN",
            },
            {"openai": "GW", "anthropic": "OWN"},
            id="another provider's own endpoint",
        ),
        pytest.param(
            {"OPENAI_BASE_URL": "https://api.groq.com/openai/v1", "ANTHROPIC_API_KEY": "A"},
            {"openai": None, "anthropic": "A"},
            id="another provider's key",
        ),
        pytest.param(
            {
                GATEWAY: "https://gw.example",
                AGENT_KEY: "GW",
                "FLOWPROOF_UPSTREAM_OLLAMA": "http://box",
            },
            {"openai": "GW", "anthropic": "GW", "google": "GW", "azure": "GW", "ollama": None},
            id="beside a gateway",
        ),
        pytest.param(
            {GATEWAY: "http://llm.example", "ANTHROPIC_API_KEY": "A"},
            {"openai": None, "anthropic": "A", "google": None, "azure": None, "ollama": None},
            id="a gateway in clear text",
        ),
        pytest.param(
            {GATEWAY: "http://10.1.2.3", "ANTHROPIC_API_KEY": "A"},
            {"openai": "A", "anthropic": "A", "google": "A", "azure": "A", "ollama": None},
            id="a gateway of one's own network",
        ),
        pytest.param(
            {"OPENAI_BASE_URL": "https://one.example", AGENT_KEY: "K"},
            {"openai": "K"},
            id="the one in play",
        ),
        pytest.param(
            {
                "OPENAI_BASE_URL": "https://one.example",
                "OLLAMA_HOST": "box",
                AGENT_KEY: "K",
            },
            {"openai": None, "ollama": None},
            id="two in play",
        ),
    ],
)
def test_whose_key_is_sent(environ: Mapping[str, str], keys: Mapping[str, str | None]) -> None:
    assert {name: one.key for name, one in choose_upstreams(environ).chosen.items()} == keys


@pytest.mark.parametrize(
    ("host", "private"),
    [
        pytest.param("localhost", True, id="this machine"),
        pytest.param("127.0.0.1:8080", True, id="loopback"),
        pytest.param("[::1]:8080", True, id="loopback of IPv6"),
        pytest.param("gpu-box", True, id="a bare name"),
        pytest.param("llm.corp.internal", True, id="a name of no public DNS"),
        pytest.param("192.168.1.4", True, id="a private address"),
        pytest.param("8.8.8.8", False, id="a public address"),
        pytest.param("[2606:4700::1111]", False, id="a public address of IPv6"),
        pytest.param("llm.example", False, id="a public name"),
        pytest.param("127.0.0.1.llm.example", False, id="a public name like an address"),
        pytest.param("local.llm.example.", False, id="a public name with a final dot"),
    ],
)
def test_what_is_private(host: str, private: bool) -> None:
    assert is_private(f"http://{host}/v1") is private
