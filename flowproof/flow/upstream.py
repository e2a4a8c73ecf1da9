"""Decides where a recording's model requests go, and with which key.

Pure: environment in, endpoint out. A key is put into a header here and goes nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from flowproof.errors import UsageError
from flowproof.files import shortened


@dataclass(frozen=True, slots=True)
class Provider:
    """A company that serves a model API at a public endpoint."""

    name: str
    url: str
    host: str
    base_variable: str
    key_variables: tuple[str, ...]


OPENAI = Provider(
    "openai",
    "https://api.openai.com/v1",
    "api.openai.com",
    "OPENAI_BASE_URL",
    ("OPENAI_API_KEY",),
)
ANTHROPIC = Provider(
    "anthropic",
    "https://api.anthropic.com/v1",
    "api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    ("ANTHROPIC_API_KEY",),
)
GOOGLE = Provider(
    "google",
    "https://generativelanguage.googleapis.com",
    "generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
    ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
)
PROVIDERS: Mapping[str, Provider] = {p.name: p for p in (OPENAI, ANTHROPIC, GOOGLE)}
UPSTREAM_VARIABLE = "FLOWPROOF_AGENT_UPSTREAM"
KEY_VARIABLE = "FLOWPROOF_AGENT_KEY"
KEY_VARIABLES = (
    KEY_VARIABLE,
    *(name for provider in PROVIDERS.values() for name in provider.key_variables),
)


# A host in any other spelling could be one name here and another one where it is connected to.
_PLAIN_HOST = re.compile(r"[a-z0-9._:%-]+", re.ASCII)
_PLAIN_PATH = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class UpstreamChoice:
    """Where requests of one provider's dialects go.

    `named_by` and `key_from` are the environment variables that decided; `key` never shows.
    """

    url: str
    named_by: str
    key: str | None
    key_from: str | None

    def __repr__(self) -> str:
        return f"UpstreamChoice({self.url!r}, {self.named_by!r}, key from {self.key_from!r})"


def choose_upstream(provider: Provider, environ: Mapping[str, str]) -> UpstreamChoice:
    """Choose the upstream and key for one provider's dialects.

    The upstream is FLOWPROOF_AGENT_UPSTREAM, else the provider's own base URL variable, else,
    if the provider's own key is set, its public endpoint. The key is FLOWPROOF_AGENT_KEY, else
    the provider's own, else, for an upstream named explicitly, ANTHROPIC_API_KEY or
    OPENAI_API_KEY; but a provider's key never goes to another provider's public endpoint.

    :raises UsageError: if nothing names an upstream, or what is named cannot be used.
    """
    for variable in (UPSTREAM_VARIABLE, provider.base_variable):
        if value := environ.get(variable, "").strip():
            url = _checked_url(value, variable)
            key, key_from = _key(provider, url, environ, explicit=True)
            return UpstreamChoice(url, variable, key, key_from)
    own = next((name for name in provider.key_variables if environ.get(name, "").strip()), None)
    if own is None:
        raise UsageError(
            "record needs a real model, and no upstream is named: set "
            f"{UPSTREAM_VARIABLE} or {provider.base_variable} to its base URL, or "
            f"{provider.key_variables[0]} to use {provider.url}"
        )
    key, key_from = _key(provider, provider.url, environ, explicit=False)
    return UpstreamChoice(provider.url, own, key, key_from)


def _checked_url(value: str, variable: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and parts.port != 0
        host = parts.hostname or ""
    except ValueError:
        usable = False
    if not usable or not host:
        shown = "" if "@" in value else f", but {shortened(value)}"
        raise UsageError(f"{variable} is not an http or https URL{shown}")
    if "@" in parts.netloc:
        raise UsageError(f"{variable} holds credentials; put the key into {KEY_VARIABLE}")
    if parts.query or parts.fragment:
        raise UsageError(f"{variable} must be a base URL, without a query or fragment")
    if not _PLAIN_HOST.fullmatch(host) or ("%" in host and ":" not in host):
        raise UsageError(
            f"{variable} names its host in letters beyond ASCII or with escapes; write it in "
            "plain ASCII, an international name as `xn--…`"
        )
    if not _is_host(host):
        raise UsageError(f"{variable} names a host that cannot be one: {host[:80]}")
    if not _PLAIN_PATH.fullmatch(parts.path):
        raise UsageError(f"{variable} has a path with blanks or letters beyond ASCII; escape them")
    if parts.scheme == "http" and _owner(value) is not None:
        raise UsageError(
            f"{variable} names a public endpoint over http, where the key would travel in clear "
            "text; use https"
        )
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def _is_host(host: str) -> bool:
    """Whether a name is one that DNS and HTTP clients take, or an address with colons is one."""
    if ":" in host:
        import ipaddress

        try:
            return ipaddress.ip_address(host).version == 6
        except ValueError:
            return False
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or not all(0 < len(label) <= 63 for label in labels):
        return False
    return not any(label.startswith("xn--") for label in labels) or _is_international(host)


def _is_international(host: str) -> bool:
    # Asked of what the HTTP client asks, which would fail in the middle of a recording.
    import yarl

    try:
        return bool(yarl.URL(f"http://{host}", encoded=True).host)
    except ValueError:
        return False


def _key(
    provider: Provider, url: str, environ: Mapping[str, str], *, explicit: bool
) -> tuple[str | None, str | None]:
    names = [KEY_VARIABLE, *provider.key_variables]
    if explicit:
        names += ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]
    owner = _owner(url)
    for name in names:
        value = environ.get(name, "").strip()
        if not value or (owner and name != KEY_VARIABLE and name not in owner.key_variables):
            continue
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"{name} holds characters that no HTTP header can carry")
        return value, name
    return None, None


def _owner(url: str) -> Provider | None:
    """The provider whose public endpoint a URL is, also under a regional name such as
    `eu.api.openai.com`, or with the final dot that DNS allows."""
    host = f".{(urlsplit(url).hostname or '').rstrip('.')}"
    return next((p for p in PROVIDERS.values() if host.endswith(f".{p.host}")), None)


def authorization(choice: UpstreamChoice) -> dict[str, str]:
    """The credential header for an endpoint; a bare key becomes a Bearer token."""
    if choice.key is None:
        return {}
    scheme, _, rest = choice.key.partition(" ")
    value = choice.key if rest and scheme.isalpha() else f"Bearer {choice.key}"
    return {"authorization": value}
