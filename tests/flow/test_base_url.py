"""Which base URLs are taken, in which form, and which are refused."""

from __future__ import annotations

import pytest

from flowproof.errors import UsageError
from flowproof.flow.providers import ANTHROPIC, GOOGLE, OLLAMA, OPENAI, Provider
from flowproof.flow.upstream import choose_upstream

KEYS = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic", "GEMINI_API_KEY": "gemini"}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("gateway.example/v1", "not an http or https URL", id="no scheme"),
        pytest.param("ftp://gateway.example", "not an http or https URL", id="another scheme"),
        pytest.param("file:///etc/passwd", "not an http or https URL", id="a file"),
        pytest.param("http://", "not an http or https URL", id="no host"),
        pytest.param("http://:80/v1", "not an http or https URL", id="only a port"),
        pytest.param("http://h:0/v1", "not an http or https URL", id="port 0"),
        pytest.param("http://h:70000", "not an http or https URL", id="a port too large"),
        pytest.param("http://h:x", "not an http or https URL", id="a port of letters"),
        pytest.param("http://[::1", "not an http or https URL", id="an open bracket"),
        pytest.param("http://user:sk-secret@h/v1", "holds credentials", id="a password"),
        pytest.param("http://sk-secret@h/v1", "holds credentials", id="a user"),
        pytest.param("http://@h/v1", "holds credentials", id="an empty user"),
        pytest.param("http://h/v1?key=sk-secret", "without a query", id="a query"),
        pytest.param("http://h/v1#sk-secret", "without a query or fragment", id="a fragment"),
        pytest.param("https://ａpi.anthropic.com", "plain ASCII", id="full-width letters"),
        pytest.param("https://api。anthropic.com", "plain ASCII", id="an ideographic dot"),
        pytest.param("https://api\u00ad.anthropic.com", "plain ASCII", id="a soft hyphen"),
        pytest.param("https://api.anthrop\u0131c.com", "plain ASCII", id="a dotless i"),
        pytest.param("https://api%2Eanthropic.com", "plain ASCII", id="an escaped dot"),
        pytest.param("https://api.anthropic.com\\x", "plain ASCII", id="a backslash"),
        pytest.param("https://api.anthropic.com /v1", "plain ASCII", id="a blank"),
        pytest.param("http://a..b/v1", "host that cannot be one", id="an empty label"),
        pytest.param("http://.a/v1", "host that cannot be one", id="a first dot"),
        pytest.param("http://a../v1", "host that cannot be one", id="two final dots"),
        pytest.param(f"http://{'a' * 300}/v1", "host that cannot be one", id="a long label"),
        pytest.param(f"http://{'a.' * 130}b", "host that cannot be one", id="a long name"),
        pytest.param("http://xn--a/v1", "host that cannot be one", id="no IDNA"),
        pytest.param("http://[fe80::g]/v1", "FLOWPROOF_AGENT_UPSTREAM", id="no IPv6 address"),
        pytest.param("http://h/v 1", "has a path with blanks", id="a blank in the path"),
        pytest.param("http://h/é", "has a path with", id="a path beyond ASCII"),
        pytest.param("http://api.openai.com/v1", "in clear text; use https", id="no TLS"),
        pytest.param("HTTP://eu.API.openai.com.", "in clear text", id="no TLS, regional"),
        pytest.param("http://api.anthropic.com:443", "in clear text", id="no TLS, another's"),
    ],
)
def test_urls_that_cannot_be_used(url: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_upstream(OPENAI, {"FLOWPROOF_AGENT_UPSTREAM": url, **KEYS})
    assert "FLOWPROOF_AGENT_UPSTREAM" in str(caught.value)
    assert reason in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("http://h", "http://h/v1", id="a bare host"),
        pytest.param("http://h/", "http://h/v1", id="a slash"),
        pytest.param("http://h:8080", "http://h:8080/v1", id="a port"),
        pytest.param("http://h/v1/", "http://h/v1", id="a slash at the end"),
        pytest.param("http://h/openai", "http://h/openai", id="a path of its own"),
        pytest.param("http://h/llm/v1", "http://h/llm/v1", id="a prefix"),
        pytest.param(
            "https://r.openai.azure.com/", "https://r.openai.azure.com/openai", id="Azure"
        ),
        pytest.param(
            "https://r.openai.azure.com/openai/v1",
            "https://r.openai.azure.com/openai/v1",
            id="Azure with a path",
        ),
        pytest.param("http://[::1]:8080/v1", "http://[::1]:8080/v1", id="an IPv6 address"),
        pytest.param("http://my_host.local", "http://my_host.local/v1", id="an underscore"),
        pytest.param("http://xn--bcher-kva.example", "http://xn--bcher-kva.example/v1", id="IDNA"),
        pytest.param("http://h./v1", "http://h./v1", id="a final dot"),
        pytest.param(f"http://{'a' * 63}/v1", f"http://{'a' * 63}/v1", id="a label of 63"),
        pytest.param(
            "http://api.openai.com.test", "http://api.openai.com.test/v1", id="no provider's"
        ),
        pytest.param("http://h/a%20b", "http://h/a%20b", id="an escaped blank"),
        pytest.param("  http://h/v1\n", "http://h/v1", id="blanks around it"),
    ],
)
def test_base_urls(url: str, expected: str) -> None:
    assert choose_upstream(OPENAI, {"FLOWPROOF_AGENT_UPSTREAM": url}).url == expected


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        pytest.param(ANTHROPIC, "http://gw:4000", "http://gw:4000", id="anthropic, bare"),
        pytest.param(ANTHROPIC, "http://gw:4000/v1/", "http://gw:4000", id="anthropic, version"),
        pytest.param(ANTHROPIC, "https://gw/llm/v1", "https://gw/llm", id="anthropic, prefix"),
        pytest.param(ANTHROPIC, "https://gw/v12", "https://gw/v12", id="anthropic, no version"),
        pytest.param(ANTHROPIC, "https://gw/api", "https://gw/api", id="anthropic, a path"),
        pytest.param(GOOGLE, "http://gw/v1beta", "http://gw", id="google, beta"),
        pytest.param(GOOGLE, "http://gw/g/v1alpha", "http://gw/g", id="google, alpha"),
        pytest.param(OLLAMA, "http://gw/api", "http://gw", id="ollama, api"),
        pytest.param(OLLAMA, "http://gw/v1", "http://gw", id="ollama, version"),
        pytest.param(OLLAMA, "http://gw/o", "http://gw/o", id="ollama, prefix"),
    ],
)
@pytest.mark.parametrize("own", [True, False], ids=["named for it", "named for all"])
def test_a_version_that_a_dialect_adds_is_cut_off(
    provider: Provider, url: str, expected: str, own: bool
) -> None:
    variable = provider.upstream_variable if own else "FLOWPROOF_AGENT_UPSTREAM"
    assert choose_upstream(provider, {variable: url}).url == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("box", "http://box:11434", id="a host"),
        pytest.param("box/", "http://box:11434", id="a host and a slash"),
        pytest.param("box:80", "http://box:80", id="a host and a port"),
        pytest.param(":8080", "http://127.0.0.1:8080", id="a port"),
        pytest.param("0.0.0.0", "http://127.0.0.1:11434", id="every address"),
        pytest.param("0.0.0.0:8080", "http://127.0.0.1:8080", id="every address and a port"),
        pytest.param("http://0.0.0.0:8080", "http://127.0.0.1:8080", id="every address, a URL"),
        pytest.param("[::]", "http://[::1]:11434", id="every IPv6 address"),
        pytest.param("[fe80::1]:80", "http://[fe80::1]:80", id="an IPv6 address"),
        pytest.param("http://box", "http://box", id="a URL"),
        pytest.param("https://box:444/o/", "https://box:444/o", id="a URL with a path"),
        pytest.param("box/prefix", "http://box:11434/prefix", id="a host with a path"),
    ],
)
def test_what_ollama_takes_for_its_host(value: str, expected: str) -> None:
    assert choose_upstream(OLLAMA, {"OLLAMA_HOST": value}).url == expected


@pytest.mark.parametrize(
    "value",
    ["box:x", "::1", "user:sk-secret@box", "ftp://box", "b ox", "ollama.com", "box?key=sk-secret"],
)
def test_what_ollama_cannot_take_for_its_host(value: str) -> None:
    with pytest.raises(UsageError, match="OLLAMA_HOST") as caught:
        choose_upstream(OLLAMA, {"OLLAMA_HOST": value})
    assert "sk-secret" not in str(caught.value)


def test_only_ollamas_own_variable_is_read_so() -> None:
    with pytest.raises(UsageError, match="FLOWPROOF_UPSTREAM_OLLAMA is not an http or https URL"):
        choose_upstream(OLLAMA, {"FLOWPROOF_UPSTREAM_OLLAMA": "box:11434"})
