"""Where two JSON values first differ, in words and excerpts that a reader can act on.

`divergence` looks for the change between requests of turns, `side_calls` between others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from flowproof.model.jsonvalue import MISSING, JsonError, JsonValue, Missing, parse, same, write
from flowproof.model.outcome import Divergence, Excerpt, Sides
from flowproof.model.visible import (
    compact,
    describe_character,
    difference,
    first_difference,
    member_path,
    visible,
)

_LONGEST_KIND = 80
"""An unknown parameter is called by its name, which may be anything."""
_AROUND = 600
"""Characters that both sides show before what differs, and after it."""
_LONGEST_SIDE = 3_000
"""Characters of what differs that either side shows."""


class Change(NamedTuple):
    """Where two values first differ. A side that has nothing there is `MISSING`."""

    path: str
    recorded: JsonValue | Missing
    replayed: JsonValue | Missing


def first_change(path: str, recorded: JsonValue | Missing, replayed: JsonValue | Missing) -> Change:
    """The first place, in recorded order, where two different values differ."""
    match recorded, replayed:
        case dict(), dict():
            for key in [*recorded, *(key for key in replayed if key not in recorded)]:
                old, new = recorded.get(key, MISSING), replayed.get(key, MISSING)
                if not same_or_missing(old, new):
                    return first_change(member_path(path, key), old, new)
        case list(), list():
            for index, (old, new) in enumerate(zip_longest(recorded, replayed, fillvalue=MISSING)):
                if not same_or_missing(old, new):
                    return first_change(f"{path}[{index}]", old, new)
        case _:
            pass
    return Change(path, recorded, replayed)


def same_or_missing(old: JsonValue | Missing, new: JsonValue | Missing) -> bool:
    """Whether both sides have the same value there."""
    if isinstance(old, Missing) or isinstance(new, Missing):
        return False
    return same(old, new)


class Difference(NamedTuple):
    """In what two requests differ: the kind of the first change, that change, the other places
    (`also`), and what else a reader should know of the first (`note`)."""

    kind: str
    change: Change
    also: Sequence[str] = ()
    note: str = ""


def explained(
    subject: str, found: Difference, *, request: int, turn: int | None = None
) -> Divergence:
    """The divergence that a difference amounts to. `subject` says which request differs from
    what."""
    shown = _inside_text(found.change) or found.change
    kind = visible(found.kind[:_LONGEST_KIND])
    note = f" ({found.note})" if found.note else _notes(shown)
    return Divergence(
        kind=kind,
        message=f"{subject} in its {kind}, at {shown.path}{note}{_also(found.also)}",
        request=request,
        turn=turn,
        path=shown.path,
        excerpt=_excerpt(shown),
        sides=sides(shown),
    )


def _also(places: Sequence[str]) -> str:
    """Where else the two requests differ, so that one run tells of all that was changed."""
    if not places:
        return ""
    shown = ", ".join(visible(place[:60]) for place in places[:5])
    more = f" and {len(places) - 5} more places" if len(places) > 5 else ""
    return f"; also different: {shown}{more}"


def _inside_text(change: Change) -> Change | None:
    """The difference inside two texts that hold JSON, such as the arguments of a tool call."""
    if not (isinstance(change.recorded, str) and isinstance(change.replayed, str)):
        return None
    try:
        old, new = parse(change.recorded), parse(change.replayed)
    except JsonError:
        return None
    if not isinstance(old, dict | list) or not isinstance(new, dict | list) or same(old, new):
        return None
    return first_change(change.path, old, new)


def _notes(change: Change) -> str:
    old, new = change.recorded, change.replayed
    if not (isinstance(old, str) and isinstance(new, str)):
        return ""
    if old.split() == new.split():
        return " (only white space differs)"
    at = first_difference(old, new)
    if not (old[at : at + 1].isascii() and new[at : at + 1].isascii()):
        return f" (recorded {describe_character(old, at)}, sent {describe_character(new, at)})"
    try:
        if same(parse(old), parse(new)):
            return " (the same JSON value, written differently)"
    except JsonError:
        pass
    return ""


def _excerpt(change: Change) -> tuple[Excerpt, ...]:
    old, new = change.recorded, change.replayed
    if isinstance(old, str) and isinstance(new, str):
        pair = difference(old, new)
        return Excerpt("-", pair.recorded), Excerpt("+", pair.replayed)
    left, right = _shown(old), _shown(new)
    if left == right:
        left, right = difference(_whole(old), _whole(new))
    return Excerpt("-", left), Excerpt("+", right)


def _shown(value: JsonValue | Missing) -> str:
    return "(absent)" if isinstance(value, Missing) else compact(value)


def _whole(value: JsonValue | Missing) -> str:
    return "(absent)" if isinstance(value, Missing) else compact(value, limit=sys.maxsize)


def sides(change: Change) -> Sides:
    """Both values as windows that start at the same place: a little before the first difference.

    They end a little after the last one, or where they get too long.
    """
    old, new = _texts(change)
    if old is None or new is None:
        left, right = (text and text[:_LONGEST_SIDE] for text in (old, new))
        below = max(0, len(old or "") - _LONGEST_SIDE), max(0, len(new or "") - _LONGEST_SIDE)
        return Sides(left, right, 0, below)
    at = first_difference(old, new)
    start = _line_start(old, max(0, at - _AROUND), at)
    after = _common_end(old[at:], new[at:])
    if max(len(old), len(new)) - after - at <= _LONGEST_SIDE:
        kept = _line_end(old, len(old) - after, min(after, _AROUND))
        ends = len(old) - after + kept, len(new) - after + kept
    else:
        ends = _cut(old, at), _cut(new, at)
    below = len(old) - ends[0], len(new) - ends[1]
    return Sides(old[start : ends[0]], new[start : ends[1]], start, below)


def added(values: Sequence[JsonValue]) -> tuple[Excerpt, ...]:
    """Values that have no counterpart, on a line each."""
    return tuple(Excerpt("+", compact(value)) for value in values)


def only_replayed(values: Sequence[JsonValue]) -> Sides:
    """Values that have no counterpart, one below the other, each with its share of the room."""
    texts = [write(value, indent=2) for value in values]
    room = _LONGEST_SIDE // max(1, len(texts))
    shown = [text if len(text) <= room else f"{text[: room - 1]}…" for text in texts]
    left_out = sum(max(0, len(text) - room + 1) for text in texts if len(text) > room)
    return Sides(None, "\n".join(shown), 0, (0, left_out))


def _texts(change: Change) -> tuple[str | None, str | None]:
    values = change.recorded, change.replayed
    # A text beside another kind of value is quoted: "1" is not 1.
    plain = all(isinstance(value, str | Missing) for value in values)
    old, new = (
        None
        if isinstance(value, Missing)
        else value
        if plain and isinstance(value, str)
        else write(value, indent=2)
        for value in values
    )
    return old, new


def _common_end(old: str, new: str) -> int:
    """How many characters two texts have in common at their ends, beyond their beginnings."""
    return first_difference(old[::-1], new[::-1])


def _line_start(text: str, start: int, at: int) -> int:
    """Where the first whole line between two places starts; `start` if there is none."""
    if not start:
        return 0
    found = text.find("\n", start, at)
    return start if found < 0 else found + 1


def _line_end(text: str, start: int, length: int) -> int:
    """How many of so many characters make whole lines; all of them if the text or none ends."""
    if start + length == len(text):
        return length
    found = text.rfind("\n", start, start + length)
    return length if found < 0 else found - start


def _cut(text: str, start: int) -> int:
    """Where to cut a long text: at an end of a line if one is near."""
    end = min(len(text), start + _LONGEST_SIDE)
    found = text.rfind("\n", start + _LONGEST_SIDE // 2, end)
    return end if found < 0 or end == len(text) else found
