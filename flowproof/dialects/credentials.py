"""The parameters of a query in which APIs take a key: they are stored nowhere and sent nowhere."""

from __future__ import annotations

from urllib.parse import unquote_plus

_PARAMETERS = frozenset(
    {
        "access_token",
        "api_key",
        "apikey",
        "auth_token",
        "bearer_token",
        "id_token",
        "key",
        "oauth_token",
        "subscription_key",
        "token",
    }
)


def without_credentials(query: str) -> str:
    """A query as it was written, without the parameters in which APIs take a key."""
    return "&".join(part for part in query.split("&") if not _is_credential(part))


def _is_credential(part: str) -> bool:
    name = unquote_plus(part.partition("=")[0]).strip().lower()
    # Google's APIs take theirs with a dollar sign before them as well.
    return name.lstrip("$").replace("-", "_") in _PARAMETERS
