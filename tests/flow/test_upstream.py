"""Where a recording's requests go, with which key, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import UsageError
from flowproof.flow.upstream import (
    ANTHROPIC,
    GOOGLE,
    OPENAI,
    PROVIDERS,
    Provider,
    authorization,
    choose_upstream,
)

GATEWAY = "http://gateway.example/v1"
KEY = "FLOWPROOF_AGENT_KEY"
OWN = {KEY: "own"}
KEYS = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic", "GEMINI_API_KEY": "gemini"}


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
            {"FLOWPROOF_AGENT_UPSTREAM": GATEWAY, "ANTHROPIC_API_KEY": "anthropic"},
            GATEWAY,
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
    with pytest.raises(UsageError, match=r"FLOWPROOF_AGENT_UPSTREAM or OPENAI_BASE_URL"):
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
@pytest.mark.parametrize("owner", PROVIDERS.values(), ids=list(PROVIDERS))
def test_a_providers_key_never_goes_to_another_provider(
    owner: Provider, upper: bool, spelling: str
) -> None:
    host = owner.host.upper() if upper else owner.host
    for provider in PROVIDERS.values():
        environ = {"FLOWPROOF_AGENT_UPSTREAM": spelling.format(host), **KEYS}
        choice = choose_upstream(provider, environ)
        assert choice.key_from in (*owner.key_variables, None)
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
