"""Short descriptions of what a message carries besides text: images, audio, files.

Shared by the dialects; a description is for people and never holds the content itself.
"""

from __future__ import annotations

_LONGEST_URL = 120


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
