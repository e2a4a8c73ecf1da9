"""Keeps what later runs and reports need in `.flowproof`: the records of the latest runs, which
flows failed, and how long each took."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from flowproof.errors import ExitCode, FlowproofError, RunRecordUnreadable, UsageError
from flowproof.files import shortened, write_atomic
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import MAX_CHARACTERS, load, pieces
from flowproof.suite.durations import FILE as DURATIONS
from flowproof.suite.durations import write_durations
from flowproof.suite.last_failed import note_failed
from flowproof.suite.needs import kept_back
from flowproof.suite.project import Project
from flowproof.suite.selection import key_of
from flowproof.suite.state_lock import alone

KEPT = 10
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def new_run_id(now: datetime, chance: bytes) -> str:
    """An id that sorts by time, such as `20261130T090000Z-1f00aa`; `now` is in UTC, `chance` are
    three random bytes."""
    return f"{now:%Y%m%dT%H%M%SZ}-{chance.hex()}"


def keep(record: RunRecord, folder: Path) -> Path:
    """Write a run's record below the run's folder; its path. Only the newest nine others stay.

    :raises UsageError: if the folder cannot be written to.
    """
    try:
        return _keep(record, folder / ".flowproof")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot keep the run record in {folder}: {reason}") from error


def remember(record: RunRecord, folder: Path, project: Project) -> None:
    """Note which flows failed, or did not run since one that they need failed, and after a
    complete run how long each took; the record's paths start from where the project is. A run
    that was not let finish teaches no durations, and one in which nothing ran, as where a
    suite.yaml cannot be used, nothing at all.

    :raises UsageError: if the folder cannot be written to.
    """
    ran: dict[str, float] = {}
    failed: list[Path] = []
    skipped: list[Path] = []
    for flow in record.flows:
        spec = project.here / flow.path
        if flow.verdict is Verdict.SKIPPED:
            skipped.append(spec)
        elif not flow.exit_code or _has_usable_suite(spec, project):
            ran[key_of(spec, folder)] = flow.duration
            failed += [spec] if flow.exit_code else []
    if not ran:
        return
    failed += kept_back(skipped, failed, project)
    state = folder / ".flowproof"
    try:
        note_failed(state, ran=ran, failed=[key_of(spec, folder) for spec in failed])
        if not record.partial and record.exit_code is not ExitCode.INTERRUPTED:
            write_durations(state / DURATIONS, ran)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot keep the state of the suite in {folder}: {reason}") from error


def _has_usable_suite(spec: Path, project: Project) -> bool:
    try:
        project.suite_of(spec.parent)
    except FlowproofError:
        return False
    return True


def find_kept(folder: Path, id: str | None = None) -> Path:
    """The file of the run with this id among those that are kept in a suite's folder, or without
    an id of the newest.

    :raises UsageError: if there is none.
    """
    runs = folder / ".flowproof" / "runs"
    kept = [path for path in runs.glob("*") if _ID.fullmatch(path.name)]
    # Ids tell seconds; of two runs in one second the file system knows the later.
    kept.sort(key=lambda path: (path.name.partition("-")[0], path.stat().st_mtime_ns), reverse=True)
    names = [path.name for path in kept]
    if not names:
        raise UsageError(f"no run is kept in {shortened(str(folder))}; run the suite once")
    if id is not None and id not in names:
        raise UsageError(
            f"{shortened(id)}: no such file, and no run of this id is kept; there are "
            + ", ".join(names[:KEPT])
        )
    return runs / (id or names[0]) / "report.json"


def read_kept(path: Path) -> RunRecord:
    """The run record in a file.

    :raises UsageError: if it cannot be read, or is none.
    """
    shown = shortened(str(path))
    try:
        if path.stat().st_size > MAX_CHARACTERS:
            raise UsageError(f"{shown}: larger than {MAX_CHARACTERS >> 20} MiB")
        return load(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: not UTF-8 at byte {error.start}") from error
    except RunRecordUnreadable as error:
        raise UsageError(f"{shown}: {error}") from error


def _keep(record: RunRecord, state: Path) -> Path:
    run = state / "runs" / record.id
    run.parent.mkdir(parents=True, exist_ok=True)
    path = run / "report.json"
    with alone(state):
        run.mkdir()
        ignore = state / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, b"*\n")
        try:
            write_atomic(path, (piece.encode() for piece in pieces(record)))
        except OSError:
            with suppress(OSError):
                run.rmdir()
            raise
        _prune(run)
    return path


def _prune(run: Path) -> None:
    # Its own is kept even if ten others bear later times: a clock was wrong, or this run was long.
    others = (child.name for child in run.parent.iterdir() if child.name != run.name)
    kept = sorted(name for name in others if _ID.fullmatch(name))
    for name in kept[: 1 - KEPT]:
        shutil.rmtree(run.parent / name, ignore_errors=True)
