"""Finds the flows under the paths that a user names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from flowproof.errors import UsageError

SUFFIX = ".flow.yaml"


def discover(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Every `*.flow.yaml` under these files and folders: absolute, sorted, each once.

    Hidden folders, and with them `.flowproof`, are skipped. A folder that is reached again
    through a symbolic link is entered once.

    :raises UsageError: if a path does not exist, or is a file of another kind.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(sorted(_under(path.absolute(), set())))
        elif not path.exists():
            raise UsageError(f"{path}: no such file or folder{_near(path)}")
        elif not path.name.endswith(SUFFIX):
            raise UsageError(f"{path}: a flow's file name ends in {SUFFIX}")
        else:
            found[path.absolute()] = None
    return tuple(found)


def _under(folder: Path, entered: set[Path]) -> Iterator[Path]:
    real = folder.resolve()
    if real in entered:
        return
    entered.add(real)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _under(Path(entry.path), entered)
            elif entry.name.endswith(SUFFIX) and entry.is_file():
                yield Path(entry.path)


def _near(path: Path) -> str:
    from difflib import get_close_matches

    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, beside, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""
