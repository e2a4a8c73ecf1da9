"""A stream of the Gemini API that is one JSON array, cut into its elements.

So it answers a client that does not ask for server-sent events, which `sse` cuts.
"""

from __future__ import annotations

import re

from flowproof.dialects.interface import Framing
from flowproof.dialects.sse import MAX_FRAME, FrameError
from flowproof.errors import UpstreamError

_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'["\\]')
_OPENING = b"[{"


class ElementError(FrameError):
    """An array in a stream has an element of more bytes than are accepted."""

    def __init__(self, found: int, limit: int) -> None:
        self.found = found
        self.limit = limit
        UpstreamError.__init__(
            self,
            f"an array element of at least {found} bytes, of which at most {limit} are accepted; "
            "check that the upstream streams a JSON array of small objects",
        )


class ArraySplitter:
    """Cuts a JSON array into its elements, wherever the transport cut it.

    A frame ends with an element that is an object or a list, and one more with the array; what
    stands between two elements begins the later frame. A value that is no array is one frame.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        # Mutable: how many brackets are open, whether the first is an array's, and whether a
        # string is open.
        self._depth = 0
        self._in_array = False
        self._in_string = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that `chunk` completes.

        :raises ElementError: if a frame, finished or not, is longer than the limit.
        """
        self._buffer += chunk
        frames: list[bytes] = []
        start = 0
        while (end := self._end()) is not None:
            self._check(end - start)
            frames.append(bytes(self._buffer[start:end]))
            start = end
        del self._buffer[:start]
        self._searched -= start
        self._check(len(self._buffer))
        return frames

    def _end(self) -> int | None:
        """Where the next frame ends; None while that is not known."""
        while True:
            pattern = _INSIDE if self._in_string else _OUTSIDE
            found = pattern.search(self._buffer, self._searched)
            if found is None:
                self._searched = len(self._buffer)
                return None
            mark, end = found[0], found.end()
            if mark == b"\\":
                if end == len(self._buffer):
                    # What it escapes is not there yet.
                    self._searched = found.start()
                    return None
                self._searched = end + 1
                continue
            self._searched = end
            if mark == b'"':
                self._in_string = not self._in_string
            elif mark in _OPENING:
                self._in_array = mark == b"[" if self._depth == 0 else self._in_array
                self._depth += 1
            else:
                self._depth = max(0, self._depth - 1)
                if self._depth <= self._in_array:
                    return end

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise ElementError(size, self._limit)

    def rest(self) -> bytes:
        """The bytes after the last whole frame."""
        return bytes(self._buffer)


JSON_ARRAY = Framing(
    "application/json; charset=UTF-8", frozenset(("application/json",)), ArraySplitter
)
