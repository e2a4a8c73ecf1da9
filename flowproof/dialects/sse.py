"""Server-sent events, byte-exact: cut a stream into frames, read one frame, write one.

Every dialect that streams over SSE builds on this; none of it knows what a frame says.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from flowproof.dialects.interface import Framing
from flowproof.errors import UpstreamError

MAX_FRAME = 16 * 1024 * 1024
"""Most bytes that one frame may hold: far above any event of a model API."""

_BOM = b"\xef\xbb\xbf"
# The groups are atomic so that one \r\n never counts as two line ends. A blank line after a bare
# \r is taken as a bare \r too, so that a stream of these need not wait for the byte after it.
_END = re.compile(rb"[^\r\n](?:(?>\r\n|\n)(?>\r\n|\n|\r)|\r(?!\n)\r)")
_BLANK = re.compile(rb"(?>\r\n|\n|\r)")
_LONGEST_END = 5


class FrameError(UpstreamError):
    """A stream holds a frame of more bytes than are accepted."""

    def __init__(self, found: int, limit: int) -> None:
        self.found = found
        self.limit = limit
        super().__init__(
            f"an event of at least {found} bytes, of which at most {limit} are accepted; "
            "check that the upstream sends server-sent events, each ended by a blank line"
        )


class FrameSplitter:
    """Cuts a byte stream into whole frames, wherever the transport cut it.

    A frame ends with the blank line after its first line that is not blank; a blank line more
    is a frame of its own. The frames and the rest, joined, are the bytes that were fed, and how
    those were cut into chunks makes no difference to the frames.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The frames that `chunk` completes, each with its separator.

        :raises FrameError: if a frame, finished or not, is longer than the limit.
        """
        self._buffer += chunk
        frames: list[bytes] = []
        start = 0
        while (end := self._end(start)) is not None:
            self._check(end - start)
            frames.append(bytes(self._buffer[start:end]))
            start = end
        del self._buffer[:start]
        self._searched = max(0, len(self._buffer) - _LONGEST_END)
        self._check(len(self._buffer))
        return frames

    def _end(self, start: int) -> int | None:
        """Where the frame ends that begins at `start`; None while that is not certain."""
        found = _BLANK.match(self._buffer, start)
        alone = found is not None
        if found is None:
            found = _END.search(self._buffer, max(start, self._searched))
        if found is None:
            return None
        # A final \r may be half of a line end; after another bare \r it is taken as it is.
        half = self._buffer.endswith(b"\r" if alone else b"\n\r")
        undecided = half and found.end() == len(self._buffer)
        return None if undecided else found.end()

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise FrameError(size, self._limit)

    def rest(self) -> bytes:
        """The bytes after the last whole frame; a client never acts on them."""
        return bytes(self._buffer)


EVENT_STREAM = Framing(
    "text/event-stream; charset=utf-8", frozenset(("text/event-stream",)), FrameSplitter
)


def decoded(data: bytes) -> tuple[str, bool]:
    """The text of bytes, and whether all of them are UTF-8; those that are not are replaced, as
    clients do."""
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


class Event(NamedTuple):
    """One frame, read.

    `data` joins its data lines by newlines and is None where it has none. `names` are the event
    names that it gives itself. `others` are all other lines as name and value: a comment has an
    empty name.
    """

    data: str | None
    names: list[str]
    others: list[tuple[str, str]]
    is_utf8: bool

    @property
    def name(self) -> str | None:
        """The name that counts; None where the frame has none."""
        return self.names[-1] if self.names else None


def read(frame: bytes) -> Event:
    """What a frame says."""
    data: list[str] = []
    names: list[str] = []
    others: list[tuple[str, str]] = []
    whole = True
    for line in frame.removeprefix(_BOM).splitlines():
        if not line:
            continue
        text, is_utf8 = decoded(line)
        whole &= is_utf8
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            names.append(value)
        else:
            others.append((name, value))
    return Event("\n".join(data) if data else None, names, others, whole)


def data_of(frame: bytes) -> str | None:
    """The data lines of a frame, joined by newlines; None where it has none."""
    return read(frame).data


def event_of(frame: bytes) -> str | None:
    """The event name that a frame gives itself, or None."""
    return read(frame).name or None


def frame(data: str, event: str | None = None) -> bytes:
    """One frame that carries `data`, lines ended by newlines.

    :raises ValueError: if the event name spans lines.
    """
    if event is not None and ("\n" in event or "\r" in event):
        raise ValueError(f"an event name is one line, not {event!r}")
    named = "" if event is None else f"event: {event}\n"
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    text = named + "".join(f"data: {line}\n" for line in lines) + "\n"
    return text.encode()
