"""Addresses that a reader of a report may be led to: of pages on the web, and of nothing else.

Asked where one comes in, from the environment, and again where one goes out: a record may come
from anybody.
"""

from __future__ import annotations

from urllib.parse import urlsplit

LONGEST = 1000
"""Characters. A longer address is left out: half of one leads nowhere."""


def web_address(text: str) -> str:
    """An address that a reader may be led to; empty if it is none, or might carry a password."""
    if not text or len(text) > LONGEST or not text.isascii() or not text.isprintable():
        return ""
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or " " in text:
        return ""
    return text
