"""A shard's part of a run as one file: a line that says which part of what it is, then its record.

`merge` makes one run of them. The first line is small, so that what does not belong together is
refused before anything large is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flowproof.errors import RunRecordUnreadable, UsageError
from flowproof.files import shortened
from flowproof.model.jsonvalue import JsonError, JsonObject, parse, write
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import MAX_CHARACTERS, dump, load, load_part
from flowproof.report.text import one_line
from flowproof.report.write import Files
from flowproof.version import __version__

SCHEMA = "flowproof.blob/1"
SUFFIX = ".flowproof-blob"
MOST = 99_999
"""The most shards that a run has."""

_HEAD = 64 * 1024
_LARGEST = MAX_CHARACTERS
LONGEST = 366 * 24 * 3600.0
"""The most seconds that a run takes."""


@dataclass(frozen=True, slots=True)
class BlobHead:
    """What a merge must know of a part: number `shard` of `shards`, counted from 1.

    `suite` is a digest of the whole suite and `planned` one of the paths of all flows that the
    shards together run, of which there are `flows`. `selection` has the options that chose them,
    by name; `partial` says that they leave flows of the suite out, whatever the shard does.
    `folder` is that of the suite, relative to where it ran; empty where it lies elsewhere.
    `discovered` is how many flows there were to choose from, and `left_out` names those that no
    shard runs, as `Population` does.
    """

    flowproof: str
    shard: int
    shards: int
    suite: str
    flows: int
    planned: str
    selection: tuple[tuple[str, str], ...]
    partial: bool
    folder: str
    discovered: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob whose first line was read; `shown` names its file, `sha256` is of its record."""

    path: Path
    shown: str
    head: BlobHead
    sha256: str

    @property
    def called(self) -> str:
        """Which part this is and where it lies, for a message."""
        return f"shard {self.head.shard}/{self.head.shards} ({self.shown})"


def planned_digest(paths: Sequence[str]) -> str:
    """One digest of the paths of flows, in any order and each counted once."""
    digest = hashlib.sha256()
    for path in sorted(set(paths)):
        digest.update(path.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def render(record: RunRecord, head: BlobHead) -> Files:
    """The report of kind `blob`: one file, named so that those of all shards fit one folder."""
    body = dump(record).encode()
    first: JsonObject = {
        "schema": SCHEMA,
        "record_sha256": hashlib.sha256(body).hexdigest(),
        "flowproof": head.flowproof,
        "shard": head.shard,
        "shards": head.shards,
        "suite": head.suite,
        "flows": head.flows,
        "planned": head.planned,
        "selection": [[name, value] for name, value in head.selection],
        "partial": head.partial,
        "folder": head.folder,
        "discovered": head.discovered,
        "left_out": [*_fitting(head.left_out)],
    }
    name = f"shard-{head.shard}-of-{head.shards}{SUFFIX}"
    return [(name, write(first).encode() + b"\n" + body)]


def _fitting(paths: Sequence[str]) -> Iterator[str]:
    """The first of these paths, as many as fit into a line of which much is left for the rest."""
    left = _HEAD // 2
    for path in paths:
        left -= len(json.dumps(path)) + 1  # as ASCII: one odd path makes all of the line so
        if left < 0:
            return
        yield path


def find_blobs(places: Sequence[Path]) -> list[Blob]:
    """The blobs below these folders, with their first lines read; a file may be given itself.

    :raises UsageError: if there is none, or one cannot be used.
    """
    paths: dict[Path, Path] = {}
    for place in places:
        for path in _below(place):
            paths.setdefault(path.resolve(), path)
            if len(paths) > MOST:
                raise UsageError(f"there are more than {MOST} blobs")
    if not paths:
        shown = ", ".join(shortened(str(place)) for place in places[:10])
        raise UsageError(
            f"there is no *{SUFFIX} below {shown}; `flowproof suite run --report blob=DIR` "
            "writes one"
        )
    return [_opened(path) for path in paths.values()]


def _below(place: Path) -> Iterator[Path]:
    shown = shortened(str(place))
    if place.is_file():
        yield place
        return
    if not place.is_dir():
        raise UsageError(f"{shown}: no such folder")

    def refuse(error: OSError) -> None:
        where = shortened(str(error.filename or place))
        raise UsageError(f"{where}: cannot be read: {error.strerror}")

    for folder, folders, names in os.walk(place, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            if name.endswith(SUFFIX):
                yield Path(folder, name)


def _opened(path: Path) -> Blob:
    shown = shortened(str(path))
    try:
        if not path.is_file():
            raise _unusable(shown, "it is no regular file")
        with path.open("rb") as file:
            line = file.readline(_HEAD)
    except OSError as error:
        raise _unusable(shown, f"it cannot be read: {error.strerror}") from error
    if not line.endswith(b"\n"):
        raise _unusable(shown, "its first line does not end")
    try:
        value = parse(line, max_depth=10)
    except JsonError as error:
        raise _unusable(shown, f"its first line is not JSON: {error}") from error
    if not isinstance(value, dict) or value.pop("schema", None) != SCHEMA:
        raise _unusable(shown, f"its first line does not say {SCHEMA!r}{_writer(value)}")
    sha256 = value.pop("record_sha256", None)
    try:
        head = load_part(BlobHead, value)
    except RunRecordUnreadable as error:
        raise _unusable(shown, f"its first line: {error.reason}{_writer(value)}") from error
    if not isinstance(sha256, str):
        raise _unusable(shown, "its first line: $.record_sha256: expected a string")
    return Blob(path, shown, _checked(head, shown), sha256)


def _writer(value: object) -> str:
    """The version that wrote it, where that may be why it cannot be read."""
    found = value.get("flowproof") if isinstance(value, dict) else None
    if not isinstance(found, str) or found == __version__:
        return ""
    return f"; flowproof {one_line(found, 40)} wrote it, and this is {__version__}"


def _checked(head: BlobHead, shown: str) -> BlobHead:
    if not 1 <= head.shard <= head.shards <= MOST:
        raise _unusable(shown, f"there is no shard {head.shard} of {head.shards}"[:200])
    folder = PurePosixPath(head.folder)
    if folder.is_absolute() or ".." in folder.parts or "\0" in head.folder:
        raise _unusable(shown, "its `folder` leads out of where it was run")
    return head


def read_record(blob: Blob) -> RunRecord:
    """The record of a part.

    :raises UsageError: if it is too large, was damaged, or is no run record.
    """
    try:
        with blob.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise _unusable(blob.shown, f"larger than {_LARGEST >> 20} MiB")
            file.readline(_HEAD)
            body = file.read(_LARGEST)
    except OSError as error:
        raise _unusable(blob.shown, f"it cannot be read: {error.strerror}") from error
    if hashlib.sha256(body).hexdigest() != blob.sha256:
        raise _unusable(blob.shown, "its record is damaged or was cut short; upload it again")
    try:
        record = load(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _unusable(blob.shown, f"its record is not UTF-8 at byte {error.start}") from error
    except RunRecordUnreadable as error:
        raise _unusable(blob.shown, f"its record: {error.reason}") from error
    if record.flowproof != blob.head.flowproof:
        raise _unusable(blob.shown, "its record is of another version than it says")
    # A sum of hostile ones is no number, and no date is so long ago.
    for seconds in _times(record):
        if not 0 <= seconds <= LONGEST:
            raise _unusable(blob.shown, f"it took {seconds:g} s, which no run does")
    return record


def _times(record: RunRecord) -> Iterator[float]:
    yield record.duration
    for flow in record.flows:
        yield flow.duration
        yield flow.offset or 0.0
        yield flow.usual or 0.0
    for task in record.tasks:
        yield task.started or 0.0
        yield task.duration or 0.0


def _unusable(shown: str, reason: str) -> UsageError:
    return UsageError(f"{shown}: not a usable blob: {reason}")
