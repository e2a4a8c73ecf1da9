"""Undoes the Content-Encoding of a request body, never growing past a bound.

Its counterpart `http1` reads the bytes from the wire.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass


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
    match coding:
        case "identity" | "":
            return body
        case "gzip" | "x-gzip" | "deflate":
            return _inflated(body, coding, limit)
        case _:
            return Fault(
                415, f"content-encoding {coding[:80]!r} is not supported here; send gzip or deflate"
            )


def _inflated(body: bytes, coding: str, limit: int) -> bytes | Fault:
    plain = bytearray()
    rest = body
    while True:
        inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
        try:
            plain += inflater.decompress(rest, limit + 1 - len(plain))
        except zlib.error:
            return Fault(400, f"the body is not {coding}")
        if len(plain) > limit:
            return too_large(limit)
        if not inflater.eof:
            return Fault(400, f"the {coding} body ends too early")
        rest = inflater.unused_data
        if not rest:  # a gzip body may have several members
            return bytes(plain)
