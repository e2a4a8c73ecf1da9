"""The name of a flow whose spec cannot be used: a report shows the same flow, broken or not.

Counterpart: `flow` reads a spec that can be used.
"""

from __future__ import annotations

import re
from pathlib import Path

from flowproof.files import read_regular
from flowproof.spec.source import MAX_BYTES

_NAME = re.compile(rb"^name:[ \t]{1,9}([^\r\n]{1,400}?)[ \t]{0,9}\r?$", re.MULTILINE)
_PLAIN = re.compile(r"[^\W_][^\"'#:\[\]{}&*!|>%@`\\]*")


def readable_name(path: Path) -> str | None:
    """The top-level `name:` of a spec, where it stands on a line of its own as plain text, or in
    quotes without escapes; None where that cannot be told."""
    try:
        data = read_regular(path, MAX_BYTES)
        found = _NAME.findall(data or b"")
        text = found[0].decode("utf-8") if len(found) == 1 else ""
    except (OSError, ValueError):
        return None
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text if _PLAIN.fullmatch(text) and text.isprintable() else None
