"""Response events put together as a body; the way back is `openai_responses_events`.

The last event brings the whole response. What came before it is only compared with that, and
where it says more or something else, the boundary keeps the raw frames.
"""

from __future__ import annotations

from flowproof.dialects import sse
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_chat_chunks import number_of
from flowproof.dialects.openai_responses_events import events
from flowproof.dialects.openai_responses_timeline import Timeline
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse

_BEGINNINGS = ("response.created", "response.queued", "response.in_progress")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_KEEP_ALIVE = ("keepalive", "ping")


class ResponsesAssembler:
    """Puts the events of one stream together as the body of a plain response."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._said = Timeline()
        self._begun: JsonObject | None = None
        self._final: JsonObject | None = None
        self._error: JsonObject | None = None
        # Mutable: the items by their place in the output, those begun and those told whole.
        self._seen: set[int] = set()
        self._items: dict[int, JsonValue] = {}
        self._dropped = False
        self._unread: str | None = None

    @property
    def unread(self) -> str | None:
        """The first data fed that is not JSON."""
        return self._unread

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame; each is passed on."""
        fields = sse.fields(frame)
        lines = [value for name, value in fields if name == "data"]
        names = [value for name, value in fields if name == "event"]
        # A comment without text is a keep-alive; a body has no place for any other line.
        extra = any(name not in ("data", "event") and (name or value) for name, value in fields)
        self._dropped |= extra or not _is_utf8(frame)
        data = "\n".join(lines)
        if not data.strip() or data.strip() == "[DONE]":
            # Without any text an event is not given to a client; this API has no [DONE].
            self._dropped |= bool(lines or names)
            return True
        try:
            event = parse(data)
        except JsonError:
            self._dropped = True
            if self._unread is None:
                self._unread = data
            return True
        self._take(event, names[-1] if names else None)
        return True

    def _take(self, event: JsonValue, name: str | None) -> None:
        if not isinstance(event, dict):
            self._dropped = True
            return
        kind = event.get("type")
        if "error" in (kind, name) or event.get("error"):
            if self._error is None:
                self._error = event
            return
        if kind in _KEEP_ALIVE:
            return
        if not isinstance(kind, str) or self._final is not None:
            self._dropped = True
            return
        self._dropped |= name is not None and name != kind
        self._said.add(event)
        self._note(kind, event)

    def _note(self, kind: str, event: JsonObject) -> None:
        index, item = number_of(event.get("output_index"), -1), event.get("item")
        if index >= 0:
            self._seen.add(index)
            if kind == "response.output_item.done" and isinstance(item, dict):
                self._items[index] = item
        response = event.get("response")
        if isinstance(response, dict):
            if kind in _BEGINNINGS:
                self._begun = response
            elif kind in _ENDS:
                self._final = self._whole(kind, response)

    def _whole(self, kind: str, response: JsonObject) -> JsonObject | None:
        """The last response with all items that were told; None if one of them is missing.

        Some servers leave the output out of the last event, and clients then take the items
        that were told before. A body that lacks them would look as if nothing had been called.
        """
        output = response.get("output")
        if isinstance(output, list) and len(output) >= len(self._seen):
            return response
        if kind == "response.completed" and self._seen - self._items.keys():
            return None
        if not self._items:
            return response
        return response | {"output": [self._items[index] for index in sorted(self._items)]}

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error event, `body` is that event. Before the last event it is the response as
        it was last told, None where it never was.
        """
        complete = self._final is not None
        if self._error is not None:
            return Assembled(self._error, complete=complete, lossless=False, failed=True)
        if self._final is None:
            return Assembled(self._begun, complete=False, lossless=False)
        return Assembled(self._final, complete=True, lossless=self._lossless())

    def _lossless(self) -> bool:
        """Whether a stream made from the body says all that this one said."""
        if self._dropped:
            return False
        again = Timeline()
        for event in events(self._final, self._asked):
            again.add(event)
        return self._said.same_as(again)


def _is_utf8(frame: bytes) -> bool:
    try:
        frame.decode()
    except UnicodeDecodeError:
        return False
    return True
