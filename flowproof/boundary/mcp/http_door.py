"""Who may come in: requests of programs on this machine, and of no page that a browser shows.

A page of any site may send requests to the loopback; its Origin, or a Host that was made to point
here, gives it away.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flowproof.boundary.http1 import Request

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def turned_away(request: Request) -> str:
    """Why a request may not come in; empty if it may."""
    for name, value in request.headers:
        if name == "host" and not _is_loopback(f"//{value}", ("",)):
            return "this Host is not the loopback's"
        if name == "origin" and not _is_loopback(value, ("http", "https")):
            return "this Origin is not the loopback's"
    return ""


def is_endpoint(path: str) -> bool:
    """Whether a path leads to the server; what clients look up about it beside does not."""
    return "/mcp" in path and not path.startswith("/.well-known/")


def _is_loopback(url: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is none
    except ValueError:
        return False
    return parts.scheme in schemes and parts.hostname in _LOOPBACK and "@" not in parts.netloc
