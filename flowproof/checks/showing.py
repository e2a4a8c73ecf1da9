"""How values, names and calls look in the message of a failed check: visible and bounded.

Counterpart: `model.visible`, which makes single characters and differences visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from flowproof.model.flow_spec import Expected, Scalar
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.trajectory import PlacedCall
from flowproof.model.visible import (
    compact,
    describe_character,
    difference,
    first_difference,
    visible,
)

LIMIT = 200
"""Most characters of one value that a message shows."""

_WORD = re.compile(r"[^\W_]([\w./:@+-]{0,62}\w)?")
_LITERAL = re.compile(r"[0-9].*|true|false|null", re.DOTALL)


def cut(text: str, limit: int = LIMIT) -> str:
    """At most `limit` characters of a text, visible, without quotes."""
    return visible(text) if len(text) <= limit else f"{visible(text[:limit])}…"


def quoted(text: str) -> str:
    """The start of a text, visible, in quotes."""
    return f'"{visible(text)}"' if len(text) <= LIMIT else f'"{visible(text[:LIMIT])}"…'


def name(text: str) -> str:
    """The name of a tool or a path, as code."""
    return f"`{cut(text, 100)}`"


def value(actual: JsonValue) -> str:
    """A JSON value: a plain word bare, any other string quoted, all else as compact JSON."""
    if isinstance(actual, str):
        plain = _WORD.fullmatch(actual) and not _LITERAL.fullmatch(actual)
        return actual if plain else quoted(actual)
    return compact(actual, limit=LIMIT)


def expected(wanted: Expected) -> str:
    """A value of a spec, as its author could have written it."""
    if isinstance(wanted, Scalar):
        bare = not wanted.quoted and _WORD.fullmatch(wanted.text)
        return wanted.text if bare else quoted(wanted.text)
    if isinstance(wanted, Mapping):
        inside = ", ".join(f"{cut(key)}: {expected(item)}" for key, item in wanted.items())
        return _shorten(f"{{{inside}}}")
    return _shorten(f"[{', '.join(map(expected, wanted))}]")


def contrast(actual: JsonValue, wanted: Scalar) -> str:
    """`Nairobi, not Paris`: two values that differ, long texts around their first difference."""
    if not isinstance(actual, str):
        return f"{value(actual)}, not {expected(wanted)}"
    at = first_difference(actual, wanted.text)
    hint = _code_points(actual, wanted.text, at)
    if max(len(actual), len(wanted.text)) > LIMIT:
        pair = difference(wanted.text, actual, width=LIMIT)
        return f"{pair.replayed}, not {pair.recorded} (from character {at + 1:,} on{hint})"
    shown = f"{value(actual)}, not {expected(wanted)}"
    return f"{shown} (character {at + 1}{hint})" if hint else shown


def some(items: Iterable[str], limit: int = 10) -> str:
    """The first `limit` items joined by commas, and how many more there are."""
    every = list(items)
    rest = len(every) - limit
    return ", ".join(every[:limit]) + (f" and {rest} more" if rest > 0 else "")


def unreadable(turns: Sequence[int]) -> str:
    """That these turns, at least one, hold answers that cannot be read."""
    if len(turns) == 1:
        return f"turn {turns[0]} holds an answer that flowproof cannot read"
    return f"turns {some(map(str, turns))} hold answers that flowproof cannot read"


def call(placed: PlacedCall) -> str:
    """A call with its arguments, its place, and who ran it if that was not the agent."""
    by = " (run by the provider)" if placed.call.served else ""
    return f"{cut(placed.call.name, 100)}({arguments(placed)}) {placed.where}{by}"


def arguments(placed: PlacedCall) -> str:
    """The arguments of a call, or the text that stands for them where that is not JSON."""
    return cut(placed.call.text) if placed.call.malformed else value(placed.call.arguments)


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one probably means."""
    from difflib import get_close_matches

    # Names come from the agent, and comparing long ones takes quadratic time.
    candidates = [item for item in sorted(set(known)) if len(item) <= 100][:500]
    found = get_close_matches(text[:100], candidates, n=1)
    return found[0] if found and found[0] != text else None


def _code_points(left: str, right: str, at: int) -> str:
    """Names characters that a reader could take for each other; empty for plain ASCII."""
    if (left[at : at + 1] + right[at : at + 1]).isascii():
        return ""
    return f": {describe_character(left, at)}, not {describe_character(right, at)}"


def _shorten(text: str) -> str:
    return text if len(text) <= LIMIT else f"{text[:LIMIT]}…"
