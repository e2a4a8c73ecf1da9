"""The companies whose model APIs flowproof speaks, and every variable that names them or a key.

A table; `upstream` decides with it, `agent_environment` keeps real keys from an agent with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

UPSTREAM_VARIABLE = "FLOWPROOF_AGENT_UPSTREAM"
KEY_VARIABLE = "FLOWPROOF_AGENT_KEY"
UPSTREAM_PREFIX = "FLOWPROOF_UPSTREAM_"


@dataclass(frozen=True, slots=True)
class Provider:
    """A company that serves a model API at a set of public hosts, and the variables that hold a
    key for them, by precedence. `url` is its public endpoint, empty where requests go
    there only if it is named; `base_variables` are those in which its clients look for another
    one, `key_header` is where its API expects a key. `versions` are the last path segments of a
    base URL that the dialects of this provider add themselves."""

    hosts: tuple[str, ...]
    key_variables: tuple[str, ...]
    name: str
    url: str
    base_variables: tuple[str, ...]
    key_header: str
    versions: tuple[str, ...]

    @property
    def base_variable(self) -> str:
        """The variable that most of its clients read."""
        return self.base_variables[0]

    @property
    def upstream_variable(self) -> str:
        """The variable that names the upstream of this provider alone."""
        return f"{UPSTREAM_PREFIX}{self.name.upper()}"


_VERSIONS = ("v1", "v1beta", "v1alpha")
OPENAI = Provider(
    hosts=("api.openai.com",),
    key_variables=("OPENAI_API_KEY",),
    name="openai",
    url="https://api.openai.com/v1",
    base_variables=("OPENAI_BASE_URL",),
    key_header="authorization",
    versions=(),
)
ANTHROPIC = Provider(
    hosts=("api.anthropic.com",),
    key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    name="anthropic",
    url="https://api.anthropic.com",
    base_variables=("ANTHROPIC_BASE_URL",),
    key_header="x-api-key",
    versions=_VERSIONS,
)
GOOGLE = Provider(
    hosts=("generativelanguage.googleapis.com",),
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
    name="google",
    url="https://generativelanguage.googleapis.com",
    base_variables=("GOOGLE_GEMINI_BASE_URL",),
    key_header="x-goog-api-key",
    versions=_VERSIONS,
)
OLLAMA = Provider(
    hosts=("ollama.com",),
    key_variables=("OLLAMA_API_KEY",),
    name="ollama",
    url="",
    base_variables=("OLLAMA_HOST",),
    key_header="authorization",
    versions=("api", *_VERSIONS),
)
AZURE = Provider(
    hosts=("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
    key_variables=(
        "AZURE_OPENAI_API_KEY",
        "AZURE_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
        "AZURE_AD_TOKEN",
    ),
    name="azure",
    url="",
    base_variables=("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"),
    key_header="api-key",
    versions=(),
)
"""Resources of Azure, whose clients speak OpenAI's API on paths of their own; they serve the
APIs of others as well."""
PROVIDERS: Mapping[str, Provider] = {p.name: p for p in (OPENAI, ANTHROPIC, GOOGLE, OLLAMA, AZURE)}

BEARER_VARIABLES = ("ANTHROPIC_AUTH_TOKEN", "AZURE_OPENAI_AD_TOKEN", "AZURE_AD_TOKEN")
"""Those whose value clients send as a bearer token, whatever the header for keys is."""

FLOWPROOF_UPSTREAMS = (
    UPSTREAM_VARIABLE,
    *(provider.upstream_variable for provider in PROVIDERS.values()),
)
"""Every variable of ours that names an upstream."""

_OTHER_KEYS = (
    "OPENAI_ADMIN_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "AI_GATEWAY_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GROQ_API_KEY",
    "LITELLM_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NVIDIA_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "PERPLEXITYAI_API_KEY",
    "PPLX_API_KEY",
    "REPLICATE_API_TOKEN",
    "SAMBANOVA_API_KEY",
    "TOGETHERAI_API_KEY",
    "TOGETHER_API_KEY",
    "VOYAGE_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
)
"""Keys of models that flowproof never sends: in an agent's hands they would cost money at a
replay. Tokens that open more than models, such as HF_TOKEN, are not among them."""

KEY_VARIABLES = (
    KEY_VARIABLE,
    *(name for provider in PROVIDERS.values() for name in provider.key_variables),
    *_OTHER_KEYS,
)
"""Every variable that may hold a real key."""


def owner_of(url: str) -> Provider | None:
    """Whose public host a URL names, also under a regional or resource name such as
    `eu.api.openai.com`, or with the final dot that DNS allows."""
    host = f".{(urlsplit(url).hostname or '').rstrip('.')}"
    return next(
        (
            owner
            for owner in PROVIDERS.values()
            if any(host.endswith(f".{one}") for one in owner.hosts)
        ),
        None,
    )


def is_private(url: str) -> bool:
    """Whether a URL names this machine or one of its own network: by an address of such, or by a
    name that no public DNS has."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if "." not in host and ":" not in host:
        return True
    if host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa")):
        return True
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
