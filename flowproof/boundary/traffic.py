"""Counts what reaches the model proxy outside of any turn: requests that nobody serves."""

from __future__ import annotations

from collections import Counter

from flowproof.model.traffic import Unserved

_DISTINCT = 50
"""How many different unserved requests are told apart; a scan must not fill the report."""


class UnservedRequests:
    """Requests to paths that no dialect serves, by method and path."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, method: str, path: str) -> None:
        """Count one; the query is not given, since it may hold a key."""
        key = (method[:20], path[:200])
        if key in self._counts or len(self._counts) < _DISTINCT:
            self._counts[key] += 1

    def seen(self) -> tuple[Unserved, ...]:
        """All of them, in the order of their first arrival."""
        return tuple(
            Unserved(method, path, count) for (method, path), count in self._counts.items()
        )
