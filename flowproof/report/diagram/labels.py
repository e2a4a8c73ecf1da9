"""How wide text is about, and the part of it that fits: a page is laid out before any font is
known, so widths are those of a wide one. Drawings clip what is wider after all.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from flowproof.report.text import one_line

TITLE_LIMIT = 300
"""Characters of what a pointer is told."""
_LABEL_LIMIT = 200
_NARROW = frozenset("fijlrtI!|.,:;'`()[]{}/\\- ·")
_WIDE = frozenset("mwMW@%—…")


def text_width(text: str, size: float) -> float:
    """About how many pixels text on one line takes in a system font of `size` pixels."""
    return size * sum(map(_share, text))


@lru_cache(maxsize=4096)
def _share(char: str) -> float:
    """The width of a character as a share of the size of the font."""
    if char in _NARROW:
        return 0.38
    if char in _WIDE:
        return 0.95
    if char < "\x7f":
        return 0.72 if char.isupper() else 0.62
    if unicodedata.combining(char):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(char) in "WFA" else 0.7


def fitting(text: str, width: float, size: float) -> str:
    """The text on one line, made visible, cut with an ellipsis where it is wider than `width`
    pixels; empty where not even two characters would stand."""
    line = one_line(text, _LABEL_LIMIT)
    if text_width(line, size) <= width:
        return line
    room = width - text_width("…", size)
    kept = 0
    for char in line:
        room -= size * _share(char)
        if room < 0:
            break
        kept += 1
    return f"{line[:kept].rstrip()}…" if kept > 1 else ""
