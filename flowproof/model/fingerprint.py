"""Digests that are equal exactly if two JSON values are the same, as `jsonvalue.same` says.

A recording is looked up by them: one digest per recorded turn, one per incoming request.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable

from flowproof.model.jsonvalue import JsonValue, NumberText


def fingerprint(value: JsonValue) -> bytes:
    """The digest of a value, 32 bytes, to be compared within this process only.

    Nothing is remembered: meant for incoming requests.
    """
    return _digest(value, _leaf)


class Fingerprints:
    """Digests of many values that share parts, such as the turns of one growing conversation.

    Each shared part is read once. The values are kept alive and must not change any more, for
    they are recognised by identity; the digests are those of `fingerprint`.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[JsonValue, bytes]] = {}

    def of(self, value: JsonValue) -> bytes:
        """The digest of a value, 32 bytes."""
        return _digest(value, self._remembered)

    def _remembered(self, value: JsonValue) -> bytes:
        if not isinstance(value, dict | list):
            return _leaf(value)
        known = self._known.get(id(value))
        if known is None:
            # Holding the value keeps its identity from being given to another one.
            known = self._known[id(value)] = (value, _leaf(value))
        return known[1]


def _digest(value: JsonValue, part: Callable[[JsonValue], bytes]) -> bytes:
    """An object by its members, a list in it by its elements, everything below as one text."""
    if not isinstance(value, dict):
        return _members(value, part)
    hashed = hashlib.sha256(b"object")
    for key in sorted(value):
        hashed.update(_leaf(key))
        hashed.update(_members(value[key], part))
    return hashed.digest()


def _members(value: JsonValue, part: Callable[[JsonValue], bytes]) -> bytes:
    if not isinstance(value, list):
        return part(value)
    return hashlib.sha256(b"list" + b"".join(map(part, value))).digest()


def _leaf(value: JsonValue) -> bytes:
    # The text of a value starts with none of the letters `o` and `l`, so no tag is its prefix.
    return hashlib.sha256(_text(value).encode("utf-8", "surrogatepass")).digest()


def _number(value: object) -> str:
    if not isinstance(value, NumberText):
        raise TypeError(f"{type(value).__name__} is not a JSON value")
    return f"{_MARK}{value.text}"


# What `jsonvalue.canonical` does, at a third of its cost: every message of every request of a
# replay comes through here. A number kept as text becomes a string that no input can contain.
_MARK = f"number-{secrets.token_hex(16)}:"
_text = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
    default=_number,
).encode
