"""Makes text that an agent or a model wrote safe to show. Every renderer passes through here.

Such text can hold anything: terminal commands, invisible characters, halves of characters.
"""

from __future__ import annotations

import re

_LONE = "\ud800-\udfff\ufffe\uffff"
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, without tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of what follows
    "\u200b\u2028\u2029\u2060-\u2064\ufeff\u180e"  # take no room, or break a line
    "\U000e0000-\U000e007f"  # tag characters: ASCII that nobody sees
    f"{_LONE}]"
)
_NOT_XML = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f{_LONE}]")
# No class of these patterns holds a character that starts a sequence, so each scan ends where the
# next may begin, and the whole text is read in linear time.
_COLOUR = re.compile("\x1b\\[[0-9;:]*m")
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9b-\x9d]*(?:\x07|\x1b\\\\|\x9c)"  # OSC: links, window titles
)


def readable(text: str) -> str:
    """The text with a mark one can see for every control and invisible character.

    Tabs and newlines stay. Control characters become their pictures (`␛`), others their number
    (`⟨U+202E⟩`), and what no encoding can carry becomes U+FFFD.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return _INVISIBLE.sub(_mark, text)


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF):
        return "\ufffd"
    return f"⟨U+{code:04X}⟩"


def without_colours(text: str) -> str:
    """The text without the sequences that only colour it; others stay, to be made visible."""
    return _COLOUR.sub("", text)


def clean(text: str) -> str:
    """The text as XML 1.0 can hold it: no terminal sequences, U+FFFD for what is no `Char`."""
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _ANSI.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_XML.sub("\ufffd", text)


def one_line(text: str, limit: int = 400) -> str:
    """The text on one line, made visible, at most about `limit` characters long."""
    text = readable(text[: 2 * limit]).strip().replace("\n", " ⏎ ").replace("\t", " ")
    return shortened(text, limit)


def shortened(text: str, limit: int) -> str:
    """The text itself, or its first `limit - 1` characters and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def bounded(text: str, limit: int, note: str = "") -> str:
    """The text, or its head and tail where its UTF-8 is longer than `limit` bytes.

    A line between the two says how much was left out, and `note` where to find it.

    :raises UnicodeEncodeError: if the text holds a lone surrogate; make it visible first.
    """
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    half = limit // 2
    head = data[:half].decode(errors="ignore")
    tail = data[-half:].decode(errors="ignore")
    return f"{head}\n[… {len(data) - 2 * half:,} bytes left out{note} …]\n{tail}"
