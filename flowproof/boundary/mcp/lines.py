"""Splits what one side of a stdio transport says into messages: one to a line."""

from __future__ import annotations

from flowproof.boundary.mcp.jsonrpc import MAX_MESSAGE


class Lines:
    """Takes bytes as they come and gives whole lines. Of one that is longer than any message may
    be, as much is kept as shows that."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in these bytes, but for blank ones."""
        *ended, rest = data.split(b"\n")
        found = [self._taken(piece) for piece in ended]
        self._hold(rest)
        return [line for line in found if line.strip()]

    def rest(self) -> list[bytes]:
        """What came after the last line, as a line of its own, once no more will come."""
        line = self._taken(b"")
        return [line] if line.strip() else []

    def _taken(self, piece: bytes) -> bytes:
        self._hold(piece)
        line = bytes(self._held)
        self._held.clear()
        return line

    def _hold(self, piece: bytes) -> None:
        self._held += piece[: MAX_MESSAGE + 1 - len(self._held)]
