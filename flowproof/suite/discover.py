"""Finds the flows under the paths that a user names, and the suite that each belongs to."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from flowproof.errors import UsageError
from flowproof.files import place

SUFFIX = ".flow.yaml"
SUITE_FILE = "suite.yaml"
FILE, FOLDER, NOTHING = "a regular file", "a folder", "nothing"


def discover(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Every `*.flow.yaml` under these files and folders: absolute, each once.

    They come in the order of the paths given, those below one folder sorted. What is hidden
    (`.flowproof` is) and `node_modules` are skipped. A flow is known by its `place`, whichever
    way led to it: a folder behind a symbolic link is spelt as where it leads, so that neither
    the spelling nor the order in which a system lists names makes a difference.

    :raises UsageError: if a path does not exist, is a file of another kind, or cannot be read,
        and for what would be left out without a word: a name that almost is a flow's or, beside
        flows, a suite's, and a flow's name that is no regular file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        kind = _kind(path)
        if kind == FOLDER:
            found |= dict.fromkeys(sorted(_under(path.resolve(), set())))
        elif kind == NOTHING:
            raise UsageError(f"{path}: no such file or folder{_near(path)}")
        elif not path.name.endswith(SUFFIX):
            raise UsageError(f"{path}: a flow's file name ends in {SUFFIX}")
        elif kind != FILE:
            raise UsageError(f"{path}: it is {kind}, and a flow is a regular file")
        else:
            _refuse_misnamed_suite(path.parent, _names_in(path.parent))
            found[place(path)] = None
    return tuple(found)


def _kind(path: Path) -> str:
    """What stands at a path, in words; a symbolic link counts as what it leads to.

    :raises UsageError: if that cannot be seen.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "a symbolic link that leads nowhere" if path.is_symlink() else NOTHING
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a symbolic link that leads to itself"
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError:
        return NOTHING  # a NUL, which no name has
    kinds = {
        stat.S_IFREG: FILE,
        stat.S_IFDIR: FOLDER,
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def _under(folder: Path, entered: set[Path]) -> list[Path]:
    """The flows below a folder whose path has no link; those of folders in `entered` are known."""
    if folder in entered:
        return []
    entered.add(folder)
    try:
        names = [entry.name for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from error
    found: list[Path] = []
    for path in (folder / name for name in names):
        # A plain file of another name is most of a folder: one look at each would be slow.
        looks_like_flow = path.name.casefold().endswith((SUFFIX, ".flow.yml"))
        kind = _kind(path)
        if kind == FOLDER:
            if path.name != "node_modules":
                found += _under(path.resolve(), entered)
        elif looks_like_flow and not path.name.endswith(SUFFIX):
            raise UsageError(f"{path}: a flow's file name ends in {SUFFIX}; rename it")
        elif looks_like_flow and kind != FILE:
            raise UsageError(f"{path}: it is {kind}, and a flow is a regular file")
        elif looks_like_flow:
            found.append(path)
    if found:
        _refuse_misnamed_suite(folder, names)
    return found


def _names_in(folder: Path) -> list[str]:
    """All names in a folder; none where it may be entered and not listed."""
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _refuse_misnamed_suite(folder: Path, names: Collection[str]) -> None:
    """:raises UsageError: for a `suite.yml` in a folder of flows, which would govern nothing."""
    if SUITE_FILE in names:
        return
    for name in names:
        if name.casefold() in {SUITE_FILE, "suite.yml"}:
            raise UsageError(f"{folder / name}: a suite's file is named {SUITE_FILE}; rename it")


def _near(path: Path) -> str:
    from difflib import get_close_matches

    try:
        beside = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, beside, n=1, cutoff=0.75)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def nearest_suite(folder: Path) -> Path | None:
    """The suite.yaml in a folder or in the nearest folder above it.

    :raises UsageError: if what has that name there is no regular file.
    """
    start = folder.resolve()
    for candidate in (start, *start.parents):
        file = candidate / SUITE_FILE
        kind = _kind(file)
        if kind == FILE:
            return file
        if kind != NOTHING:
            raise UsageError(f"{file}: it is {kind}, and a suite is a regular file")
    return None
