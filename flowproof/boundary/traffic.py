"""Tells apart and counts what reaches the model proxy outside of any turn: what nobody serves.

`model_proxy` refuses it; `model.served` has the words for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from flowproof.boundary.http1 import Request
from flowproof.dialects.registry import find
from flowproof.model.traffic import (
    LONGEST_METHOD,
    LONGEST_PATH,
    MOST_UNSERVED,
    Arrival,
    Unserved,
)

_CLOUD = re.compile(
    r"/publishers/[^/]+/models/|/projects/[^/]+/locations/"
    r"|/model/[^/]+/(?:converse|invoke)(?:-with-response)?(?:-stream)?\Z"
)
_RETRIEVAL = re.compile(r"/responses/[^/]+(?:/cancel)?/?\Z")


class UnservedRequests:
    """Requests to paths that no dialect serves, by method, path and kind."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, Arrival]] = Counter()

    def note(self, method: str, path: str, kind: Arrival = "request") -> Unserved:
        """Count one, and say what it is known as; the query is not given, since it may hold a
        key."""
        key = (method[:LONGEST_METHOD], path[:LONGEST_PATH], kind)
        if key in self._counts or len(self._counts) < MOST_UNSERVED:
            self._counts[key] += 1
        return Unserved(*key[:2], 1, kind)

    def seen(self) -> tuple[Unserved, ...]:
        """All of them, in the order of their first arrival."""
        return tuple(
            Unserved(method, path, count, kind)
            for (method, path, kind), count in self._counts.items()
        )


def is_new(arrived: Unserved, recorded: Sequence[Unserved] | None) -> bool:
    """Whether a recording shows that its agent made no such request, however often.

    None stands for one that does not tell, and of one that is full nobody knows the rest. To try
    a WebSocket first changes nothing that a model is asked.
    """
    if recorded is None or len(recorded) >= MOST_UNSERVED or arrived.kind == "upgrade":
        return False
    return all(
        (one.method, one.path, one.kind) != (arrived.method, arrived.path, arrived.kind)
        for one in recorded
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
