"""Tells apart and counts what reaches the model proxy outside of any turn: what nobody serves.

`model_proxy` refuses it; `model.served` has the words for it.
"""

from __future__ import annotations

import re
from collections import Counter

from flowproof.boundary.http1 import Request
from flowproof.dialects.registry import find
from flowproof.model.traffic import Arrival, Unserved

_DISTINCT = 50
"""How many different unserved requests are told apart; a scan must not fill the report."""
_CLOUD = re.compile(
    r"/publishers/[^/]+/models/|/projects/[^/]+/locations/"
    r"|/model/[^/]+/(?:converse|invoke)(?:-with-response)?(?:-stream)?\Z"
)
_RETRIEVAL = re.compile(r"/responses/[^/]+(?:/cancel)?/?\Z")


class UnservedRequests:
    """Requests to paths that no dialect serves, by method, path and kind."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, Arrival]] = Counter()

    def note(self, method: str, path: str, kind: Arrival = "request") -> None:
        """Count one; the query is not given, since it may hold a key."""
        key = (method[:20], path[:200], kind)
        if key in self._counts or len(self._counts) < _DISTINCT:
            self._counts[key] += 1

    def seen(self) -> tuple[Unserved, ...]:
        """All of them, in the order of their first arrival."""
        return tuple(
            Unserved(method, path, count, kind)
            for (method, path, kind), count in self._counts.items()
        )


def arrival(request: Request) -> Arrival:
    """What a request is that no dialect serves. Header names are lower case."""
    if any(name == "upgrade" and "websocket" in text.lower() for name, text in request.headers):
        return "websocket" if find("POST", request.path) is None else "upgrade"
    if _CLOUD.search(request.path):
        return "cloud"
    # google-genai asks the bare base URL where it is told of a project and of a location.
    if request.path == "/" and any(name.startswith("x-goog-") for name, _ in request.headers):
        return "cloud"
    return "retrieval" if _RETRIEVAL.search(request.path) else "request"
