"""Tells what clients of Azure ask from what others ask of OpenAI's API, on paths of its own.

Sans-I/O; `recording_proxy` asks here where a request goes.
"""

from __future__ import annotations

from flowproof.dialects.interface import Target

OPENAI = "openai"
AZURE = "azure"
"""Requests that only clients of Azure make."""
AZURE_V1 = "azure.v1"
"""Requests that others make as well, if their base URL ends in /openai/v1."""

_ROOT = "/openai"
_V1 = f"{_ROOT}/v1"


def places(provider: str, sent: Target, path: str) -> tuple[str, ...]:
    """Whose upstreams a request may go to, the likeliest first.

    `sent` is where it arrived, `path` what it asks for below a base URL.
    """
    if provider != OPENAI:
        return (provider,)
    above = _above(sent, path)
    if path.startswith("/deployments/"):
        return AZURE, OPENAI
    if above.endswith((_ROOT, _V1)) and _has_version(sent.query):
        return AZURE, OPENAI
    return (AZURE_V1, OPENAI) if above == _V1 else (OPENAI,)


def below(sent: Target, path: str) -> str:
    """What stands between Azure's base URL, which ends in /openai, and the path of a request."""
    return "/v1" if _above(sent, path).endswith(_V1) else ""


def _above(sent: Target, path: str) -> str:
    return sent.path.removesuffix("/").removesuffix(path)


def _has_version(query: str) -> bool:
    return any(part.startswith("api-version=") for part in query.split("&"))
