"""Where two JSON values first differ, in words and excerpts that a reader can act on.

`divergence` looks for the change between requests of turns, `side_calls` between others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from flowproof.model.jsonvalue import MISSING, JsonError, JsonValue, Missing, parse, same
from flowproof.model.outcome import Divergence, Excerpt
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
