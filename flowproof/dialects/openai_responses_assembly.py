"""Response events put together as a body; the way back is `openai_responses_events`.

The last event brings the whole response. What came before it is only compared with that, and
where it says more or something else, the boundary keeps the raw frames.
"""

from __future__ import annotations

from flowproof.dialects.assembling import StreamAssembler
from flowproof.dialects.interface import Asked, Assembled
from flowproof.dialects.openai_responses_events import events
from flowproof.dialects.openai_responses_told import ToldItems
from flowproof.dialects.pieces import Piece, Told
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
        # Mutable: the items told so far, and whether the last event says that the model failed.
        self._items = ToldItems()
        self._broke = False

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
        if not self._dropped:
            # Else the raw frames are kept, whatever else was told.
            _tell(self._told, event)
        self._note(kind, event)

    def _note(self, kind: str, event: JsonObject) -> None:
        self._items.note(kind, event)
        response = event.get("response")
        if isinstance(response, dict):
            if kind in _BEGINNINGS:
                self._begun = response
            elif kind in _ENDS:
                self._broke = "failed" in (kind.removeprefix("response."), response.get("status"))
                completed = kind == "response.completed"
                self._final = self._items.whole(response, completed=completed)

    def result(self) -> Assembled:
        """What the frames fed so far amount to.

        After an error event, `body` is that event. Before the last event it is the response as
        it was last told, None where it never was. A response that failed is an error, too.
        """
        complete = self._final is not None
        if (failed := self._failed(complete=complete)) is not None:
            return failed
        if self._final is None:
            return Assembled(self._begun, complete=False, lossless=False)
        if self._broke:
            return Assembled(self._final, complete=True, lossless=False, failed=True)
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
