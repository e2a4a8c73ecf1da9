"""Where symbolic links of the project lead, by their texts alone: through other links too.

`ship` leaves behind what leads out, and `unpack` refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

_STEPS = 4096
"""How many names may be passed on the way."""
_LINKS = 40
"""How many links may be, as for a file system."""


def leads_inside(name: str, target: str, links: Mapping[str, str]) -> bool:
    """Whether a link of this name leads to a place inside the project, and does not leave it on
    its way there. `links` are all links of the project with their targets; names are relative to
    the project. One that leads in a circle, or through too much, does not lead inside."""
    at = list(PurePosixPath(name).parts[:-1])
    ahead = _parts(target)
    passed = 0
    for _ in range(_STEPS):
        if not ahead:
            return True
        part = ahead.pop()
        if part.startswith("/") or (part == ".." and not at):
            return False
        if part == "..":
            at.pop()
            continue
        at.append(part)
        if (further := links.get("/".join(at))) is not None:
            passed += 1
            if passed > _LINKS:
                return False
            at.pop()
            ahead += _parts(further)
    return False


def _parts(target: str) -> list[str]:
    """The names of a path, the first one last."""
    return [*reversed(PurePosixPath(target).parts)]
