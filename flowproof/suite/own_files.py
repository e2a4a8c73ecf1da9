"""Tells what flowproof itself left in a work tree from what its author did: reports of a run do
not make the next one a run of changed files. `work_tree` asks, `report.ours` knows the marks."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flowproof.report.html_names import FOLDER
from flowproof.report.ours import REPORTS, is_ours

_BY_NAME = re.compile(r".*\.flowproof-blob|\.flowproof-[0-9a-f]{16}\.tmp", re.DOTALL)
_STATE = ".flowproof"


def foreign(top: Path, names: Sequence[bytes]) -> tuple[bytes, ...]:
    """Those of the files below a folder that flowproof did not write: neither state, nor a blob,
    nor a file with the name and the mark of a report."""
    return tuple(name for name in names if not _own(top, os.fsdecode(name)))


def _own(top: Path, name: str) -> bool:
    *folders, file = name.split("/")
    if _STATE in folders or _BY_NAME.fullmatch(file):
        return True
    page = folders[-1:] == [FOLDER] and file.endswith(".html")
    if page or file in REPORTS:
        with suppress(OSError, ValueError):
            return is_ours(top / name)
    return False
