"""Unpacks the archives that `ship` packs, and trusts none of their names."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from flowproof.errors import WorldError
from flowproof.files import shortened
from flowproof.suite.engines.links import leads_inside
from flowproof.suite.engines.ship import MAX_BYTES, MAX_FILES

_HEADERS = 4096
"""The most bytes that a file's name and other facts may take up in an archive."""


class BadArchive(WorldError):
    """An archive that is not unpacked: it is damaged, or would write outside its folder."""


def unpack(data: bytes, folder: Path) -> None:
    """Unpack an archive into an empty folder, and nowhere else: only files, and links that lead
    to places inside, whose names hold no `..` and pass through no link.

    :raises BadArchive: at the first member that is anything else, or if it holds too much.
    :raises OSError: if a file cannot be written.
    """
    target = _Target(folder)
    try:
        with (
            gzip.GzipFile(fileobj=io.BytesIO(data)) as stream,
            tarfile.open(fileobj=_Bounded(stream), mode="r|") as archive,
        ):
            for member in archive:
                target.put(archive, member)
        target.link()
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        raise BadArchive(f"the archive of the project is damaged: {error}") from error


class _Bounded(io.RawIOBase):
    """Reads a compressed stream that may turn out larger than it claims."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        super().__init__()
        self._stream = stream
        self._left = MAX_BYTES + MAX_FILES * _HEADERS

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise BadArchive("the archive of the project holds more than a worker takes")
        return data


class _Target:
    """The folder being filled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Mutable: what has been put there.
        self._count = 0
        self._links: dict[PurePosixPath, str] = {}

    def put(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            raise BadArchive("the archive of the project holds more files than a worker takes")
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not name.parts or "\0" in member.name:
            raise _refused(member.name, "its name leads out of the project")
        if any(above in self._links for above in name.parents):
            raise _refused(member.name, "it lies behind a link")
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                self._note(name, member)
            elif member.isreg():
                _write(path, archive, member)
            else:
                raise _refused(member.name, "it is neither a file nor a symbolic link")
        except (FileExistsError, NotADirectoryError) as error:
            raise _refused(member.name, "another file is in its place") from error

    def _note(self, name: PurePosixPath, member: tarfile.TarInfo) -> None:
        if name in self._links:
            raise FileExistsError
        if not member.linkname or "\0" in member.linkname:
            raise _refused(member.name, "its target is no path")
        self._links[name] = member.linkname

    def link(self) -> None:
        """Make the links, once all are known: where one leads depends on the others. Until then
        there is none that a file could be written through."""
        known = {name.as_posix(): target for name, target in self._links.items()}
        for name, target in known.items():
            if not leads_inside(name, target, known):
                raise _refused(name, "its target lies outside the project")
        for name, target in known.items():
            try:
                (self._folder / name).symlink_to(target)
            except FileExistsError as error:
                raise _refused(name, "another file is in its place") from error
        # What the file system takes for the same name need not be the same text.
        folder = self._folder.resolve()
        for name in known:
            if not Path(os.path.realpath(folder / name)).is_relative_to(folder):
                raise _refused(name, "its target lies outside the project")


def _write(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    content = archive.extractfile(member)
    assert content is not None  # so for every regular file
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with content, os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        shutil.copyfileobj(content, file)
        os.fchmod(file.fileno(), (member.mode & 0o777) | 0o600)


def _refused(name: str, why: str) -> BadArchive:
    return BadArchive(f"the archive of the project holds {shortened(name)!r}: {why}")
