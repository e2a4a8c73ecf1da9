"""Puts rendered reports on disk, file by file whole or not at all, and only inside their folder."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from flowproof.errors import UsageError, WorldError
from flowproof.files import exhausted, write_atomic
from flowproof.report.html_names import FOLDER as PAGES
from flowproof.report.html_names import PAGE_MARK
from flowproof.report.ours import may_replace

Content: TypeAlias = bytes | str | Iterable[str]
"""What a file holds. A file about every flow comes in pieces, made as they are written: the whole
of it may be many times larger than the record."""

Files: TypeAlias = Iterable[tuple[str, Content]]
"""Files by name, each made when it is asked for: who takes one must be done with it before the
next."""


def write_files(
    folder: Path, files: Files, digests: dict[str, str] | None = None
) -> tuple[Path, ...]:
    """Write each file below `folder`, creating folders as needed; return their paths.

    Names are relative, with `/` between their parts. Inside `folder` no symbolic link is
    followed: one in the place of a file is replaced, one in the place of a folder is refused.
    The SHA-256 of each file, taken on its way to the disk, is put into `digests` by its name.

    :raises UsageError: if a name leads out of the folder, a page of a flow would replace a file
        that is not flowproof's, or something cannot be written.
    :raises WorldError: if there is no room for it.
    """
    written = []
    path = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files:
            path = _place(folder, name)
            if path.parent.name == PAGES and path.parent != folder and not may_replace(path):
                raise UsageError(
                    f"{path} is not flowproof's, and the page of a flow would replace it; move it "
                    "away, or choose another folder with --reports-dir"
                )
            seen = hashlib.sha256()
            write_atomic(path, _encoded(content, seen))
            if digests is not None:
                digests[path.relative_to(folder).as_posix()] = seen.hexdigest()
            written.append(path)
    except OSError as error:
        kind = WorldError if exhausted(error) else UsageError
        raise kind(
            f"cannot write a report to {path}: {error.strerror or error}; "
            "choose another folder with --reports-dir, or write none with --no-reports"
        ) from error
    return tuple(written)


def remove_reports(folder: Path, names: Iterable[str]) -> None:
    """Remove the reports of these names that an earlier run left in `folder`, where a new one
    could not be written: nobody may take an old verdict for the new one."""
    for name in names:
        with suppress(OSError):
            (folder / name).unlink()


def remove_stale_pages(folder: Path, written: Iterable[Path]) -> None:
    """Remove pages of flows that an earlier run left below `folder`: files that are not among
    those `written` and say of themselves that flowproof made them. Nothing else is removed, and no
    symbolic link is followed.

    :raises UsageError: if one cannot be removed.
    """
    place, kept = folder / PAGES, set(written)
    try:
        if place.is_symlink() or not place.is_dir():
            return
        for path in sorted(place.iterdir()):
            if path.suffix == ".html" and path not in kept and _is_page(path):
                path.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot remove {error.filename or place}, which an earlier run left: "
            f"{error.strerror or error}; remove it, or choose another folder with --reports-dir"
        ) from error


def _is_page(path: Path) -> bool:
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    try:
        with path.open("rb") as file:
            return PAGE_MARK.encode() in file.read(2048)
    except OSError:
        return False  # a file that nobody can read is none that we wrote


def _encoded(content: Content, seen: hashlib._Hash) -> Iterator[bytes]:
    for piece in [content] if isinstance(content, bytes | str) else content:
        data = piece if isinstance(piece, bytes) else piece.encode()
        seen.update(data)
        yield data


def _place(folder: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or any(part in ("/", "//", "..") or "\\" in part for part in parts):
        raise UsageError(f"{name!r} does not name a file inside the reports folder")
    parent = folder
    for part in parts[:-1]:
        parent = parent / part
        if parent.is_symlink():
            raise UsageError(
                f"{parent} is a symbolic link, which a report does not follow; "
                "remove it or choose another folder with --reports-dir"
            )
        parent.mkdir(exist_ok=True)
    return parent / parts[-1]
