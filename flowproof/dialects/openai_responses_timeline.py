"""What a stream of response events says, however its texts were cut into pieces.

`openai_responses_assembly` compares by it what arrived with what would be synthesised.
"""

from __future__ import annotations

from flowproof.model.jsonvalue import JsonObject, JsonValue, same

_NOISE = frozenset(("sequence_number", "obfuscation"))


class _Run:
    """Successive pieces of one text, joined once, so that many small pieces stay cheap."""

    __slots__ = ("logprobs", "pieces", "place")

    def __init__(self, place: JsonObject) -> None:
        self.place = place
        self.pieces: list[str] = []
        self.logprobs: list[JsonValue] = []

    def value(self) -> JsonObject:
        joined: JsonObject = {"delta": "".join(self.pieces)}
        return self.place | joined | ({"logprobs": self.logprobs} if self.logprobs else {})


class Timeline:
    """The events of a stream in order, pieces of one text that follow each other as one event.

    Numbers and padding are left out.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[JsonObject | _Run] = []

    def add(self, event: JsonObject) -> None:
        """Take the next event; it is not changed."""
        kept = {key: value for key, value in event.items() if key not in _NOISE}
        kind, delta = kept.get("type"), kept.get("delta")
        if isinstance(kind, str) and kind.endswith(".delta") and isinstance(delta, str):
            self._add_piece(kept, delta)
            return
        item = kept.get("item")
        if kind == "response.output_item.added" and isinstance(item, dict):
            # What is hidden of a thought is told only in part here, and whole when it is done.
            kept["item"] = {key: item[key] for key in item if key != "encrypted_content"}
        self._entries.append(kept)

    def _add_piece(self, event: JsonObject, delta: str) -> None:
        logprobs = event.get("logprobs")
        place = {key: value for key, value in event.items() if key != "delta"}
        listed = logprobs if isinstance(logprobs, list) else []
        if isinstance(logprobs, list):
            place["logprobs"] = []
        if not delta and not listed:
            return
        last = self._entries[-1] if self._entries else None
        if not (isinstance(last, _Run) and same(last.place, place)):
            last = _Run(place)
            self._entries.append(last)
        last.pieces.append(delta)
        last.logprobs += listed

    def same_as(self, other: Timeline) -> bool:
        """Whether both say the same in the same order."""
        return same(self._values(), other._values())

    def _values(self) -> list[JsonValue]:
        return [entry.value() if isinstance(entry, _Run) else entry for entry in self._entries]
