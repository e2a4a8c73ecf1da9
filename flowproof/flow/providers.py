"""The companies whose model APIs flowproof speaks, and every variable that names them or a key.

A table; `upstream` decides with it, `agent_environment` keeps real keys from an agent with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

UPSTREAM_VARIABLE = "FLOWPROOF_AGENT_UPSTREAM"
KEY_VARIABLE = "FLOWPROOF_AGENT_KEY"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who answers at a set of public hosts, and the variables that hold a key for them."""

    hosts: tuple[str, ...]
    key_variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Provider(Owner):
    """A company that serves a model API. `url` is its public endpoint, empty where requests go
    there only if it is named; `key_header` is where its API expects a key. `versions` are the
    last path segments of a base URL that the dialects of this provider add themselves."""

    name: str
    url: str
    base_variable: str
    key_header: str
    versions: tuple[str, ...]

    @property
    def upstream_variable(self) -> str:
        """The variable that names the upstream of this provider alone."""
        return f"FLOWPROOF_UPSTREAM_{self.name.upper()}"


_VERSIONS = ("v1", "v1beta", "v1alpha")
OPENAI = Provider(
    hosts=("api.openai.com",),
    key_variables=("OPENAI_API_KEY",),
    name="openai",
    url="https://api.openai.com/v1",
    base_variable="OPENAI_BASE_URL",
    key_header="authorization",
    versions=(),
)
ANTHROPIC = Provider(
    hosts=("api.anthropic.com",),
    key_variables=("ANTHROPIC_API_KEY",),
    name="anthropic",
    url="https://api.anthropic.com",
    base_variable="ANTHROPIC_BASE_URL",
    key_header="x-api-key",
    versions=_VERSIONS,
)
GOOGLE = Provider(
    hosts=("generativelanguage.googleapis.com",),
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
    name="google",
    url="https://generativelanguage.googleapis.com",
    base_variable="GOOGLE_GEMINI_BASE_URL",
    key_header="x-goog-api-key",
    versions=_VERSIONS,
)
OLLAMA = Provider(
    hosts=("ollama.com",),
    key_variables=("OLLAMA_API_KEY",),
    name="ollama",
    url="",
    base_variable="OLLAMA_HOST",
    key_header="authorization",
    versions=("api", *_VERSIONS),
)
PROVIDERS: Mapping[str, Provider] = {p.name: p for p in (OPENAI, ANTHROPIC, GOOGLE, OLLAMA)}

AZURE = Owner(
    hosts=("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
    key_variables=("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
)
"""Resources of Azure, which serve the APIs of others."""

_OWNERS: tuple[Owner, ...] = (*PROVIDERS.values(), AZURE)

FLOWPROOF_UPSTREAMS = (
    UPSTREAM_VARIABLE,
    *(provider.upstream_variable for provider in PROVIDERS.values()),
)
"""Every variable of ours that names an upstream."""

KEY_VARIABLES = (
    KEY_VARIABLE,
    *(name for owner in _OWNERS for name in owner.key_variables),
    # Never sent by flowproof, and as secret as the others.
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_OPENAI_AD_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
)
"""Every variable that may hold a real key."""


def owner_of(url: str) -> Owner | None:
    """Whose public host a URL names, also under a regional or resource name such as
    `eu.api.openai.com`, or with the final dot that DNS allows."""
    host = f".{(urlsplit(url).hostname or '').rstrip('.')}"
    return next(
        (owner for owner in _OWNERS if any(host.endswith(f".{one}") for one in owner.hosts)), None
    )
