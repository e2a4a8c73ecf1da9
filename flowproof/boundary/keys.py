"""Puts a placeholder wherever a real key stands in a text, on its way in or out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

PLACEHOLDER_KEY = "flowproof-placeholder-key"
"""What an agent gets as a key, so that clients which refuse to start without one start."""

_SHORTEST_KEY = 8
_SHORTEST_WORD = 16
"""Characters. A shorter value is no key, or a word such as a local server takes for one, and may
be part of any text by chance."""


def placeholder_for(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that puts the placeholder in place of each of these texts, also where one
    stands escaped inside a JSON string."""
    keys = set(filter(_telling, secrets))
    keys |= {json.dumps(key)[1:-1] for key in keys}
    keys |= {key.replace("/", "\\/") for key in keys}
    if not keys:
        return lambda text: text
    # The longest first: a key may begin like another one.
    found = re.compile("|".join(map(re.escape, sorted(keys, key=len, reverse=True))))
    return lambda text: found.sub(PLACEHOLDER_KEY, text)


def _telling(key: str) -> bool:
    return len(key) >= _SHORTEST_WORD or (len(key) >= _SHORTEST_KEY and not key.isalpha())


def credentials(value: str) -> tuple[str, ...]:
    """What is secret in the value of a credential header: all of it, and the bare key."""
    _scheme, _, key = value.partition(" ")
    return (value, key.strip()) if key else (value,)
