"""Rows of flows as drawings read them, made for tests."""

from __future__ import annotations

from dataclasses import dataclass

from flowproof.model.outcome import Verdict
from flowproof.report.words import VERDICTS, Words

PASSED = VERDICTS[Verdict.PASS]
FAILED = VERDICTS[Verdict.FAIL]
SKIPPED = VERDICTS[Verdict.SKIPPED]


@dataclass(frozen=True, slots=True)
class Row:
    """A flow of a run; `id` is its path."""

    id: str
    words: Words = PASSED
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    offset: float | None = None
    duration: float = 0.0
    usual: float | None = None
    slot: int = 0
    host: str = ""
    attempts: int = 1
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or f"Flow {self.id}"

    @property
    def href(self) -> str:
        return f"flows/{self.id}.html"
