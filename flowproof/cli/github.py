"""Tells GitHub of a run: prints annotations and appends to the summary of the step.

What they say is made in `report.github`; here are the environment and the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowproof.cli.options import say
from flowproof.report.github import SUMMARY_LIMIT, step_summary, workflow_commands

if TYPE_CHECKING:
    from flowproof.model.run_record import RunRecord

_LEAST = 2_000


def tell_github(record: RunRecord, here: Path, environ: Mapping[str, str]) -> None:
    """Print the annotations of a run, whose paths start at `here`, and write the summary of the
    step if there is a file for it. One that cannot be written is a warning."""
    folder = _from_root(here, environ.get("GITHUB_WORKSPACE", ""))
    for command in workflow_commands(record, folder):
        say(command)
    summarize(record, environ)


def summarize(record: RunRecord, environ: Mapping[str, str]) -> None:
    """Write the summary of the step if GitHub names a file for it. One that cannot be written is
    a warning."""
    if file := environ.get("GITHUB_STEP_SUMMARY"):
        try:
            _append(record, Path(file))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            say(f"warning: the summary of the step cannot be written: {reason}")


def _from_root(here: Path, root: str) -> str:
    """The folder relative to the root of the repository; empty where no root is known."""
    if not root:
        return ""
    try:
        return Path(os.path.relpath(here.resolve(), Path(root).resolve())).as_posix()
    except (OSError, ValueError):
        return ""


def _append(record: RunRecord, file: Path) -> None:
    # Other commands of the step may have written to it, and the limit is for all together.
    room = SUMMARY_LIMIT - (file.stat().st_size if file.exists() else 0)
    if room < _LEAST:
        say("warning: the summary of the step is full; this run is not in it")
        return
    with file.open("ab") as stream:
        stream.write(step_summary(record, room).encode())
