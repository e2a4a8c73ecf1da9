"""Decides where a recording's model requests go, and with which key.

Pure: environment in, choices out. A key is put into a header here and goes nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowproof.errors import UsageError
from flowproof.flow.base_url import base_url, checked_url
from flowproof.flow.providers import (
    AZURE,
    FLOWPROOF_UPSTREAMS,
    KEY_VARIABLE,
    OLLAMA,
    PROVIDERS,
    UPSTREAM_VARIABLE,
    Provider,
    owner_of,
)

_ANTHROPIC_OAUTH = "sk-ant-oat"


@dataclass(frozen=True, slots=True)
class UpstreamChoice:
    """Where requests of one provider's dialects go.

    `named_by` and `key_from` are the environment variables that decided, `key_variable` the one
    that is asked first for a key; `key` never shows.
    """

    provider: Provider
    url: str
    named_by: str
    key: str | None
    key_from: str | None
    key_variable: str

    def __repr__(self) -> str:
        return f"UpstreamChoice({self.url!r}, {self.named_by!r}, key from {self.key_from!r})"


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The upstream of each provider that has one, and what to do about each other, by name."""

    chosen: Mapping[str, UpstreamChoice]
    missing: Mapping[str, str]


def choose_upstreams(environ: Mapping[str, str]) -> Upstreams:
    """Choose for every provider. One that cannot be used matters only once it is asked for.

    :raises UsageError: if no provider has a usable upstream, or a variable of flowproof's own
        holds one that is none.
    """
    for variable in FLOWPROOF_UPSTREAMS:
        if value := environ.get(variable, "").strip():
            checked_url(value, variable)
    _checked_key(environ.get(KEY_VARIABLE, "").strip(), KEY_VARIABLE)
    chosen: dict[str, UpstreamChoice] = {}
    missing: dict[str, str] = {}
    malformed: UsageError | None = None
    for name, provider in PROVIDERS.items():
        try:
            choice = _choice(provider, environ)
        except UsageError as error:
            malformed = malformed or error
            missing[name] = str(error)
            continue
        if choice is None:
            missing[name] = _how_to_name(provider)
        else:
            chosen[name] = choice
    if not chosen:
        raise malformed or UsageError(_nothing_named())
    return Upstreams(chosen, missing)


def choose_upstream(provider: Provider, environ: Mapping[str, str]) -> UpstreamChoice:
    """Choose the upstream and key for one provider's dialects.

    The upstream is FLOWPROOF_UPSTREAM_<NAME>, else FLOWPROOF_AGENT_UPSTREAM, else the provider's
    own base URL variable, else, if the provider's own key is set, its public endpoint.

    The key is FLOWPROOF_AGENT_KEY, else the provider's own, else, for an upstream named
    explicitly, ANTHROPIC_API_KEY or OPENAI_API_KEY. The provider's own comes first where
    FLOWPROOF_AGENT_KEY is more likely another upstream's: where FLOWPROOF_UPSTREAM_<NAME> names
    this one, and at a public endpoint while anything else names one of another provider. A
    provider's key never goes to the public endpoint of another.

    :raises UsageError: if nothing names an upstream, or what is named cannot be used.
    """
    choice = _choice(provider, environ)
    if choice is None:
        raise UsageError(f"no upstream is named for {provider.name}: {_how_to_name(provider)}")
    return choice


def authorization(choice: UpstreamChoice) -> dict[str, str]:
    """The one credential header for an upstream: a key that was written with its scheme as it
    is, a bare one where the endpoint expects it."""
    if choice.key is None:
        return {}
    scheme, _, rest = choice.key.partition(" ")
    if rest and scheme.isalpha():
        return {"authorization": choice.key}
    header = "api-key" if owner_of(choice.url) is AZURE else choice.provider.key_header
    if header == "authorization" or choice.key.startswith(_ANTHROPIC_OAUTH):
        return {"authorization": f"Bearer {choice.key}"}
    return {header: choice.key}


def _choice(provider: Provider, environ: Mapping[str, str]) -> UpstreamChoice | None:
    named_by = _naming(provider, environ)
    if named_by is not None:
        url = base_url(provider, environ[named_by].strip(), named_by)
    elif provider.url and (own := _own_key(provider, environ)) is not None:
        named_by, url = own, provider.url
    else:
        return None
    order = _key_order(provider, url, named_by, environ)
    key_from = next((name for name in order if environ.get(name, "").strip()), None)
    key = None if key_from is None else _checked_key(environ[key_from].strip(), key_from)
    return UpstreamChoice(provider, url, named_by, key, key_from, order[0])


def _naming(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """The variable that names an upstream explicitly."""
    variables = (provider.upstream_variable, UPSTREAM_VARIABLE, provider.base_variable)
    return next((name for name in variables if environ.get(name, "").strip()), None)


def _own_key(provider: Provider, environ: Mapping[str, str]) -> str | None:
    return next((name for name in provider.key_variables if environ.get(name, "").strip()), None)


def _key_order(
    provider: Provider, url: str, named_by: str, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """The variables that may hold the key, the first that is set counts."""
    owner = owner_of(url)
    own = (owner or provider).key_variables
    public = named_by in provider.key_variables
    if named_by == provider.upstream_variable or (public and _others(provider, environ)):
        order = (*own, KEY_VARIABLE)
    else:
        order = (KEY_VARIABLE, *own)
    if owner is None and provider is not OLLAMA:
        order += ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    return order


def _others(provider: Provider, environ: Mapping[str, str]) -> bool:
    """Whether another provider is in play, to which a key that names nobody may belong."""
    return any(
        _naming(other, environ) or _own_key(other, environ)
        for other in PROVIDERS.values()
        if other is not provider
    )


def _checked_key(key: str, variable: str) -> str:
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"{variable} holds characters that no HTTP header can carry")
    return key


def _how_to_name(provider: Provider) -> str:
    public = f", or {provider.key_variables[0]} to use {provider.url}" if provider.url else ""
    return (
        f"set {provider.upstream_variable}, {UPSTREAM_VARIABLE} (for every provider) or "
        f"{provider.base_variable} to its base URL{public}"
    )


def _nothing_named() -> str:
    own = ", ".join(provider.base_variable for provider in PROVIDERS.values())
    keys = ", ".join(p.key_variables[0] for p in PROVIDERS.values() if p.url)
    each = ", ".join(provider.upstream_variable for provider in PROVIDERS.values())
    return (
        f"record needs a real model, and no upstream is named: set {UPSTREAM_VARIABLE} to the "
        f"base URL of one that serves whatever the agent speaks; or, for one provider alone, one "
        f"of {each}, or of its own {own}; or one of {keys} to use that provider's public endpoint"
    )
