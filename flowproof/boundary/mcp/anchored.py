"""The recorded events of one connection, each told once, when its time has come.

`replayed_session` asks it; `matching` does the same for calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from flowproof.boundary.mcp.jsonrpc import key
from flowproof.boundary.mcp.lanes import named_token
from flowproof.model.mcp import McpCall, McpEvent


class Anchored:
    """What the server said, in the order in which it did: `after` and `seen` never decrease."""

    def __init__(self, events: Sequence[McpEvent]) -> None:
        self._events = tuple(event for event in events if event.sender == "server")
        self._of_token: dict[str, list[int]] = defaultdict(list)
        for index, event in enumerate(self._events):
            token = named_token(event.message)
            if token is not None:
                self._of_token[key(token)].append(index)
        # Mutable: before which index all are told, and which are after it.
        self._next = 0
        self._told: set[int] = set()

    def due(self, answered: int, arrived: int, rank: int = 0) -> Iterator[McpEvent]:
        """Those whose time has come now that so many calls were answered and have arrived, and
        those that crossed before the answer of this rank (0: of none)."""
        while self._next < len(self._events):
            event = self._events[self._next]
            if self._next not in self._told:
                early = event.after <= answered or event.after < rank
                if not early or event.seen > arrived:
                    return
                yield event
            self._next += 1

    def progress(self, call: McpCall) -> Iterator[McpEvent]:
        """What tells of the progress of a call before its answer. It is due with the call, also
        where others that had come first this time come later."""
        if call.progress_token is None:
            return
        for index in self._of_token.get(key(call.progress_token), ()):
            event = self._events[index]
            if index >= self._next and index not in self._told and event.after < call.answered:
                self._told.add(index)
                yield event
