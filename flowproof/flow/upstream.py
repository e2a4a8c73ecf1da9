"""Decides where a recording's model requests go, and with which key.

Pure: environment in, choices out. A key is put into a header here and goes nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowproof.errors import UsageError
from flowproof.files import shortened
from flowproof.flow.base_url import base_url, checked_url
from flowproof.flow.providers import (
    AZURE,
    BEARER_VARIABLES,
    FLOWPROOF_UPSTREAMS,
    KEY_VARIABLE,
    OLLAMA,
    OPENAI,
    PROVIDERS,
    UPSTREAM_PREFIX,
    UPSTREAM_VARIABLE,
    Provider,
    is_private,
    owner_of,
)
from flowproof.spec.source import nearest

_ANTHROPIC_OAUTH = "sk-ant-oat"
_PRODUCTS = {"GEMINI": "GOOGLE", "CLAUDE": "ANTHROPIC", "GPT": "OPENAI", "CHATGPT": "OPENAI"}
"""What a company's models are called, where that is no spelling of its name."""


@dataclass(frozen=True, slots=True)
class UpstreamChoice:
    """Where requests of one provider's dialects go.

    `named_by` and `key_from` are the environment variables that decided, `key_variable` the one
    to set for another key; `key` never shows.
    """

    provider: Provider
    url: str
    named_by: str
    key: str | None
    key_from: str | None
    key_variable: str

    def __repr__(self) -> str:
        return f"UpstreamChoice({self.url!r}, {self.named_by!r}, key from {self.key_from!r})"

    @property
    def public(self) -> bool:
        """Whether it is a public endpoint that nothing but a key has chosen."""
        return self.named_by in self.provider.key_variables


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The upstream of each provider that has one, and what to do about each other, by name.

    What an Azure client asks goes to OpenAI's upstream where Azure is in neither of the two.
    """

    chosen: Mapping[str, UpstreamChoice]
    missing: Mapping[str, str]


def choose_upstreams(environ: Mapping[str, str]) -> Upstreams:
    """Choose for every provider. One that cannot be used matters only once it is asked for.

    :raises UsageError: if no provider has a usable upstream, or a variable of flowproof's own
        holds one that is none, or has a name that none has.
    """
    _check_spelling(environ)
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
    openai = chosen.get(OPENAI.name)
    if AZURE.name not in chosen and openai is not None and not openai.public:
        missing.pop(AZURE.name)
    if not chosen:
        raise malformed or UsageError(_nothing_named())
    return Upstreams(chosen, missing)


def choose_upstream(provider: Provider, environ: Mapping[str, str]) -> UpstreamChoice:
    """Choose the upstream and key for one provider's dialects.

    The upstream is FLOWPROOF_UPSTREAM_<NAME>, else FLOWPROOF_AGENT_UPSTREAM, else the provider's
    own base URL variable, else, if the provider's own key is set, its public endpoint. Azure has
    none where FLOWPROOF_UPSTREAM_OPENAI is set and its own is not.

    The key is the first that is set of those that belong to what named the upstream; see
    `_key_order`. FLOWPROOF_AGENT_KEY belongs to FLOWPROOF_AGENT_UPSTREAM, else to every
    FLOWPROOF_UPSTREAM_<NAME>, else to the one provider in play. A provider's key goes to what
    names that provider, to FLOWPROOF_AGENT_UPSTREAM, and never to the public host of another.

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
    header = AZURE.key_header if owner_of(choice.url) is AZURE else choice.provider.key_header
    bearer = choice.key_from in BEARER_VARIABLES or choice.key.startswith(_ANTHROPIC_OAUTH)
    if bearer or header == "authorization":
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
    others = _LAST_KEYS if _takes_any(provider, url, named_by) else ()
    key_from = next((name for name in (*order, *others) if environ.get(name, "").strip()), None)
    key = None if key_from is None else _checked_key(environ[key_from].strip(), key_from)
    if key_from in order:
        key_variable = key_from
    elif named_by == UPSTREAM_VARIABLE:
        key_variable = order[0]
    else:
        key_variable = (owner_of(url) or provider).key_variables[0]
    return UpstreamChoice(provider, url, named_by, key, key_from, key_variable)


def _naming(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """The variable that names an upstream explicitly."""
    variables = [provider.upstream_variable, UPSTREAM_VARIABLE, *provider.base_variables]
    if provider is AZURE:
        # Its clients are clients of OpenAI's API, and this names where those go.
        variables.insert(1, OPENAI.upstream_variable)
    found = next((name for name in variables if environ.get(name, "").strip()), None)
    return None if provider is AZURE and found == OPENAI.upstream_variable else found


def _own_key(provider: Provider, environ: Mapping[str, str]) -> str | None:
    return next((name for name in provider.key_variables if environ.get(name, "").strip()), None)


def _key_order(
    provider: Provider, url: str, named_by: str, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """The variables whose key belongs to an upstream, the first that is set counts."""
    own = (owner_of(url) or provider).key_variables
    if named_by == UPSTREAM_VARIABLE:
        return (KEY_VARIABLE, *own)
    if named_by == provider.upstream_variable:
        return own if _is_set(UPSTREAM_VARIABLE, environ) else (*own, KEY_VARIABLE)
    ours = any(_is_set(name, environ) for name in FLOWPROOF_UPSTREAMS)
    if ours or _others(provider, environ):
        return own
    # A key alone names nobody whom it would have to be told apart from.
    return (KEY_VARIABLE, *own) if named_by in provider.key_variables else (*own, KEY_VARIABLE)


_LAST_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
"""The keys that a gateway may take for whatever it serves."""


def _takes_any(provider: Provider, url: str, named_by: str) -> bool:
    """Whether an upstream may be sent the key of a provider that it does not belong to: a gateway
    only, and none to which it would travel in clear text through a network that is not ours."""
    if named_by != UPSTREAM_VARIABLE or provider is OLLAMA or owner_of(url) is not None:
        return False
    return url.startswith("https:") or is_private(url)


def _is_set(variable: str, environ: Mapping[str, str]) -> bool:
    return bool(environ.get(variable, "").strip())


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


def _check_spelling(environ: Mapping[str, str]) -> None:
    """See that no variable looks like one of ours and is none.

    :raises UsageError: if one does; a recording would go elsewhere than its author means.
    """
    for variable, value in environ.items():
        if not variable.startswith(UPSTREAM_PREFIX) or variable in FLOWPROOF_UPSTREAMS:
            continue
        if not value.strip():
            continue
        word = variable.removeprefix(UPSTREAM_PREFIX)
        names = [name.upper() for name in PROVIDERS]
        meant = _PRODUCTS.get(word) or nearest(word, names)
        hint = f"; did you mean {UPSTREAM_PREFIX}{meant.upper()}?" if meant else ""
        raise UsageError(
            f"{shortened(variable)} names no upstream that flowproof knows{hint} "
            f"(accepted: {', '.join(FLOWPROOF_UPSTREAMS)})"
        )


def _how_to_name(provider: Provider) -> str:
    # A key that names an endpoint is one that clients of that endpoint look for themselves.
    keys = " or ".join(_keys_shown(provider))
    public = f", or {keys} to use {provider.url}" if provider.url else ""
    return (
        f"set {provider.upstream_variable}, {UPSTREAM_VARIABLE} (for every provider) or "
        f"{provider.base_variable} to its base URL{public}"
    )


def _keys_shown(provider: Provider) -> tuple[str, ...]:
    """The variables for a key that most users know."""
    return tuple(name for name in provider.key_variables[:2] if name.endswith("_API_KEY"))


def _nothing_named() -> str:
    public = ", ".join(" or ".join(_keys_shown(p)) for p in PROVIDERS.values() if p.url)
    own = ", ".join(provider.base_variable for provider in PROVIDERS.values())
    each = ", ".join(provider.upstream_variable for provider in PROVIDERS.values())
    return (
        "cannot record: no upstream is named, and a recording needs a real model. Set one of\n"
        f"  a provider's key, for its public endpoint: {public}\n"
        f"  a provider's own base URL: {own}\n"
        f"  {UPSTREAM_VARIABLE}: the base URL of a gateway that serves whatever the agent speaks\n"
        f"  the base URL for one provider alone: {each}"
    )
