"""How similar two JSON values read: cheap, bounded, and good enough to find the nearest of many.

`side_calls` asks it which recorded request a new one was meant to be.
"""

from __future__ import annotations

from itertools import islice
from typing import TypeAlias

from flowproof.model.jsonvalue import JsonValue, scalars

Sample: TypeAlias = frozenset[str]

_CHARACTERS = 1000
"""How much text of either end of a value is read."""
_PIECE = 3


def sample(value: JsonValue) -> Sample:
    """What a value says at its beginning and at its end, in overlapping pieces of three
    characters: a conversation that grows is told from others by its end."""
    head = _text(value, backwards=False)
    tail = _text(value, backwards=True)
    return frozenset(
        text[at : at + _PIECE] for text in (head, tail) for at in range(max(1, len(text) - 2))
    )


def similarity(left: Sample, right: Sample) -> float:
    """The share of pieces that two samples have in common, from 0 to 1."""
    both = len(left & right)
    return both / (len(left) + len(right) - both) if both else 0.0


def _text(value: JsonValue, *, backwards: bool) -> str:
    """The first or the last texts of a value, as far as there is room."""
    found: list[str] = []
    room = _CHARACTERS
    for text in islice(scalars(value, backwards=backwards), _CHARACTERS):
        found.append(text[-room:] if backwards else text[:room])
        room -= len(found[-1])
        if room <= 0:
            break
    return " ".join(reversed(found) if backwards else found)
