"""The parameters of a query in which APIs take a key: they are stored nowhere and sent nowhere.

`without_credentials` takes out what is known as one, `of_list` what is not known as none.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

_PARAMETERS = frozenset(
    {
        "access_token",
        "api_key",
        "apikey",
        "auth_token",
        "auth",
        "authorization",
        "bearer_token",
        "client_secret",
        "code",
        "id_token",
        "key",
        "oauth_token",
        "password",
        "secret",
        "sig",
        "signature",
        "subscription_key",
        "token",
    }
)


_OF_LISTS = frozenset(
    {
        "$alt",
        "after",
        "after_id",
        "alt",
        "api-version",
        "before",
        "before_id",
        "beta",
        "category",
        "filter",
        "limit",
        "order",
        "output_modalities",
        "page",
        "page_size",
        "page_token",
        "pagesize",
        "pagetoken",
        "supported_parameters",
    }
)
"""The parameters that say which part of a list is asked for, and how."""


def of_list(query: str) -> str:
    """The query of a list as it was written, with no other parameters than those known to say
    what is asked for: a list is asked for with whatever key, under whatever name."""
    # Some servers separate parameters with a semicolon as well.
    parts = re.split("[&;]", query)
    return "&".join(part for part in parts if _name(part) in _OF_LISTS)


def without_credentials(query: str) -> str:
    """A query as it was written, without the parameters in which APIs take a key."""
    parts = query.split("&")
    return "&".join(part for part in parts if not any(map(_is_credential, part.split(";"))))


def _is_credential(part: str) -> bool:
    # Google's APIs take theirs with a dollar sign before them as well, PHP's with brackets.
    name = _name(part).lstrip("$").partition("[")[0].replace("-", "_")
    return name.removeprefix("x_").removeprefix("goog_") in _PARAMETERS


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0]).strip().lower()
