"""Response events put together as a body; the way back is `openai_responses_events`.

The last event brings the whole response. What came before it is only compared with that, and
where it says more or something else, the boundary keeps the raw frames.
"""

from __future__ import annotations

from flowproof.dialects.assembling import StreamAssembler
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_responses_events import events
from flowproof.dialects.pieces import Piece, Told
from flowproof.dialects.values import number_of
from flowproof.model.jsonvalue import JsonObject, JsonValue, Missing

_BEGINNINGS = ("response.created", "response.queued", "response.in_progress")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_KEEP_ALIVE = ("keepalive", "ping")
_NOISE = frozenset(("sequence_number", "obfuscation"))


class ResponsesAssembler(StreamAssembler):
    """Puts the events of one stream together as the body of a plain response."""

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self._asked = asked
        self._told = Told()
        self._begun: JsonObject | None = None
        self._final: JsonObject | None = None
        # Mutable: the items by their place in the output, those begun and those told whole.
        self._seen: set[int] = set()
        self._items: dict[int, JsonValue] = {}

    def feed(self, frame: bytes) -> bool:
        """Take one whole frame; each is passed on."""
        read = self._event(frame)
        data = read.data or ""
        if not data.strip() or data.strip() == "[DONE]":
            # Without any text an event is not given to a client; this API has no [DONE].
            self._dropped |= read.data is not None or bool(read.names)
            return True
        event = self._parsed(data)
        if not isinstance(event, Missing):
            self._take(event, read.name)
        return True

    def _take(self, event: JsonValue, name: str | None) -> None:
        if not isinstance(event, dict):
            self._dropped = True
            return
        kind = event.get("type")
        if "error" in (kind, name) or event.get("error"):
            self._fail(event)
            return
        if kind in _KEEP_ALIVE:
            return
        if not isinstance(kind, str) or self._final is not None:
            self._dropped = True
            return
        self._dropped |= name is not None and name != kind
        _tell(self._told, event)
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
        if (failed := self._failed(complete=complete)) is not None:
            return failed
        if self._final is None:
            return Assembled(self._begun, complete=False, lossless=False)
        return Assembled(self._final, complete=True, lossless=self._lossless())

    def _lossless(self) -> bool:
        """Whether a stream made from the body says all that this one said."""
        if self._dropped:
            return False
        again = Told()
        for event in events(self._final, self._asked):
            _tell(again, event)
        return self._told.same_as(again)


def _tell(told: Told, event: JsonObject) -> None:
    """Add an event to what a stream told, without numbers and padding."""
    around = {key: value for key, value in event.items() if key not in _NOISE}
    kind, delta, item = around.get("type"), around.get("delta"), around.get("item")
    if isinstance(kind, str) and kind.endswith(".delta") and isinstance(delta, str):
        said: dict[str, Piece] = {"delta": delta}
        del around["delta"]
        if isinstance(logprobs := around.get("logprobs"), list):
            said["logprobs"] = logprobs
            del around["logprobs"]
        if any(said.values()):
            told.add(around, said)
        return
    if kind == "response.output_item.added" and isinstance(item, dict):
        # What is hidden of a thought is told only in part here, and whole when it is done.
        around["item"] = {key: item[key] for key in item if key != "encrypted_content"}
    told.add(around, {})
