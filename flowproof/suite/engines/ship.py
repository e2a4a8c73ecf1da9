"""Packs the project folder into an archive that is known by the hash of its content.

`store` keeps and unpacks it on a worker.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from flowproof.errors import UsageError
from flowproof.files import shortened
from flowproof.suite.discover import nearest_suite
from flowproof.suite.engines.links import leads_inside
from flowproof.trace.file import find_trace

MAX_FILES = 50_000
MAX_BYTES = 256 * 1024 * 1024
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv"})
_GIT_SECONDS = 60.0
_NESTED = 20


@dataclass(frozen=True, slots=True)
class Archive:
    """A packed folder; `digest` is the SHA-256 of `data` in hex. The same files make the same
    archive, whatever their times and owners."""

    digest: str
    data: bytes = field(repr=False)


def to_ship(specs: Iterable[Path], here: Path) -> tuple[Path, list[str]]:
    """The folder to ship for flows that are run from `here`, and the files of theirs that are
    shipped even if git ignores them; all paths given are absolute.

    :raises UsageError: if there is no such folder.
    """
    files: set[Path] = set()
    suites: set[Path] = set()
    for spec in specs:
        files |= {spec, find_trace(spec)}
        suites.add(spec.parent)
    for folder in suites:
        suite = nearest_suite(folder)
        files |= {suite} if suite else set()
    root = project_root(here, {file.parent for file in files})
    return root, [inside(file, root) for file in files]


def project_root(here: Path, others: Iterable[Path]) -> Path:
    """The folder to ship: the work tree of git that `here` is in, else the nearest folder that
    holds `here` and the `others`. All are absolute.

    :raises UsageError: if git cannot tell, or one of the others lies outside the work tree.
    """
    up = _git(here, "rev-parse", "--show-cdup")
    if up is None:
        return Path(os.path.commonpath([here, *others]))
    root = Path(os.path.normpath(here / os.fsdecode(up).removesuffix("\n")))
    for path in others:
        inside(path, root)
    return root


def inside(path: Path, root: Path) -> str:
    """The path relative to the folder that is shipped, in POSIX form.

    :raises UsageError: if it lies outside.
    """
    for one, folder in ((path, root), (path.resolve(), root.resolve())):
        if one.is_relative_to(folder):
            return one.relative_to(folder).as_posix()
    raise UsageError(
        f"{shortened(str(path))} lies outside {shortened(str(root))}, the folder that is sent to "
        "the workers of a cluster; run flows of one project at a time"
    )


def pack(root: Path, also: Iterable[str] = ()) -> Archive:
    """Pack what git tracks and what it neither tracks nor ignores; outside of git all files
    but hidden ones, `node_modules`, `venv` and `__pycache__`. The files `also` are packed in any
    case. Symbolic links that lead out of the folder are left out, and so is what lies behind them.

    :raises UsageError: if that is too much to send, or a file cannot be read.
    """
    packed = io.BytesIO()
    # Neither the compressed stream nor the archive may hold a time, a name or an owner.
    with (
        gzip.GzipFile("", "wb", 1, packed, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        left = MAX_BYTES
        names, links = _placed(root, {*_listed(root), *also})
        for count, name in enumerate(sorted(names), 1):
            if count > MAX_FILES:
                raise _too_much(root, f"more than {MAX_FILES:,} files")
            try:
                left -= _add(archive, root, name, links, left)
            except (FileNotFoundError, NotADirectoryError):
                continue  # tracked by git, and deleted
            except OSError as error:
                raise UsageError(
                    f"{shortened(name)} cannot be sent to a worker: {error.strerror}"
                ) from error
    data = packed.getvalue()
    return Archive(hashlib.sha256(data).hexdigest(), data)


def _placed(root: Path, names: Iterable[str]) -> tuple[set[str], dict[str, str]]:
    """The files by where they are: one behind a link is packed in its own place, with the link;
    one that is outside is not. Also all links, with their targets."""
    real = os.path.realpath(root)
    folders: dict[str, str] = {}
    links: dict[str, str] = {}
    found: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        folder, _, last = name.rpartition("/")
        if folder not in folders:
            folders[folder] = os.path.realpath(os.path.join(real, folder))  # noqa: PTH118
            if folders[folder] != os.path.normpath(os.path.join(real, folder)):  # noqa: PTH118
                waiting += [above for above in _above(folder) if (root / above).is_symlink()]
        place = Path(folders[folder], last)
        if not place.is_relative_to(real):
            continue
        own = place.relative_to(real).as_posix()
        found.add(own)
        if own not in links and place.is_symlink():
            links[own] = os.fspath(place.readlink())
    return found, links


def _above(folder: str) -> list[str]:
    """A folder's name and those of the ones that it lies in, relative to the same root."""
    return [one.as_posix() for one in (PurePosixPath(folder), *PurePosixPath(folder).parents[:-1])]


def _add(
    archive: tarfile.TarFile, root: Path, name: str, links: Mapping[str, str], left: int
) -> int:
    """Add one file; how many bytes it holds. What is neither file nor link is passed over."""
    path = root / name
    found = path.lstat()
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(found.st_mode) & 0o777
    if stat.S_ISLNK(found.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.fspath(path.readlink())
        if leads_inside(name, info.linkname, links):
            archive.addfile(info)
        return 0
    if not stat.S_ISREG(found.st_mode):
        return 0
    with path.open("rb") as file:
        content = file.read(left + 1)
    if len(content) > left:
        raise _too_much(root, f"more than {MAX_BYTES // 1024**2} MiB")
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))
    return info.size


def _too_much(root: Path, found: str) -> UsageError:
    return UsageError(
        f"{shortened(str(root))} holds {found}, and a worker is sent no more; have git ignore what "
        "no flow needs, or run flows where their project is, in shards"
    )


def _listed(root: Path, depth: int = 0) -> Iterator[str]:
    """The names of all files to ship, relative to `root`."""
    printed = _git(root, "ls-files", "-coz", "--exclude-standard")
    if printed is None:
        yield from _walked(root)
        return
    for raw in printed.split(b"\0"):
        name = os.fsdecode(raw).rstrip("/")
        if not name:
            continue
        if (root / name).is_dir() and not (root / name).is_symlink():
            # A work tree inside ours: a submodule, or a clone that is not ignored.
            if depth < _NESTED and (root / name / ".git").exists():
                yield from (f"{name}/{one}" for one in _listed(root / name, depth + 1))
            continue
        yield name


def _walked(root: Path) -> Iterator[str]:
    seen = 0
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = sorted(name for name in folders if _wanted(name) and name not in links)
        for name in filter(_wanted, (*files, *links)):
            seen += 1
            if seen > MAX_FILES:
                raise _too_much(root, f"more than {MAX_FILES:,} files")
            yield Path(folder, name).relative_to(root).as_posix()


def _wanted(name: str) -> bool:
    return not name.startswith(".") and name not in _LEFT_OUT


def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints; None where the folder is in no work tree, or there is no git.

    :raises UsageError: if it is in one and git does not say.
    """
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
        )
        failed = os.fsdecode(done.stderr).strip() if done.returncode else ""
    except FileNotFoundError:
        done, failed = None, "there is no git to ask"
    except subprocess.TimeoutExpired:
        done, failed = None, f"git did not answer within {_GIT_SECONDS:g} s"
    if done is not None and not done.returncode:
        return done.stdout
    if not any((one / ".git").exists() for one in (folder, *folder.parents)):
        return None
    # Without git's list, what it ignores would be sent too.
    raise UsageError(f"{folder}: which files to send to a worker cannot be told: {failed[:300]}")
