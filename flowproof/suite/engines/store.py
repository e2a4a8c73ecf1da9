"""Where a worker keeps the projects that it is sent: archives by their hash, and for each run a
fresh tree of files. `ship` makes the archives.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from flowproof.errors import WorldError
from flowproof.files import shortened, write_atomic
from flowproof.suite.engines.unpack import BadArchive, unpack

CACHE = "FLOWPROOF_CACHE"
KEPT = 8
"""How many archives stay for later runs, those used last."""
_FORGOTTEN = timedelta(days=7)
"""When the tree of a run that nobody cleaned up goes: no flow lasts that long."""
_NAME = re.compile(r"[0-9a-f]{8,64}")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where this worker keeps projects: FLOWPROOF_CACHE, else a folder of this user among the
    temporary files."""
    named = environ.get(CACHE, "").strip()
    return Path(named) if named else Path(tempfile.gettempdir(), f"flowproof-{os.getuid()}")


@dataclass(frozen=True, slots=True)
class Store:
    """The projects in one folder, which several workers may share."""

    folder: Path

    def has(self, digest: str) -> bool:
        """Whether an archive is here."""
        return self._archive(digest).is_file()

    def keep(self, digest: str, data: bytes) -> None:
        """Keep an archive under its hash.

        :raises BadArchive: if it has another one.
        :raises WorldError: if the folder cannot be used.
        """
        if hashlib.sha256(data).hexdigest() != digest:
            raise BadArchive("the archive of the project does not have the hash it was sent with")
        try:
            self._open()
            write_atomic(self._archive(digest), data)
            self._clean()
        except OSError as error:
            raise self._unusable(error.strerror or type(error).__name__) from error

    def tree(self, digest: str, run: str) -> Path | None:
        """The files of the project for one run, unpacked once; None if the archive is not here.

        :raises BadArchive: if it cannot be unpacked.
        :raises WorldError: if the folder cannot be used.
        """
        tree = self._tree(run)
        if tree.is_dir():
            os.utime(tree)
            return tree.resolve()
        try:
            self._open()
            archive = self._archive(digest)
            data = archive.read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                archive.unlink()
                return None
            os.utime(archive)
            self._unpack(data, tree)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error.strerror or type(error).__name__) from error
        return tree.resolve()

    def forget(self, run: str) -> None:
        """Remove the files of one run."""
        shutil.rmtree(self._tree(run), ignore_errors=True)

    def _archive(self, digest: str) -> Path:
        return self.folder / f"{_checked(digest)}.tar.gz"

    def _tree(self, run: str) -> Path:
        return self.folder / "runs" / _checked(run)

    def _open(self) -> None:
        """Make the folder; nobody else may put anything there."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = self.folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise self._unusable("it is no folder of this user")
        if found.st_mode & 0o022:
            raise self._unusable("others may write there")
        (self.folder / "runs").mkdir(exist_ok=True)

    def _unusable(self, why: str) -> WorldError:
        shown = shortened(str(self.folder))
        return WorldError(
            f"the worker cannot keep projects in {shown}: {why}; {CACHE} names another folder"
        )

    def _unpack(self, data: bytes, tree: Path) -> None:
        """Unpack beside the place, then rename: another worker may do the same right now."""
        begun = Path(tempfile.mkdtemp(prefix="unpacking-", dir=tree.parent))
        try:
            unpack(data, begun)
            with contextlib.suppress(OSError):
                begun.rename(tree)  # refused where the other one was faster
        finally:
            shutil.rmtree(begun, ignore_errors=True)

    def _clean(self) -> None:
        archives = sorted(self.folder.glob("*.tar.gz"), key=_used)
        for archive in archives[:-KEPT]:
            archive.unlink(missing_ok=True)
        newest = _used(archives[-1])
        for tree in (self.folder / "runs").iterdir():
            if newest - _used(tree) > _FORGOTTEN.total_seconds():
                shutil.rmtree(tree, ignore_errors=True)


def _checked(name: str) -> str:
    """A hash or the name of a run, which becomes part of a path."""
    if not _NAME.fullmatch(name):
        raise BadArchive(f"{name[:80]!r} is no hash of a project")
    return name


def _used(path: Path) -> float:
    """When it was used last, in the seconds of the file system's clock."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # another worker was faster
