"""Keeps what later runs and reports need in `.flowproof`: the records of the latest runs, which
flows failed, and how long each took. `kept` finds the records again."""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from flowproof.errors import ExitCode, FlowproofError, UsageError
from flowproof.files import write_atomic
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import pieces
from flowproof.suite.durations import FILE as DURATIONS
from flowproof.suite.durations import write_durations
from flowproof.suite.kept import RECORD, RUN_ID, RUNS, STATE, made_state, note_elsewhere
from flowproof.suite.last_failed import note_failed
from flowproof.suite.needs import kept_back
from flowproof.suite.project import Project
from flowproof.suite.selection import key_of
from flowproof.suite.state_lock import alone

KEPT = 10


def new_run_id(now: datetime, chance: bytes) -> str:
    """An id that sorts by time, such as `20261130T090000Z-1f00aa`; `now` is in UTC, `chance` are
    three random bytes."""
    return f"{now:%Y%m%dT%H%M%SZ}-{chance.hex()}"


def keep(record: RunRecord, folder: Path, here: Path | None = None) -> Path:
    """Write a run's record below the run's folder; its path. Only the newest nine others stay.
    The folder that it was started in, `here`, notes where that is.

    :raises UsageError: if the folder cannot be written to.
    """
    try:
        path = _keep(record, folder)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot keep the run record in {folder}: {reason}") from error
    if here is not None:
        # Without the note a report has to be told which record is meant, and nothing is lost.
        with suppress(OSError, UsageError):
            note_elsewhere(here, folder)
    return path


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
    state = folder / STATE
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


def _keep(record: RunRecord, folder: Path) -> Path:
    run = folder / STATE / RUNS / record.id
    run.parent.mkdir(parents=True, exist_ok=True)
    state = made_state(folder)
    path = run / RECORD
    with alone(state):
        run.mkdir()
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
    kept = sorted(name for name in others if RUN_ID.fullmatch(name))
    for name in kept[: 1 - KEPT]:
        shutil.rmtree(run.parent / name, ignore_errors=True)
