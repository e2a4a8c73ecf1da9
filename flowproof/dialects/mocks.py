"""The results that an author wrote, asked for in the order in which a request has its own.

The dialects say which call a result answers, and how one is written.
"""

from __future__ import annotations

from collections import Counter

from flowproof.dialects.interface import Substitution


class Mocks:
    """Asks for the texts to put in. `tools` names the tools of those found so far."""

    def __init__(self, substitution: Substitution) -> None:
        self._substitution = substitution
        # Mutable: how often each call had a result, and the tools replaced.
        self._seen: Counter[tuple[str | None, str | None]] = Counter()
        self.tools: list[str] = []

    def text(self, tool: str | None, call_id: str | None, arguments: str) -> str | None:
        """What the model shall be told instead of the next result; None leaves it as it is.

        A result of which nobody knows the tool is left, and counted.
        """
        # An id alone tells calls apart; a result without one counts by its tool.
        key = (call_id, tool if call_id is None else None)
        occurrence = self._seen[key]
        self._seen[key] += 1
        if tool is None:
            return None
        text = self._substitution(tool, call_id, occurrence, arguments)
        if text is not None:
            self.tools.append(tool)
        return text
