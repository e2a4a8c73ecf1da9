"""The steps of a JSON path, for the words in which a dialect names a difference."""

from __future__ import annotations

import re
from itertools import islice

_STEP = re.compile(r"\.(\w+)|\[(\d{1,9})\]")
_MOST = 8


def steps_of(path: str) -> list[str | int]:
    """The members and indexes of a JSON path that matter to its kind: the first eight."""
    found = islice(_STEP.finditer(path), _MOST)
    return [step[1] if step[2] is None else int(step[2]) for step in found]
