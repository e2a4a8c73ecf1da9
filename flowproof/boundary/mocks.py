"""The results an author wrote for tools, handed to a dialect that puts them into requests.

The same code runs at record and at replay, so both phases tell the model the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from flowproof.model.jsonvalue import JsonValue, write


@dataclass(frozen=True, slots=True)
class MockedTool:
    """Resolved results of one tool, one call after another."""

    results: tuple[JsonValue, ...]
    repeat_last: bool


class ResultsExhausted(Exception):
    """An agent called a tool more often than the author wrote results for."""

    def __init__(self, tool: str, call: int, held: int) -> None:
        self.tool = tool
        results = "1 result" if held == 1 else f"{held} results"
        super().__init__(
            f"tool `{tool}` was called {call} times, but `results:` holds {results}; "
            "add one, or set `repeat_last: true`"
        )


class MockResults:
    """Answers which text the model is told for each tool call of one flow.

    A call keeps the result it was given first, since every later request repeats it. Clients
    that number their calls use an id again in another conversation, so that the arguments are
    part of what a call is known by.
    """

    def __init__(self, tools: Mapping[str, MockedTool]) -> None:
        self._tools = tools
        # Mutable: which result each call got, in the order in which calls were first seen.
        self._given: dict[str, dict[tuple[str | None, int, str], int]] = defaultdict(dict)

    def __bool__(self) -> bool:
        """Whether any tool has a result."""
        return any(mocked.results for mocked in self._tools.values())

    def __call__(
        self, tool: str, call_id: str | None, occurrence: int, arguments: str
    ) -> str | None:
        """The text for one call, None where the tool is not mocked.

        :raises ResultsExhausted: if no result is left for it.
        """
        mocked = self._tools.get(tool)
        if mocked is None or not mocked.results:
            return None
        given = self._given[tool]
        index = given.setdefault((call_id, occurrence, arguments), len(given))
        if index >= len(mocked.results):
            if not mocked.repeat_last:
                raise ResultsExhausted(tool, index + 1, len(mocked.results))
            index = len(mocked.results) - 1
        return mock_text(mocked.results[index])


def mock_text(result: JsonValue) -> str:
    """What is sent for a result: a string as it is, anything else as compact JSON."""
    return result if isinstance(result, str) else write(result)
