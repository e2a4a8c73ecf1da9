"""Puts rendered reports on disk, file by file whole or not at all, and only inside their folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from flowproof.errors import UsageError
from flowproof.files import write_atomic

Content: TypeAlias = bytes | str | Iterable[str]
"""What a file holds. A file about every flow comes in pieces, made as they are written: the whole
of it may be many times larger than the record."""

Files: TypeAlias = Iterable[tuple[str, Content]]
"""Files by name, each made when it is asked for: who takes one must be done with it before the
next."""


def write_files(folder: Path, files: Files) -> tuple[Path, ...]:
    """Write each file below `folder`, creating folders as needed; return their paths.

    Names are relative, with `/` between their parts. Inside `folder` no symbolic link is
    followed: one in the place of a file is replaced, one in the place of a folder is refused.

    :raises UsageError: if a name leads out of the folder, or something cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files:
            path = _place(folder, name)
            write_atomic(path, _encoded(content))
            written.append(path)
    except OSError as error:
        what = error.filename or folder
        raise UsageError(
            f"cannot write a report to {what}: {error.strerror or error}; "
            "choose another folder with --reports-dir, or write none with --no-reports"
        ) from error
    return tuple(written)


def _encoded(content: Content) -> bytes | Iterable[bytes]:
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else (piece.encode() for piece in content)


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
