"""Finds the flows under the paths that a user names, and the suite that each belongs to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from flowproof.errors import UsageError

SUFFIX = ".flow.yaml"
SUITE_FILE = "suite.yaml"


def discover(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Every `*.flow.yaml` under these files and folders: absolute, each once.

    They come in the order of the paths given, those below one folder sorted. Hidden folders
    (`.flowproof` is one) and `node_modules` are skipped. A folder that is reached again through
    a symbolic link is entered once.

    :raises UsageError: if a path does not exist, is a file of another kind, or cannot be read,
        and for a `*.flow.yml`, which would be left out without a word.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        if path.is_dir():
            for spec in sorted(_under(path.absolute(), set())):
                found.setdefault(_place(spec), spec)
        elif not path.exists():
            raise UsageError(f"{path}: no such file or folder{_near(path)}")
        elif not path.name.endswith(SUFFIX):
            raise UsageError(f"{path}: a flow's file name ends in {SUFFIX}")
        else:
            found.setdefault(_place(path), path.absolute())
    return tuple(found.values())


def _place(spec: Path) -> Path:
    """What a spec is known by, however its folder is spelt: its trace lies beside its name."""
    return spec.parent.resolve() / spec.name


def _under(folder: Path, entered: set[Path]) -> Iterator[Path]:
    real = folder.resolve()
    if real in entered:
        return
    entered.add(real)
    try:
        paths = [Path(entry) for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from error
    for path in paths:
        # Unlike those of `os.scandir`, these answer for a link that leads to itself.
        if path.is_dir():
            if path.name != "node_modules":
                yield from _under(path, entered)
        elif path.name.endswith(".flow.yml"):
            raise UsageError(f"{path}: a flow's file name ends in {SUFFIX}; rename it")
        elif path.name.endswith(SUFFIX) and path.is_file():
            yield path


def _near(path: Path) -> str:
    from difflib import get_close_matches

    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, beside, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def nearest_suite(folder: Path) -> Path | None:
    """The suite.yaml in a folder or in the nearest folder above it."""
    start = folder.resolve()
    for candidate in (start, *start.parents):
        if (file := candidate / SUITE_FILE).is_file():
            return file
    return None
