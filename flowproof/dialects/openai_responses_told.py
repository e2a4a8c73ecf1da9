"""The items that the events of one stream told, and what the last response lacks of them.

Clients act on an item once it is told, whatever the last event holds: `openai_responses_assembly`
puts in what is missing there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from flowproof.dialects.calls import looks_called
from flowproof.dialects.openai_responses_calls import call_of
from flowproof.dialects.values import member_of, number_of, objects_of, text_of
from flowproof.model.jsonvalue import JsonObject, JsonValue, same, write

Place: TypeAlias = int | str

_DONE = "response.output_item.done"
_IDS = ("id", "call_id")
_PASSING = (*_IDS, "status")


class ToldItems:
    """Items by their place in the output: its number, else the id of the item, else its turn."""

    def __init__(self) -> None:
        # Mutable: the items as they began and as they ended, and the numbers told with ids.
        self._begun: dict[Place, JsonObject] = {}
        self._done: dict[Place, JsonObject] = {}
        self._numbers: dict[str, int] = {}

    def note(self, kind: str, event: JsonObject) -> None:
        """Take the next event that may be about an item."""
        item, place = event.get("item"), self._place(event)
        if isinstance(item, dict):
            known = self._done if kind == _DONE else self._begun
            if place in known and _ids(known[place]) != _ids(item):
                # Some gateways give every item the number 0.
                place = text_of(item.get("id"))
            known[f"item {len(known)}" if place is None or place in known else place] = item
        elif place is not None:
            self._begun.setdefault(place, {})

    def _place(self, event: JsonObject) -> Place | None:
        own = text_of(event.get("item_id")) or text_of(member_of(event.get("item"), "id"))
        index = number_of(event.get("output_index"), -1)
        if index < 0:
            return self._numbers.get(own, own) if own else None
        if own:
            self._numbers[own] = index
        return index

    def _is_all_of(self, output: Sequence[JsonValue]) -> bool:
        """Whether every item that was told stands where it was told to, as it was."""
        return self._begun.keys() <= self._done.keys() and all(
            isinstance(place, int) and place < len(output) and same(output[place], item)
            for place, item in self._done.items()
        )

    def whole(self, response: JsonObject, *, completed: bool) -> JsonObject | None:
        """The last response with all items that were told.

        None if it is completed and one that began is neither in it nor told whole: a body that
        lacks it would look as if nothing had been called.
        """
        listed = response.get("output")
        output = [*listed] if isinstance(listed, list) else []
        if self._is_all_of(output):
            return response
        held = _Held(output)
        lacking = {place: item for place, item in self._done.items() if not held.takes(item)}
        open_ones = {place: self._begun[place] for place in self._begun.keys() - self._done.keys()}
        short = len(output) < len(self._done) + len(open_ones)
        if completed and any(_untold(item, held, short) for item in open_ones.values()):
            return None
        # What is no call may well be told in other words at the end.
        missing = {place: item for place, item in lacking.items() if short or _called(item)}
        if not missing:
            return response
        for place in _in_order(missing):
            at = place if isinstance(place, int) else len(output)
            output.insert(at, missing[place])
        return response | {"output": output}


def _in_order(places: dict[Place, JsonObject]) -> Iterator[Place]:
    yield from sorted(place for place in places if isinstance(place, int))
    yield from (place for place in places if isinstance(place, str))


def _called(item: JsonObject) -> bool:
    return call_of(item) is not None or looks_called(item) or item.get("call_id") is not None


def _untold(item: JsonObject, held: _Held, short: bool) -> bool:
    """Whether an item that only began stands nowhere in the last response."""
    if not item:
        return short
    return (short or _called(item)) and not held.begins(item)


class _Held:
    """The items of a response; each stands for one that was told."""

    def __init__(self, output: list[JsonValue]) -> None:
        self._free: dict[str, JsonObject] = {}
        self._alike: Counter[str] = Counter()
        self._kinds: Counter[tuple[str, str]] = Counter()
        for item in objects_of(output):
            self._free |= dict.fromkeys(_ids(item), item)
            self._alike[_likeness(item)] += 1
            self._kinds[_kind(item)] += 1

    def takes(self, item: JsonObject) -> bool:
        """Whether it holds an item: one with its id that calls the same, else one that is alike."""
        found = next((self._free[id] for id in _ids(item) if id in self._free), None)
        if found is None or not _same_call(found, item):
            found = item
            if not self._alike[_likeness(item)]:
                return False
        for id in (*_ids(found), *_ids(item)):
            self._free.pop(id, None)
        self._alike[_likeness(found)] -= 1
        self._kinds[_kind(found)] -= 1
        return True

    def begins(self, item: JsonObject) -> bool:
        """Whether it may hold an item of which only the beginning is known."""
        found = next((self._free.pop(id) for id in _ids(item) if id in self._free), None)
        kind = _kind(item)
        if found is not None and _kind(found) != kind:
            return False
        self._kinds[kind] -= 1
        return self._kinds[kind] >= 0


def _ids(item: JsonObject) -> list[str]:
    return [f"{key} {item[key]}" for key in _IDS if isinstance(item.get(key), str) and item[key]]


def _kind(item: JsonObject) -> tuple[str, str]:
    return text_of(item.get("type")) or "", text_of(item.get("name")) or ""


def _likeness(item: JsonObject) -> str:
    """What an item says, for those whose ids differ between an event and the end."""
    return write({key: item[key] for key in sorted(item) if key not in _PASSING})


def _same_call(left: JsonObject, right: JsonObject) -> bool:
    one, other = call_of(left), call_of(right)
    if one is None or other is None:
        return one is other and _kind(left) == _kind(right)
    return (one.name, one.text) == (other.name, other.text)
