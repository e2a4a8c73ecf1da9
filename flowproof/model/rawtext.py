"""Bytes from the wire as text that can go back to the same bytes, UTF-8 or not.

What a stream sent is kept as text so that people can read it; `trace` stores it as such.
"""

from __future__ import annotations


def from_bytes(data: bytes) -> str:
    """The text of these bytes; each byte that is not UTF-8 becomes a lone surrogate."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """The bytes that `from_bytes` made this text of.

    :raises UnicodeEncodeError: if it holds a surrogate that `from_bytes` never makes.
    """
    return text.encode("utf-8", "surrogateescape")
