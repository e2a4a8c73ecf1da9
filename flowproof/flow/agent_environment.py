"""The environment an agent is started with: ours without real keys, plus where the proxy is.

Pure: mappings in, a mapping out. Counterpart: `resolve_env`, which takes real keys out of all
else that an agent is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flowproof.boundary.keys import PLACEHOLDER_KEY as PLACEHOLDER_KEY
from flowproof.boundary.keys import placeholder_for
from flowproof.flow.azure_environment import ApiType, azure_environment
from flowproof.flow.providers import FLOWPROOF_UPSTREAMS, KEY_VARIABLE, KEY_VARIABLES

PROMPT_VARIABLE = "FLOWPROOF_PROMPT"
MCP_PREFIX = "FLOWPROOF_MCP_"
_WITH_VERSION = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_BASE", "FLOWPROOF_LLM_PROXY")
_WITHOUT_VERSION = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_BASE",  # litellm reads it first
    "ANTHROPIC_API_URL",  # LangChain reads it first
    "GOOGLE_GEMINI_BASE_URL",
    "GEMINI_API_BASE",  # litellm
    "OLLAMA_HOST",
    "OLLAMA_API_BASE",  # litellm
    "OLLAMA_BASE_URL",  # pydantic-ai
)
_ALWAYS_KEYED = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
"""Not GOOGLE_API_KEY: Google's client warns where both are set."""
_UNLESS_SET = {
    # What these send beside model requests goes to a host of its own, whatever the base URL.
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_OWN = frozenset({*FLOWPROOF_UPSTREAMS, KEY_VARIABLE})
_LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class Handles:
    """What `${flowproof.NAME}` stands for in a spec. `proxy_url` ends in /v1.

    `mcp_urls` and `mcp_commands` are by the names of MCP servers, `variables` tell the agent of
    them under names of their own. `api_type` is what the trace that is replayed tells of clients
    of Azure.
    """

    proxy_url: str
    mcp_urls: Mapping[str, str]
    mcp_commands: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    api_type: ApiType = ""

    def values(self) -> dict[str, str]:
        """Every handle by its name."""
        return {
            "proxy_url": self.proxy_url,
            "proxy_url_no_v1": self.proxy_url.removesuffix("/v1"),
            **{f"mcp_url.{name}": url for name, url in self.mcp_urls.items()},
            **{f"mcp_server.{name}": command for name, command in self.mcp_commands.items()},
        }


def agent_environment(
    inherited: Mapping[str, str], handles: Handles, task: str, declared: Mapping[str, str]
) -> dict[str, str]:
    """Everything the agent finds in its environment; `declared` (agent.env) is applied last.

    A variable that holds a real key, under whatever name, holds a placeholder instead.
    """
    without_keys = key_remover(inherited)
    environment = {
        name: without_keys(value) for name, value in inherited.items() if not _is_own(name)
    }
    for name in KEY_VARIABLES:
        if name in environment:
            environment[name] = PLACEHOLDER_KEY
    environment |= dict.fromkeys(_ALWAYS_KEYED, PLACEHOLDER_KEY)
    urls = handles.values()
    environment |= dict.fromkeys(_WITH_VERSION, urls["proxy_url"])
    environment |= dict.fromkeys(_WITHOUT_VERSION, urls["proxy_url_no_v1"])
    environment |= azure_environment(inherited, urls["proxy_url_no_v1"], handles.api_type)
    environment = _UNLESS_SET | environment
    environment[PROMPT_VARIABLE] = task
    environment |= handles.variables
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = _with_loopback(environment.get(name, ""))
    return environment | dict(declared)


def server_environment(inherited: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """Everything that a real MCP server finds in its environment: the agent's, but for provider
    keys and for what leads an agent to flowproof. A server is no part of what is recorded: its
    own model requests must not count as the agent's."""
    without_keys = key_remover(inherited)
    return {
        name: without_keys(value)
        for name, value in {**inherited, **declared}.items()
        if not (_is_own(name) or name in KEY_VARIABLES or name == PROMPT_VARIABLE)
    }


def _is_own(name: str) -> bool:
    return name in _OWN or name.startswith(MCP_PREFIX)


def key_remover(*environments: Mapping[str, str]) -> Callable[[str], str]:
    """A function that puts the placeholder into a text wherever a real key of these
    environments stands in it, also a key that was set with its scheme, such as `Bearer KEY`."""
    return placeholder_for(key_texts(*environments))


def key_texts(*environments: Mapping[str, str]) -> set[str]:
    """Every real key of these environments, also without its scheme."""
    keys: set[str] = set()
    for environment in environments:
        for name in KEY_VARIABLES:
            value = environment.get(name, "").strip()
            keys |= {value, *value.split()}
    return keys


def _with_loopback(hosts: str) -> str:
    """A NO_PROXY list that keeps clients from asking a web proxy for our own."""
    listed = [host for host in hosts.split(",") if host.strip()]
    return ",".join([*listed, *(host for host in _LOOPBACK if host not in listed)])
