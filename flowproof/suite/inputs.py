"""Files that decide for all flows of a run what they run with: lock files of dependencies.

`flow.launch_agent` notes what an agent's own command names.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from flowproof.files import Digests
from flowproof.flow.job import relative
from flowproof.model.run_record import FileDigest

MOST_FILES = 20
LARGEST = 64 * 1024 * 1024
"""So many lock files are looked at, of so many bytes each."""
_NAMES = frozenset(
    {
        "uv.lock",
        "poetry.lock",
        "Pipfile.lock",
        "package-lock.json",
        "pnpm-lock.yaml",
        "yarn.lock",
    }
)


def lock_files(folders: Iterable[Path], here: Path, digests: Digests) -> tuple[FileDigest, ...]:
    """The lock files in these folders and in those above them up to the top of the repository,
    the nearest first; outside a repository in the folders alone. All paths are absolute, those
    of the files become relative to `here`.

    At most `MOST_FILES` of at most `LARGEST` bytes are looked at, and none behind a symbolic link
    that leads out of its folder; what cannot be read is left out.
    """
    found: list[FileDigest] = []
    for folder in dict.fromkeys(_upward(folders)):
        for path in _locks(folder):
            if len(found) == MOST_FILES:
                return tuple(found)
            with suppress(OSError):
                if path.resolve().parent == folder.resolve():
                    digest = digests.of(str(path), LARGEST)
                    found += [FileDigest(relative(path, here), digest)] if digest else []
    return tuple(found)


def _upward(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        top = top_of(folder) or folder
        yield from (one for one in (folder, *folder.parents) if one.is_relative_to(top))


def top_of(folder: Path) -> Path | None:
    """The top of the work tree that a folder lies in, as far as that can be seen without git."""
    for one in (folder, *folder.parents):
        with suppress(OSError):
            if (one / ".git").exists():
                return one
    return None


def _locks(folder: Path) -> list[Path]:
    try:
        names = [name for name in os.listdir(folder) if _is_lock(name)]  # noqa: PTH208 (names)
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _is_lock(name: str) -> bool:
    return name in _NAMES or (name.startswith("requirements") and name.endswith(".txt"))
