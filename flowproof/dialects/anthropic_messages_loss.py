"""Whether the events made from a body say all that the events of an upstream's stream said.

`anthropic_messages_assembly` asks it, to decide if the raw frames are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowproof.dialects import sse
from flowproof.dialects.anthropic_messages_blocks import type_of
from flowproof.dialects.anthropic_messages_events import TEXTS
from flowproof.dialects.pieces import Told
from flowproof.dialects.values import member_of, text_of
from flowproof.model.jsonvalue import JsonError, JsonObject, JsonValue, parse, same


class Events:
    """The events of one stream in order; how a text was cut into pieces is forgotten."""

    def __init__(self) -> None:
        self._told = Told()

    @classmethod
    def by(cls, frames: Iterable[bytes]) -> Events:
        """What frames of our own say."""
        events = cls()
        for frame in frames:
            try:
                event = parse(sse.data_of(frame) or "")
            except JsonError:
                # A body nested to the limit is nested deeper within an event.
                continue
            if isinstance(event, dict):
                events.add(event)
        return events

    def add(self, event: JsonObject) -> None:
        """Take the next event."""
        delta = event.get("delta")
        field = TEXTS.get(type_of(delta)) if event.get("type") == "content_block_delta" else None
        text = text_of(member_of(delta, field)) if field else None
        if text is None or field is None or not isinstance(delta, dict):
            self._told.add(event, {})
        elif text:
            rest: JsonObject = {key: value for key, value in delta.items() if key != field}
            self._told.add(event | {"delta": rest}, {field: text})

    def within(self, made: Events) -> bool:
        """Whether the events made from the body tell all this.

        A null says nothing, and the number of tokens put out is not known before the end.
        """
        return self._told.same_as(made._told, _told_by)


def _told_by(event: JsonObject, other: JsonObject) -> bool:
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
