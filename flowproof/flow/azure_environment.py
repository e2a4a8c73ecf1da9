"""What a client of Azure finds in its environment, which no other client may find there.

Pure. `agent_environment` has the variables that every agent is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from flowproof.boundary.keys import PLACEHOLDER_KEY
from flowproof.flow.providers import AZURE
from flowproof.trace.document import Trace

ApiType: TypeAlias = Literal["", "openai", "azure"]
"""Whom OpenAI's Python package speaks to where its functions are used without a client: empty
where that is not known or no question, since nothing is there for Azure."""

_TYPE = "OPENAI_API_TYPE"
_VERSION = "OPENAI_API_VERSION"
_ANY_VERSION = "2024-10-21"
_ENDPOINT, _KEY = "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"
_CLIENTS = (
    (_ENDPOINT, _KEY, "AZURE_OPENAI_AD_TOKEN"),
    ("AZURE_API_BASE", "AZURE_API_KEY", "AZURE_AD_TOKEN"),  # litellm
)
"""For each family of clients where it finds its endpoint, its key, and other credentials."""


def azure_environment(
    inherited: Mapping[str, str], proxy_url: str, recorded: ApiType
) -> dict[str, str]:
    """The variables for clients of Azure; none where nothing hints at one.

    Their presence alone makes some clients speak to Azure, and others refuse to choose. So they
    are given to an agent that had one of its family, or whose upstream for Azure is named, or
    whose recording holds requests for a deployment. `proxy_url` has no version.
    """
    wanted = bool(recorded) or bool(inherited.get(AZURE.upstream_variable))
    given: dict[str, str] = {}
    for family in _CLIENTS:
        if wanted or any(name in inherited for name in family):
            endpoint, key = family[:2]
            given |= {endpoint: proxy_url + _below(inherited.get(endpoint, ""))}
            given |= {key: PLACEHOLDER_KEY}
    if recorded and _VERSION not in inherited:
        # Whatever it is: a request is compared without its query.
        given[_VERSION] = _ANY_VERSION
    if _ENDPOINT in given and _TYPE not in inherited:
        given |= _api_type(inherited, recorded)
    return given


def recorded_api_type(trace: Trace) -> ApiType:
    """Whom the OpenAI package spoke to in a recording, empty if it holds no deployment."""
    asked = [turn.operation for turn in trace.turns]
    asked += [call.operation for call in trace.side_calls]
    paths = [one.path for one in asked if one.dialect.startswith("openai.")]
    of_azure = [path for path in paths if path.startswith("/deployments/")]
    if not of_azure:
        return ""
    return "azure" if len(of_azure) == len(paths) else "openai"


def _below(endpoint: str) -> str:
    """The end of an endpoint by which some clients choose the API that has no deployments."""
    return "/openai/v1" if endpoint.rstrip("/").endswith("/openai/v1") else ""


def _api_type(inherited: Mapping[str, str], recorded: ApiType) -> dict[str, str]:
    """What the package would have found out by itself. It looks for keys of both, and we add to
    what it finds; where it found both, it could not tell and was told in the code."""
    had_openai = "OPENAI_API_KEY" in inherited
    had_azure = any(name in inherited for name in _CLIENTS[0])
    if recorded:
        return {_TYPE: recorded}
    if had_openai and had_azure:
        return {}
    return {_TYPE: "openai" if had_openai else "azure"}
