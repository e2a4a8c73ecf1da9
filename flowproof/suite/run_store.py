"""Keeps what later runs and reports need in `.flowproof`: the records of the latest runs, which
flows failed, and how long each took."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from flowproof.errors import ExitCode, UsageError
from flowproof.files import write_atomic
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import dump
from flowproof.suite.durations import FILE as DURATIONS
from flowproof.suite.durations import write_durations
from flowproof.suite.last_failed import note_failed
from flowproof.suite.selection import key_of

KEPT = 10
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def keep(record: RunRecord, folder: Path) -> Path:
    """Write a run's record below the run's folder; its path. Only the newest nine others stay.

    :raises UsageError: if the folder cannot be written to.
    """
    try:
        return _keep(record, folder / ".flowproof")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot keep the run record in {folder}: {reason}") from error


def remember(record: RunRecord, folder: Path, here: Path) -> None:
    """Note which flows failed, and after a complete run how long each took; `here` is the folder
    that the record's paths start from. A run that was not let finish teaches no durations.

    :raises UsageError: if the folder cannot be written to.
    """
    ran = {
        key_of(here / flow.path, folder): flow
        for flow in record.flows
        if flow.verdict is not Verdict.SKIPPED
    }
    failed = [key for key, flow in ran.items() if flow.exit_code]
    state = folder / ".flowproof"
    try:
        note_failed(state, ran=ran, failed=failed)
        if ran and not record.partial and record.exit_code is not ExitCode.INTERRUPTED:
            write_durations(state / DURATIONS, {key: one.duration for key, one in ran.items()})
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot keep the state of the suite in {folder}: {reason}") from error


def _keep(record: RunRecord, state: Path) -> Path:
    run = state / "runs" / record.id
    run.mkdir(parents=True)
    ignore = state / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")
    path = run / "report.json"
    try:
        write_atomic(path, dump(record).encode())
    except OSError:
        run.rmdir()
        raise
    # Its own is kept even if ten others bear later times: a clock was wrong, or this run was long.
    others = (child.name for child in run.parent.iterdir() if child.name != record.id)
    kept = sorted(name for name in others if _ID.fullmatch(name))
    for name in kept[: 1 - KEPT]:
        shutil.rmtree(run.parent / name, ignore_errors=True)
    return path
