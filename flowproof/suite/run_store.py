"""Keeps the records of the latest runs in `.flowproof/runs`, the source of every report."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from flowproof.errors import UsageError
from flowproof.files import write_atomic
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import dump

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
