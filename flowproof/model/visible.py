"""Makes text printable such that two different texts never look the same.

Used wherever a difference is shown; its counterpart for whole values is `jsonvalue.write`.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from flowproof.model.jsonvalue import JsonValue, write

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
# Controls, format characters (bidi, zero width), surrogates, private use, unassigned,
# combining marks, and every blank but the plain one.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me", "Zs", "Zl", "Zp"}
# Letters and a symbol that are drawn as nothing: Hangul fillers and the empty braille pattern.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"


def _escape(char: str, keep: str = "") -> str:
    if char in keep or (char == " "):
        return char
    if char in _SHORT:
        return _SHORT[char]
    if unicodedata.category(char) not in _HIDDEN and char not in _BLANK:
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text on one line, with everything a reader could not see written as an escape."""
    return "".join(map(_escape, text))


def printable(text: str) -> str:
    """The text on its own lines: line ends and tabs stay, all else unseen is escaped."""
    return "".join(_escape(char, keep="\n\t\\") for char in text)


class Pair(NamedTuple):
    """Two texts made ready to be printed one below the other."""

    recorded: str
    replayed: str


def difference(recorded: str, replayed: str, *, width: int = 110) -> Pair:
    """Both texts quoted and cut to the same window, centred on their first difference.

    The two results always differ if the texts do.
    """
    at = first_difference(recorded, replayed)
    longest = max(len(recorded), len(replayed))
    start = max(0, min(at - width // 2, longest - width))
    return Pair(_window(recorded, start, width), _window(replayed, start, width))


def first_difference(left: str, right: str) -> int:
    """The index of the first character in which two texts differ, or of the shorter one's end."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _window(text: str, start: int, width: int) -> str:
    end = start + width
    before = "…" if start else ""
    after = "…" if end < len(text) else ""
    return f'{before}"{visible(text[start:end])}"{after}'


def describe_character(text: str, at: int) -> str:
    """The code point at an index, by number and name; `end of text` past the end."""
    if at >= len(text):
        return "end of text"
    return f"U+{ord(text[at]):04X} {unicodedata.name(text[at], '')}".rstrip()


def compact(value: JsonValue, *, limit: int = 200) -> str:
    """A JSON value on one printable line of at most about `limit` characters."""
    text = write(value)
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(_escape(char, keep="\\") for char in cut)


def member_path(path: str, key: str) -> str:
    """The JSON path of an object's member on one printable line, such as `$.model`."""
    if key.isascii() and key.isidentifier():
        return f"{path}.{key}"
    return f"{path}[{compact(key, limit=80)}]"
