"""Undoes the Content-Encoding of a request body, never growing past a bound.

Its counterpart `http1` reads the bytes from the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowproof.boundary.decoding import PIECE, STANDARD, Undecodable


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request's body could not be read, with the HTTP status that says so; `kind` names
    what a divergence is about that it makes."""

    status: int
    message: str
    kind: str = "request body"


def too_large(limit: int) -> Fault:
    """The fault of a body of more than `limit` bytes."""
    return Fault(413, f"request bodies are bounded to {limit} bytes")


def decoded(body: bytes, headers: Sequence[tuple[str, str]], limit: int) -> bytes | Fault:
    """The plain body, at most `limit` bytes of it; gzip and deflate are understood."""
    codings = [value for name, value in headers if name == "content-encoding"]
    coding = ", ".join(codings).strip().lower()
    if coding in ("identity", ""):
        return body
    if coding not in STANDARD:
        return Fault(
            415, f"content-encoding {coding[:80]!r} is not supported here; send gzip or deflate"
        )
    return _inflated(body, coding, limit)


def _inflated(body: bytes, coding: str, limit: int) -> bytes | Fault:
    plain = bytearray()
    decoder = STANDARD[coding]()
    try:
        # In pieces: what follows a finished stream is copied for the next one.
        for at in range(0, len(body), PIECE):
            for piece in decoder.feed(body[at : at + PIECE]):
                plain += piece
                if len(plain) > limit:
                    return too_large(limit)
    except Undecodable:
        return Fault(400, f"the body is not {coding}")
    if not decoder.whole or not body:
        return Fault(400, f"the {coding} body ends too early")
    return bytes(plain)
