"""Whether the events made from a body say all that the events of an upstream's stream said.

`anthropic_messages_assembly` asks it, to decide if the raw frames are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.anthropic_messages_events import TEXTS
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, same


class Told:
    """The events of one stream in order; how a text was cut into pieces is forgotten."""

    def __init__(self) -> None:
        # Mutable: each event, one of a text without it, and then the pieces of that text.
        self._events: list[tuple[JsonObject, list[str] | None]] = []

    @classmethod
    def by(cls, frames: Iterable[bytes]) -> Told:
        """What frames of our own say."""
        told = cls()
        for frame in frames:
            try:
                event = parse(sse.data_of(frame) or "")
            except JsonError:
                # A body nested to the limit is nested deeper within an event.
                continue
            if isinstance(event, dict):
                told.add(event)
        return told

    def add(self, event: JsonObject) -> None:
        """Take the next event."""
        rest, text = _split(event)
        last, pieces = self._events[-1] if self._events else ({}, None)
        if text is None:
            self._events.append((rest, None))
        elif pieces is not None and same(last, rest):
            pieces.append(text)
        elif text:
            self._events.append((rest, [text]))

    def within(self, made: Told) -> bool:
        """Whether events made from a body tell all this.

        A null says nothing, and the number of tokens put out is not known before the end.
        """
        return len(self._events) == len(made._events) and all(
            map(_told_by, self._events, made._events)
        )


def _split(event: JsonObject) -> tuple[JsonObject, str | None]:
    """An event without the text that it brings, and that text."""
    match event:
        case {"type": "content_block_delta", "delta": {"type": str(kind)}} if kind in TEXTS:
            delta, field = event["delta"], TEXTS[kind]
            text = delta.get(field) if isinstance(delta, dict) else None
            if isinstance(delta, dict) and isinstance(text, str):
                return event | {"delta": {k: v for k, v in delta.items() if k != field}}, text
    return event, None


def _told_by(
    told: tuple[JsonObject, list[str] | None], made: tuple[JsonObject, list[str] | None]
) -> bool:
    (event, pieces), (other, joined) = told, made
    if pieces is not None or joined is not None:
        return "".join(pieces or ()) == "".join(joined or ()) and same(event, other)
    match event, other:
        case {"type": "message_start", "message": dict(left)}, {"message": dict(right)}:
            opened = _without_usage(left), _without_usage(right)
            return same(event | {"message": opened[0]}, other | {"message": opened[1]}) and (
                _counted(left.get("usage"), right.get("usage"), but="output_tokens")
            )
        case {"type": "message_delta", "delta": dict(left)}, {"delta": dict(right)}:
            closed = _without_usage(left), _without_usage(right)
            return same(
                _without_usage(event) | {"delta": closed[0]},
                _without_usage(other) | {"delta": closed[1]},
            ) and _counted(event.get("usage"), other.get("usage"))
        case _:
            return same(event, other)


def _without_usage(value: JsonObject) -> JsonObject:
    return {key: item for key, item in value.items() if key != "usage" and item is not None}


def _counted(told: JsonValue, made: JsonValue, but: str | None = None) -> bool:
    """Whether every count that one side tells, the other tells as well."""
    if not (isinstance(told, dict) and isinstance(made, dict)):
        return same(told, made)
    return all(
        key in made and same(count, made[key])
        for key, count in told.items()
        if count is not None and key != but
    )
