"""Newline-delimited JSON, byte-exact: cut a stream into lines, read one line, write one.

The counterpart of `sse` for the APIs that stream so; it does not know what a line says.
"""

from __future__ import annotations

from flowproof.dialects.interface import Framing
from flowproof.dialects.sse import MAX_FRAME, FrameError, decoded
from flowproof.errors import UpstreamError
from flowproof.model.jsonvalue import JsonValue, write

# Clients cut text into lines wherever Unicode sees a line end, inside a JSON string too.
_LINE_ENDS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})


class LineError(FrameError):
    """A stream holds a line of more bytes than are accepted."""

    def __init__(self, found: int, limit: int) -> None:
        self.found = found
        self.limit = limit
        UpstreamError.__init__(
            self,
            f"a line of at least {found} bytes, of which at most {limit} are accepted; "
            "check that the upstream sends JSON values, each on a line of its own",
        )


class LineSplitter:
    """Cuts a byte stream into lines, wherever the transport cut it.

    The lines and the rest, joined, are the bytes that were fed.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, each with its line end.

        :raises LineError: if a line, finished or not, is longer than the limit.
        """
        searched = len(self._buffer)
        self._buffer += chunk
        lines: list[bytes] = []
        start = 0
        while (found := self._buffer.find(b"\n", max(start, searched))) >= 0:
            self._check(found + 1 - start)
            lines.append(bytes(self._buffer[start : found + 1]))
            start = found + 1
        del self._buffer[:start]
        self._check(len(self._buffer))
        return lines

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise LineError(size, self._limit)

    def rest(self) -> bytes:
        """The bytes after the last line end."""
        return bytes(self._buffer)


_TYPES = frozenset(
    ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines")
)
LINES = Framing("application/x-ndjson", _TYPES, LineSplitter)
LINES_OR_JSON = Framing("application/x-ndjson", _TYPES | {"application/json"}, LineSplitter)
"""For a stream that was asked for: gateways call its lines JSON, and so is an answer in one line.
Clients read either without a look at the type."""


def read(line: bytes) -> tuple[str, bool]:
    """The text of a line without blanks around it, and whether all of it is UTF-8."""
    text, whole = decoded(line)
    return text.strip(" \t\r\n"), whole


def line(value: JsonValue) -> bytes:
    """One line that holds a value."""
    return f"{write(value).translate(_LINE_ENDS)}\n".encode()
