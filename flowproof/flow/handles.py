"""Puts run-time handles such as `${flowproof.proxy_url}` into what a spec declares."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HANDLE = re.compile(r"(\$?)\$\{flowproof\.([^{}]{1,100})\}")


def fill(text: str, handles: Mapping[str, str]) -> str:
    """The text with every known handle replaced; unknown and escaped (`$${`) ones stay."""

    def value(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        return found[0] if escaped else handles.get(name, found[0])

    return _HANDLE.sub(value, text)


def unknown(text: str, handles: Mapping[str, str]) -> tuple[str, ...]:
    """The handles in a text that stand for nothing."""
    return tuple(
        name for escaped, name in _HANDLE.findall(text) if not escaped and name not in handles
    )
