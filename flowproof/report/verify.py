"""Recomputes what a reports folder claims, and names all that differs.

The folder may come from anybody: it is only read, nothing in it is followed out of it, and all
sizes are bounded. `sums` and `evidence` write what is verified here; `verify_reports` and
`verify_evidence` do the parts that need the run record.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flowproof.errors import RunRecordUnreadable, UsageError
from flowproof.files import read_regular, shortened, system_error
from flowproof.model.run_record import FileDigest, RunRecord
from flowproof.report import evidence, run_json, statement
from flowproof.report.html_names import FOLDER as PAGES
from flowproof.report.sums import (
    FILE_NAME,
    ONLY_WRITTEN,
    NotSums,
    file_digest,
    files_below,
    read_sums,
)
from flowproof.report.verify_evidence import evidence_problems, statement_problems
from flowproof.report.verify_files import MISSING, Finding, Unchecked
from flowproof.report.verify_reports import Remade, is_report, record_problems, remade

LARGEST = 4 << 30
"""How many bytes a file may have that is read."""
MOST = 64 << 30
"""How many bytes all files together may have."""
_LIST_LIMIT = 64 << 20
_LINKS = (errno.ELOOP, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class Verified:
    """What was recomputed: how many files, which kinds of reports were made again and were the
    same, how many inputs. `findings` are all that differs, and `unchecked` what could not be
    compared; `notes` name what is no part of the folder's claims."""

    files: int
    reports: tuple[str, ...]
    inputs: int
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    notes: tuple[str, ...]


def verify(
    folder: Path,
    inputs: Path | None = None,
    *,
    within: Path | None = None,
    distribution: str = "",
) -> Verified:
    """Compare a reports folder with its list of digests, with its run record, and with itself.

    With `inputs`, the specs, traces and other files that the record names are compared with
    those in that folder; none outside of `within` is read, such as the repository that it lies in,
    by default the folder itself. `distribution` is the digest of this flowproof's own files: only
    the flowproof that wrote a report makes the same bytes again.

    :raises UsageError: if there is nothing that could be compared.
    """
    listed, only_written = _listed(folder)
    found, findings = _compared(folder, listed)
    unlisted, notes = _unlisted(folder, listed, only_written=only_written)
    findings += unlisted
    record, told = _record(folder, found)
    findings += told
    findings += _evidence(folder, found, listed)
    broken = record is None and run_json.FILE_NAME in found  # which is told
    again = Remade() if broken else remade(record, found, folder, distribution)
    known = {one.file for one in findings}
    findings += (one for one in again.findings if one.problem != MISSING or one.file not in known)
    compared = 0
    if inputs is not None:
        compared, differing = _inputs(record, inputs, within or inputs)
        findings += differing
    return Verified(
        len(listed), again.kinds, compared, tuple(findings), tuple(again.unchecked), tuple(notes)
    )


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


def _unlisted(
    folder: Path, listed: Container[str], *, only_written: bool
) -> tuple[list[Finding], list[str]]:
    """What is there and not in the list, and notes of what the list does not cover. Of a folder
    that holds more than reports, whatever looks like a report is covered all the same: the list
    says of itself that it is of such a folder, and anybody may have written that."""
    left_out: list[str] = []
    odd: list[str] = []
    notes: list[str] = []
    try:
        if only_written:
            notes.append(f"{FILE_NAME} says that it lists the reports alone: no other file counts")
            there = list(_beside(folder))
        else:
            there = list(files_below(folder, left_out=left_out, odd=odd))
    except OSError as error:
        raise UsageError(f"cannot be read: {system_error(error)}") from error
    there += filter(is_report, odd)
    new = [name for name in sorted(there) if name not in listed]
    notes += (
        f"{name} has a {FILE_NAME} of its own, and is no part of this: verify it by itself"
        for name in sorted(left_out)
    )
    notes += (
        f"{name} is a link or no regular file, and no part of this"
        for name in sorted(odd)
        if name not in listed and not is_report(name)
    )
    return [Finding(name, f"is not in {FILE_NAME}") for name in new], notes


def _beside(folder: Path) -> Iterator[str]:
    """What has the name of a report, and is no folder."""
    for below in ("", f"{PAGES}/"):
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder / below) as entries:
            for one in entries:
                if is_report(f"{below}{one.name}") and not one.is_dir(follow_symlinks=False):
                    yield f"{below}{one.name}"


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


def _evidence(folder: Path, found: dict[str, str], listed: Container[str]) -> Iterator[Finding]:
    """What evidence and statement say against themselves and against what they name."""
    for name, names, problems in (
        (evidence.FILE_NAME, run_json.FILE_NAME, evidence_problems),
        (statement.FILE_NAME, evidence.FILE_NAME, statement_problems),
    ):
        if name not in found:
            continue
        if names not in listed:
            yield Finding(names, f"{MISSING}, and {name} is about it")
        try:
            data = read_regular(folder / name, run_json.MAX_CHARACTERS)
        except OSError as error:
            yield Finding(name, _refusal(error))
            continue
        if data is None:
            yield Finding(name, f"larger than {run_json.MAX_CHARACTERS >> 20} MiB")
        else:
            yield from (Finding(name, problem) for problem in problems(data, found.get(names)))


def _inputs(record: RunRecord | None, folder: Path, within: Path) -> tuple[int, list[Finding]]:
    """How many inputs of a run are the same in a folder, and those that differ."""
    if record is None:
        raise UsageError(f"--inputs needs a {run_json.FILE_NAME} that can be read")
    if not folder.is_dir():
        raise UsageError(f"{shortened(str(folder))}: no such folder")
    root, whole = folder.resolve(), within.resolve()
    same, findings = 0, []
    for path, sha256 in sorted(set(_named(record))):
        try:
            place = (root / path).resolve()
            if not place.is_relative_to(whole):
                findings.append(Finding(path, f"input leads out of {whole}, and is not read"))
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
    return same, findings


def _named(record: RunRecord) -> Iterator[tuple[str, str]]:
    """The inputs that a record names, with their digests."""
    files: list[FileDigest | None] = [*record.inputs]
    for flow in record.flows:
        files += [flow.spec, flow.trace, *flow.inputs]
    for one in files:
        if one is not None:
            yield one.path, one.sha256
