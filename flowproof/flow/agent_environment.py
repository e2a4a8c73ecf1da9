"""The environment an agent is started with: ours without real keys, plus where the proxy is.

Pure: mappings in, a mapping out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flowproof.flow.upstream import KEY_VARIABLES, UPSTREAM_VARIABLE

PLACEHOLDER_KEY = "flowproof-placeholder-key"
"""What an agent gets as a key, so that clients which refuse to start without one start."""

PROMPT_VARIABLE = "FLOWPROOF_PROMPT"
_WITH_VERSION = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_BASE", "FLOWPROOF_LLM_PROXY")
_WITHOUT_VERSION = ("ANTHROPIC_BASE_URL",)
_ALWAYS_KEYED = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
_OWN = frozenset({UPSTREAM_VARIABLE, "FLOWPROOF_AGENT_KEY"})
_LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True, slots=True)
class Handles:
    """What `${flowproof.NAME}` stands for in a spec. `proxy_url` ends in /v1."""

    proxy_url: str
    mcp_urls: Mapping[str, str]

    def values(self) -> dict[str, str]:
        """Every handle by its name."""
        return {
            "proxy_url": self.proxy_url,
            "proxy_url_no_v1": self.proxy_url.removesuffix("/v1"),
            **{f"mcp_url.{name}": url for name, url in self.mcp_urls.items()},
        }


def agent_environment(
    inherited: Mapping[str, str], handles: Handles, task: str, declared: Mapping[str, str]
) -> dict[str, str]:
    """Everything the agent finds in its environment; `declared` (agent.env) is applied last.

    A variable that holds a real key, under whatever name, holds a placeholder instead.
    """
    real_keys = {
        inherited[name] for name in KEY_VARIABLES if len(inherited.get(name, "").strip()) >= 8
    }
    environment = {
        name: _without_keys(value, real_keys)
        for name, value in inherited.items()
        if name not in _OWN
    }
    for name in KEY_VARIABLES:
        if name in environment:
            environment[name] = PLACEHOLDER_KEY
    environment |= dict.fromkeys(_ALWAYS_KEYED, PLACEHOLDER_KEY)
    urls = handles.values()
    environment |= dict.fromkeys(_WITH_VERSION, urls["proxy_url"])
    environment |= dict.fromkeys(_WITHOUT_VERSION, urls["proxy_url_no_v1"])
    environment[PROMPT_VARIABLE] = task
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = _with_loopback(environment.get(name, ""))
    return environment | dict(declared)


def _without_keys(value: str, keys: Iterable[str]) -> str:
    for key in keys:
        value = value.replace(key, PLACEHOLDER_KEY)
    return value


def _with_loopback(hosts: str) -> str:
    """A NO_PROXY list that keeps clients from asking a web proxy for our own."""
    listed = [host for host in hosts.split(",") if host.strip()]
    return ",".join([*listed, *(host for host in _LOOPBACK if host not in listed)])
