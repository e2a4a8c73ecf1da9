"""The wall and monotonic clock, as one collaborator that a test can freeze."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the rest of flowproof knows of time."""

    def now(self) -> datetime:
        """The current instant, in UTC."""

    def monotonic(self) -> float:
        """Seconds since some fixed point; only differences mean anything."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def utc_text(moment: datetime) -> str:
    """An instant as RFC 3339 in UTC, whole seconds: `2026-11-30T09:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant(text: str) -> datetime | None:
    """The instant that a text of `utc_text` names; None if it names none."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
