"""Recomputes what a reports folder claims, and names all that differs.

The folder may come from anybody: it is only read, nothing in it is followed out of it, and all
sizes are bounded. `sums` and `evidence` write what is verified here; `verify_reports` and
`verify_evidence` do the parts that need the run record.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flowproof.errors import RunRecordUnreadable, UsageError
from flowproof.files import read_regular, shortened, system_error
from flowproof.model.run_record import FileDigest, RunRecord
from flowproof.report import evidence, run_json
from flowproof.report.sums import (
    FILE_NAME,
    ONLY_WRITTEN,
    NotSums,
    file_digest,
    files_below,
    read_sums,
)
from flowproof.report.verify_evidence import evidence_problems
from flowproof.report.verify_reports import Finding, Remade, record_problems, remade

LARGEST = 4 << 30
"""How many bytes a file may have that is read."""
MOST = 64 << 30
"""How many bytes all files together may have."""
_LIST_LIMIT = 64 << 20
_LINKS = (errno.ELOOP, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class Verified:
    """What was recomputed: how many files, which kinds of reports were made again and were the
    same, how many inputs. `findings` are all that differs; `notes` say what was left out."""

    files: int
    reports: tuple[str, ...]
    inputs: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def verify(folder: Path, inputs: Path | None = None, *, distribution: str = "") -> Verified:
    """Compare a reports folder with its list of digests, with its run record, and with itself.

    With `inputs`, the specs, traces and other files that the record names are compared with
    those in that folder. `distribution` is the digest of this flowproof's own files: only the
    flowproof that wrote a report makes the same bytes again.

    :raises UsageError: if there is nothing that could be compared.
    """
    listed, only_written = _listed(folder)
    found, findings = _compared(folder, listed)
    if not only_written:
        findings += [
            Finding(name, f"is not in {FILE_NAME}")
            for name in sorted(_below(folder))
            if name not in listed
        ]
    record, told = _record(folder, found)
    findings += told
    findings += _evidence(folder, found)
    again = remade(record, found, folder, distribution) if record else Remade()
    notes = list(again.notes)
    if run_json.FILE_NAME not in listed:
        notes.append(f"there is no {run_json.FILE_NAME}: no report could be made again")
    findings += again.findings
    compared = 0
    if inputs is not None:
        compared, differing, outside = _inputs(record, inputs)
        findings += differing
        notes += outside
    return Verified(len(listed), again.kinds, compared, tuple(findings), tuple(notes))


def _listed(folder: Path) -> tuple[dict[str, str], bool]:
    path = folder / FILE_NAME
    shown = shortened(str(path))
    try:
        if not folder.is_dir():
            raise UsageError(f"{shortened(str(folder))}: no such folder")
        if path.is_symlink():
            raise UsageError(f"{shown}: a symbolic link, which is not followed")
        data = read_regular(path, _LIST_LIMIT)
    except FileNotFoundError as error:
        raise UsageError(
            f"{shown}: no such file, so there is nothing to compare with; `flowproof suite run` "
            "and `flowproof report evidence` write one"
        ) from error
    except OSError as error:
        raise UsageError(f"cannot be read: {system_error(error)}") from error
    if data is None:
        raise UsageError(f"{shown}: larger than {_LIST_LIMIT >> 20} MiB")
    try:
        return read_sums(data), data.startswith(ONLY_WRITTEN)
    except NotSums as error:
        raise UsageError(f"{shown}: not a usable list of digests: {error}") from error


def _compared(folder: Path, listed: dict[str, str]) -> tuple[dict[str, str], list[Finding]]:
    """The digests of the listed files that are there, and what differs from the list."""
    found: dict[str, str] = {}
    findings: list[Finding] = []
    read = 0
    for name, digest in sorted(listed.items()):
        problem = _unsafe(folder, name)
        if not problem:
            read += _size(folder / name)
            if read > MOST:
                raise UsageError(f"{shortened(str(folder))} holds more than {MOST >> 30} GiB")
            try:
                found[name] = file_digest(folder / name, LARGEST)
            except OSError as error:
                problem = _refusal(error)
            else:
                changed = found[name] != digest
                problem = f"changed: its SHA-256 is {found[name]}, not {digest}" if changed else ""
        if problem:
            findings.append(Finding(name, problem))
    return found, findings


def _size(path: Path) -> int:
    """How many bytes of a file are going to be read, at most."""
    try:
        return min(os.lstat(path).st_size, LARGEST)
    except OSError:
        return 0


def _unsafe(folder: Path, name: str) -> str:
    """Why a listed name must not be opened; empty if it may."""
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        return "its name leads out of the folder, or is none of a file"
    place = folder
    for part in parts[:-1]:
        place = place / part
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return "lies behind a symbolic link, which is not followed"
        except OSError as error:
            return _refusal(error)
    return ""


def _refusal(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "is missing"
    if error.errno in _LINKS:
        return "is a symbolic link, which is not followed"
    return f"cannot be read: {error.strerror or type(error).__name__}"


def _below(folder: Path) -> Iterator[str]:
    try:
        yield from files_below(folder)
    except OSError as error:
        raise UsageError(f"cannot be read: {system_error(error)}") from error


def _record(folder: Path, found: dict[str, str]) -> tuple[RunRecord | None, list[Finding]]:
    """The run record, if there is one that can be read, and what it says against itself."""
    name = run_json.FILE_NAME
    if name not in found:
        return None, []
    try:
        data = read_regular(folder / name, run_json.MAX_CHARACTERS)
        if data is None:
            return None, [Finding(name, f"larger than {run_json.MAX_CHARACTERS >> 20} MiB")]
        record = run_json.load(data.decode("utf-8"))
    except OSError as error:
        return None, [Finding(name, _refusal(error))]
    except UnicodeDecodeError as error:
        return None, [Finding(name, f"not UTF-8 at byte {error.start}")]
    except RunRecordUnreadable as error:
        return None, [Finding(name, str(error))]
    return record, [Finding(name, problem) for problem in record_problems(record)]


def _evidence(folder: Path, found: dict[str, str]) -> list[Finding]:
    name = evidence.FILE_NAME
    if name not in found:
        return []
    try:
        data = read_regular(folder / name, run_json.MAX_CHARACTERS)
    except OSError as error:
        return [Finding(name, _refusal(error))]
    if data is None:
        return [Finding(name, f"larger than {run_json.MAX_CHARACTERS >> 20} MiB")]
    return [
        Finding(name, problem) for problem in evidence_problems(data, found.get(run_json.FILE_NAME))
    ]


def _inputs(record: RunRecord | None, folder: Path) -> tuple[int, list[Finding], list[str]]:
    """How many inputs of a run are the same in a folder, those that differ, and notes."""
    if record is None:
        raise UsageError(f"--inputs needs a {run_json.FILE_NAME} that can be read")
    if not folder.is_dir():
        raise UsageError(f"{shortened(str(folder))}: no such folder")
    root = folder.resolve()
    same, findings, notes = 0, [], []
    for path, sha256 in sorted(set(_named(record))):
        try:
            place = (root / path).resolve()
            if not place.is_relative_to(root):
                notes.append(f"{path} lies outside of that folder, and was not compared")
                continue
            now = file_digest(place, LARGEST)
        except ValueError:
            findings.append(Finding(path, "is no name that a file can have"))
        except (OSError, RuntimeError) as error:
            problem = _refusal(error) if isinstance(error, OSError) else "is behind a loop of links"
            findings.append(Finding(path, f"input {problem}"))
        else:
            same += now == sha256
            if now != sha256:
                findings.append(Finding(path, f"input changed since: now {now}, then {sha256}"))
    return same, findings, notes


def _named(record: RunRecord) -> Iterator[tuple[str, str]]:
    """The inputs that a record names, with their digests."""
    files: list[FileDigest | None] = [*record.inputs]
    for flow in record.flows:
        files += [flow.spec, flow.trace, *flow.inputs]
    for one in files:
        if one is not None:
            yield one.path, one.sha256
