"""What of a request and of an answer crosses the recording proxy: all but credentials and hops.

Pure; `upstream` sends and receives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flowproof.boundary.http1 import Headers

HOPS = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
        "content-encoding",
        "expect",
    }
)
"""The headers of a request that are hop by hop (RFC 9110 §7.6.1), or framing, which the client sets
itself."""
_KEPT_BACK = HOPS | frozenset(
    {
        # answers are stored decoded, so we ask only for what we can decode
        "accept-encoding",
        # credentials: the agent holds placeholders
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
    }
)
_NOT_PASSED_ON = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-encoding",
        "set-cookie",
        # a client that followed it would leave flowproof, and at replay the network
        "location",
        # put back cleaned
        "content-type",
    }
)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header value may hold; clients and servers differ in what they do with it."""


def forwarded(headers: Headers) -> Iterator[tuple[str, str]]:
    """The agent's headers without credentials and without what concerns one connection only."""
    named = ",".join(value for name, value in headers if name == "connection")
    kept_back = _KEPT_BACK | {name.strip().lower() for name in named.split(",")}
    return ((name, value) for name, value in headers if name not in kept_back)


def passed_on(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The headers of an answer that the agent may get, names in lower case; its content type and
    keys in it are the caller's to clean."""
    for name, value in headers:
        lower = name.lower()
        if lower not in _NOT_PASSED_ON and name.isascii() and not _CONTROL.search(value):
            yield lower, value
