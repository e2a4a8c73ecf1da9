"""Short descriptions of what a message carries besides text: images, audio, files.

Shared by the dialects; a description is for people and never holds the content itself.
"""

from __future__ import annotations

_LONGEST = 100
_LONGEST_URL = 120


def short(word: str) -> str:
    """A word of the sender's that may be of any length, cut to one that is shown."""
    return word[:_LONGEST]


def reasoning(length: int) -> str:
    """A thought of so many characters."""
    return f"reasoning ({length} characters)"


def encoded(media_type: str, base64: str) -> str:
    """Content carried as base64, such as `image/png, 1234 bytes`."""
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"{media_type}, {max(size, 0)} bytes"


def linked(kind: str, url: str) -> str:
    """Content named by a URL, such as `image (https://…)`; a data URL tells type and size."""
    if url[:5].lower() == "data:":
        head, comma, content = url[5:].partition(",")
        media_type, *settings = head.split(";") if len(head) <= _LONGEST_URL else [""]
        if comma and "base64" in settings:
            return encoded(media_type or kind, content)
        return f"{media_type or kind}, {len(content)} characters"
    shown = url if len(url) <= _LONGEST_URL else f"{url[: _LONGEST_URL - 1]}…"
    return f"{kind} ({shown})"


def audio(form: str, base64: str) -> str:
    """Sound carried as base64 in a format such as `wav`."""
    return encoded(f"audio/{short(form)}", base64)


def file(name: str | None, data: str | None) -> str:
    """A file by its name, with the size of its content where that is carried, too."""
    label = f"file {short(name or 'without name')}"
    if data is None:
        return label
    is_url = data[:5].lower() == "data:"
    return f"{label} ({linked('file', data) if is_url else encoded('base64', data)})"
