"""Puts a placeholder wherever a real key stands in a text, on its way in or out."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

PLACEHOLDER_KEY = "flowproof-placeholder-key"
"""What an agent gets as a key, so that clients which refuse to start without one start."""

_SHORTEST_KEY = 8
_SHORTEST_WORD = 16
"""Characters. A shorter value is no key, or a word such as a local server takes for one, and may
be part of any text by chance."""
_ESCAPE = re.compile(r"\\(?:u00|[^\w\s])|%[2-7]|&(?:#|[a-z]{2,4};)")
"""What a text holds in which a key may be written with escapes. Most texts need no longer look."""
_SHORTEST_PART = 12
"""Characters of a key that was cut, from which on it tells something."""
_FRAME = "\"'[]\r\n "
"""What stands between a text that was cut and the mark of the cut."""
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


def placeholder_for(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that puts the placeholder in place of each of these texts, also of one that is
    written with the escapes of JSON (inside one another as well), of a URL or of HTML, in base64
    or as UTF-16."""
    # The longest first: a key may begin like another one.
    keys = sorted(set(filter(_telling, secrets)), key=len, reverse=True)
    if not keys:
        return lambda text: text
    forms = sorted({form for key in keys for form in _forms(key)}, key=len, reverse=True)
    plain = re.compile("|".join(map(re.escape, forms)))

    @cache
    def escaped() -> re.Pattern[str]:
        return re.compile("|".join(map(_in_any_escape, keys)))

    def put(text: str) -> str:
        # Escapes first: of a character that is escaped, no backslash may be left behind.
        if _ESCAPE.search(text) is not None:
            text = escaped().sub(PLACEHOLDER_KEY, text)
        return plain.sub(PLACEHOLDER_KEY, text)

    return put


def placeholder_for_parts(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that puts the placeholder in place of what is left of one of these texts where a
    text was cut: at its beginning, at its end, and beside a `…`."""
    keys = sorted(set(filter(_telling, secrets)), key=len, reverse=True)

    def put(text: str) -> str:
        return "…".join(_without_part(piece, keys) for piece in text.split("…"))

    return put


def _without_part(piece: str, keys: Iterable[str]) -> str:
    core = piece.strip(_FRAME)
    kept = core
    for key in keys:
        if len(kept) < _SHORTEST_PART:
            break
        if kept in key:
            kept = kept if kept.isalpha() and kept.islower() else PLACEHOLDER_KEY  # a word
        else:
            kept = _without_end(_without_beginning(kept, key), key)
    return piece if kept is core else piece.replace(core, kept)


def _without_beginning(text: str, key: str) -> str:
    """A text without the end of a key that it begins with."""
    end = text.rfind(key[-_SHORTEST_PART:], 0, len(key)) + _SHORTEST_PART
    cut = end >= _SHORTEST_PART and key.endswith(text[:end])
    return PLACEHOLDER_KEY + text[end:] if cut else text


def _without_end(text: str, key: str) -> str:
    """A text without the beginning of a key that it ends with."""
    start = text.find(key[:_SHORTEST_PART], max(0, len(text) - len(key)))
    cut = start >= 0 and key.startswith(text[start:])
    return text[:start] + PLACEHOLDER_KEY if cut else text


def _telling(key: str) -> bool:
    return len(key) >= _SHORTEST_WORD or (len(key) >= _SHORTEST_KEY and not key.isalpha())


def _forms(key: str) -> Iterator[str]:
    """The ways in which a key is commonly written."""
    for form in (key, *_in_base64(key)):
        yield form
        yield json.dumps(form)[1:-1]
        yield form.replace("/", "\\/")
    yield "\0".join(key)


def _in_base64(key: str) -> Iterator[str]:
    """What base64 has for a key, whatever stands before it and after it."""
    data = key.encode("utf-8", "surrogateescape")
    for before, first in ((0, 0), (1, 2), (2, 3)):
        text = binascii.b2a_base64(bytes(before) + data, newline=False).decode()
        inside = text[first : (before + len(data)) * 8 // 6]
        yield inside
        yield inside.replace("+", "-").replace("/", "_")


def _in_any_escape(key: str) -> str:
    """A pattern for a key of which any character may be escaped."""
    # A run of backslashes is one: how many there are depends on who wrote them.
    chars = re.sub(r"\\+", r"\\", key)
    return "".join(_written(char, first=not at) for at, char in enumerate(chars))


def _written(char: str, *, first: bool) -> str:
    # JSON inside JSON doubles its backslashes. At the beginning the whole run is taken, or what
    # is left of it would escape the placeholder; from its start only, which bounds the search.
    slashes = r"\\(?<!\\\\)\\*" if first else r"\\{1,64}"
    if char == "\\":
        one = r"\\(?:u005[cC])?|%(?:25)*5[cC]|&#0*92;|&#[xX]0*5[cC];"
        start = r"(?<!\\)" if first else ""
        return rf"{start}(?:{one}){{1,64}}"
    code = "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in f"{ord(char):02x}")
    ways = [
        re.escape(char),
        f"{slashes}u00{code}",
        f"%(?:25)*{code}",
        f"&#0*{ord(char)};",
        f"&#[xX]0*{code};",
    ]
    if not char.isalnum():
        ways.append(slashes + re.escape(char))
    if char in _NAMED:
        ways.append(f"&{_NAMED[char]};")
    return f"(?:{'|'.join(ways)})"


def credentials(value: str) -> tuple[str, ...]:
    """What is secret in the value of a credential header: all of it, and the bare key."""
    _scheme, _, key = value.partition(" ")
    return (value, key.strip()) if key else (value,)
