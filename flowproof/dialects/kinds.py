"""Words for the place where two requests differ, and the steps of its JSON path.

The files `*_kinds` have those of one API each.
"""

from __future__ import annotations

import re
from itertools import islice

_STEP = re.compile(r"\.(\w+)|\[(\d{1,9})\]")
_MOST = 8
_PARTS = {"tool names": "tool names or their order", "roles": "message roles"}


def part_kind(name: str) -> str:
    """What a reader calls a difference in a part of an envelope, where its name says all."""
    return _PARTS.get(name, name)


def steps_of(path: str) -> list[str | int]:
    """The members and indexes of a JSON path that matter to its kind: the first eight."""
    found = islice(_STEP.finditer(path), _MOST)
    return [step[1] if step[2] is None else int(step[2]) for step in found]
