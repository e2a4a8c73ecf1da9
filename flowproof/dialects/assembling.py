"""What every assembler of a stream notes, whatever is said in it: `interface.Assembler` in part."""

from __future__ import annotations

from flowproof.dialects import sse
from flowproof.dialects.interface import Assembled
from flowproof.model.jsonvalue import MISSING, JsonError, JsonObject, JsonValue, Missing, parse


class StreamAssembler:
    """The first error, the first data that cannot be read, and whether anything was dropped."""

    def __init__(self) -> None:
        # Mutable: whether frames held what a body has no place for.
        self._dropped = False
        self._error: JsonObject | None = None
        self._unread: str | None = None

    @property
    def unread(self) -> str | None:
        """The first data fed that cannot be read as this API speaks."""
        return self._unread

    def _event(self, frame: bytes) -> sse.Event:
        """A frame read as an event."""
        event = sse.read(frame)
        # A comment without text is a keep-alive; a body has no place for any other line.
        said = event.others and any(name or value for name, value in event.others)
        self._dropped |= bool(said) or not event.is_utf8
        return event

    def _parsed(self, data: str) -> JsonValue | Missing:
        """The value that data denotes; it is refused where that is none."""
        try:
            return parse(data)
        except JsonError:
            self._refuse(data)
            return MISSING

    def _refuse(self, data: str) -> None:
        self._dropped = True
        if self._unread is None and data.strip():
            # Without any text an event is not given to a client.
            self._unread = data

    def _fail(self, told: JsonValue) -> None:
        if self._error is None:
            self._error = told if isinstance(told, dict) else {"error": told}

    def _failed(self, *, complete: bool) -> Assembled | None:
        """A stream that carried an error amounts to its first one; None where none came."""
        if self._error is None:
            return None
        return Assembled(self._error, complete=complete, lossless=False, failed=True)
