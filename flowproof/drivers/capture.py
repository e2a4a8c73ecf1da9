"""Keeps the beginning and the end of what a process writes, in bounded memory.

Counterpart: `command.py` feeds it from a pipe; reports show the `Captured` it yields.
"""

from __future__ import annotations

import codecs

from flowproof.model.agent_exit import Captured

DEFAULT_LIMIT = 1024 * 1024
"""Bytes kept of one stream: half from its beginning, half from its end."""


class Collector:
    """Takes the bytes of one stream and keeps at most `limit` of them."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._head_size = limit - limit // 2
        self._tail_size = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # Trimmed only at twice its size, so that each byte is moved at most once on average.
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: len(self._tail) - self._tail_size]

    def captured(self) -> Captured:
        """What was kept so far, as text. A character that the cut would split is left out."""
        tail = self._tail[max(0, len(self._tail) - self._tail_size) :]
        if len(self._head) + len(tail) == self._total:
            return Captured((self._head + tail).decode("utf-8", "replace"), self._total)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        before = decoder.decode(bytes(self._head))
        split = len(decoder.getstate()[0])
        skipped = 0
        while skipped < min(3, len(tail)) and tail[skipped] & 0xC0 == 0x80:
            skipped += 1
        after = tail[skipped:].decode("utf-8", "replace")
        left_out = self._total - len(self._head) - len(tail) + split + skipped
        newline = "" if not before or before.endswith("\n") else "\n"
        note = f"{newline}[… {left_out:,} bytes left out …]\n"
        return Captured(f"{before}{note}{after}", self._total)
