"""The endpoints beside a model's conversation: embeddings, token counts, lists and probes.

`registry.find_side` looks a request up here; `boundary.side_calls` answers it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from flowproof.dialects.credentials import of_list, without_credentials
from flowproof.dialects.interface import Target
from flowproof.dialects.openai import names_deployment
from flowproof.model.turn import Operation


class Policy(Enum):
    """How calls of a side endpoint are recorded and served."""

    PINNED = "pinned"
    """Matched whole, and asked for at replay as it was; an equal repeat is served again."""
    FREE = "free"
    """Its latest answer is served any number of times, or never."""
    PROBE = "probe"
    """Answered by flowproof itself, never forwarded and never stored."""


@dataclass(frozen=True, slots=True)
class SideEndpoint:
    """One side endpoint under one path.

    `pattern` is searched in a path; its group `path` is where the endpoint stands below its
    version, its group `version`, where there is one, which version a client named. `base` is
    what comes before `path` upstream. With `listed` the query says what is asked for.
    """

    name: str
    policy: Policy
    method: str
    pattern: str
    base: str = ""
    listed: bool = False

    @property
    def provider(self) -> str:
        """Whose API it belongs to."""
        return self.name.partition(".")[0]

    @property
    def is_probe(self) -> bool:
        """Whether flowproof itself answers."""
        return self.policy is Policy.PROBE

    @property
    def dialect(self) -> str:
        """The dialect whose clients call it, and read its errors."""
        return _DIALECTS[self.provider]


@dataclass(frozen=True, slots=True)
class SideRoute:
    """What a request asks of a side endpoint, and where below the upstream's base URL it goes.

    The operation is named as the endpoint; credentials in a query are in neither of the two.
    """

    endpoint: SideEndpoint
    operation: Operation
    target: Target


_DIALECTS = {
    "openai": "openai.chat",
    "anthropic": "anthropic.messages",
    "google": "google.generate",
    "ollama": "ollama.chat",
}
# One plain segment: nothing in a request may climb out of the upstream's path. A slash inside a
# model's name is escaped.
_SEGMENT = "[A-Za-z0-9_][A-Za-z0-9_.:@-]*"
_NAME = rf"{_SEGMENT}(?:%2[Ff]{_SEGMENT})*"
_VERSION = r"(?:/(?P<version>v[0-9][0-9a-z]{0,15}))?"
# Behind a colon this API names what is to be done with a model.
_GOOGLE_NAME = _NAME.replace(_SEGMENT, _SEGMENT.replace(":", ""))
_GOOGLE_MODEL = rf"/(?:models|tunedModels)/{_GOOGLE_NAME}"
_PINNED, _FREE = Policy.PINNED, Policy.FREE


def _openai(name: str, policy: Policy, method: str, path: str, **more: bool) -> SideEndpoint:
    return SideEndpoint(f"openai.{name}", policy, method, rf"(?P<path>{path})/?\Z", "", **more)


def _anthropic(name: str, policy: Policy, method: str, path: str, **more: bool) -> SideEndpoint:
    pattern = rf"(?P<path>{path})/?\Z"
    return SideEndpoint(f"anthropic.{name}", policy, method, pattern, "/v1", **more)


def _google(name: str, policy: Policy, method: str, path: str, **more: bool) -> SideEndpoint:
    pattern = rf"{_VERSION}(?P<path>{path})/?\Z"
    return SideEndpoint(f"google.{name}", policy, method, pattern, "/v1beta", **more)


def _ollama(name: str, policy: Policy, method: str, path: str) -> SideEndpoint:
    return SideEndpoint(f"ollama.{name}", policy, method, rf"(?P<path>{path})/?\Z")


_LISTS: Mapping[str, SideEndpoint] = {
    "openai": _openai("models", _FREE, "GET", rf"/models(?:/{_NAME})?", listed=True),
    "anthropic": _anthropic("models", _FREE, "GET", rf"/models(?:/{_NAME})?", listed=True),
    "google": _google("models", _FREE, "GET", rf"/models|{_GOOGLE_MODEL}", listed=True),
}
"""Three APIs list their models at one path."""
_TUNED = _google("models", _FREE, "GET", rf"/tunedModels(?:/{_GOOGLE_NAME})?", listed=True)
_OTHERS = (
    # Before those of OpenAI, which the older of the two would also be.
    _ollama("embeddings", _PINNED, "POST", r"/api/(?:embed|embeddings)"),
    _ollama("tags", _FREE, "GET", "/api/tags"),
    _ollama("show", _FREE, "POST", "/api/show"),
    _ollama("version", _FREE, "GET", "/api/version"),
    _ollama("ps", _FREE, "GET", "/api/ps"),
    _openai("embeddings", _PINNED, "POST", rf"(?:/deployments/{_NAME})?/embeddings"),
    _openai("count_tokens", _PINNED, "POST", "/responses/input_tokens"),
    _anthropic("count_tokens", _PINNED, "POST", "/messages/count_tokens"),
    _google("embeddings", _PINNED, "POST", rf"{_GOOGLE_MODEL}:(?:embedContent|batchEmbedContents)"),
    _google("count_tokens", _PINNED, "POST", rf"{_GOOGLE_MODEL}:countTokens"),
    _TUNED,
)
_PROBES = (
    SideEndpoint("anthropic.hello", Policy.PROBE, "HEAD", r"(?P<path>/api/hello)/?\Z"),
    SideEndpoint("ollama.root", Policy.PROBE, "HEAD", r"\A(?P<path>/?)\Z"),
    SideEndpoint("ollama.root", Policy.PROBE, "GET", r"\A(?P<path>/?)\Z"),
)
SIDE_ENDPOINTS: Mapping[str, SideEndpoint] = MappingProxyType(
    {endpoint.name: endpoint for endpoint in (*_OTHERS, *_LISTS.values())}
)
"""All that a recording may hold, by name."""

_GOOGLE_HEADERS = ("x-goog-api-key", "x-goog-api-client")
_GOOGLE_PATH = r"/v[0-9](?:alpha|beta)[0-9]?/models"


def route(
    method: str, path: str, query: str, headers: Sequence[tuple[str, str]]
) -> SideRoute | None:
    """The side endpoint that a request asks for, None if it is none. Header names are lower
    case."""
    for endpoint in (*_PROBES, *_OTHERS, _listing(path, headers)):
        if endpoint.method == method:
            found = re.search(endpoint.pattern, path)
            if found is not None and not names_deployment(path[: found.start("path")]):
                return _route(endpoint, found, query)
    return None


def _listing(path: str, headers: Sequence[tuple[str, str]]) -> SideEndpoint:
    """Whose list of models a request wants; OpenAI's where nothing tells."""
    sent = {name for name, _ in headers}
    if "anthropic-version" in sent:
        return _LISTS["anthropic"]
    if not sent.isdisjoint(_GOOGLE_HEADERS) or re.search(_GOOGLE_PATH, path):
        return _LISTS["google"]
    return _LISTS["openai"]


def _route(endpoint: SideEndpoint, found: re.Match[str], query: str) -> SideRoute:
    passed = of_list(query) if endpoint.policy is Policy.FREE else without_credentials(query)
    below = found["path"]
    asked = f"{below}?{passed}" if endpoint.listed and passed else below
    version = found.groupdict().get("version")
    base = endpoint.base if version is None else f"/{version}"
    return SideRoute(endpoint, Operation(endpoint.name, asked), Target(base + below, passed))
