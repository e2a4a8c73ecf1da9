"""JSON laid out for people who review a trace; `model.jsonvalue.parse` reads it back."""

from __future__ import annotations

import json
import re

from flowproof.model.jsonvalue import JsonValue, NumberText, write

_WIDTH = 100
_INDENT = "  "
_NUMBERS = (int, float, NumberText)
# What a reader could not see, or would see in another place: controls, soft hyphen, zero width
# (joiners stay, for scripts and emoji need them), bidirectional marks, separators, tags.
_HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def pretty(value: JsonValue) -> str:
    """The text of a value, with a final newline.

    What fits on one line of 100 characters, and any list of numbers, stands on one. Text is
    not escaped to ASCII, except for characters that cannot be seen.
    """
    text = "\n".join(_lines("", value, _WIDTH))
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n"


def _lines(label: str, value: JsonValue, room: int) -> list[str]:
    """A value with what stands before it, as lines that are to be indented alike."""
    match value:
        case dict():
            opening, closing = "{", "}"
            blocks = [
                _lines(f"{write(key)}: ", child, room - len(_INDENT))
                for key, child in value.items()
            ]
        case list() if not value or any(type(item) not in _NUMBERS for item in value):
            opening, closing = "[", "]"
            blocks = [_lines("", child, room - len(_INDENT)) for child in value]
        case _:
            return [label + write(value)]
    if all(len(block) == 1 for block in blocks):
        line = f"{label}{opening}{', '.join(block[0] for block in blocks)}{closing}"
        # One more for the comma that may follow.
        if not value or len(line) < room:
            return [line]
    lines = [label + opening]
    for block in blocks:
        lines += (_INDENT + line for line in block)
        lines[-1] += ","
    lines[-1] = lines[-1][:-1]
    return [*lines, closing]
