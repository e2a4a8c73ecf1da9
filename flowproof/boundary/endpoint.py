"""Where a recording's requests go and how long that may take; `upstream` does the going."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests of one provider go. `url` has no trailing slash; `headers` carry the key,
    are kept in memory only, and never appear in `repr`."""

    url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one upstream call: seconds to connect, seconds without a byte, and bytes."""

    connect_timeout: float = 30.0
    idle_timeout: float = 120.0
    max_body: int = 64 * 1024 * 1024
