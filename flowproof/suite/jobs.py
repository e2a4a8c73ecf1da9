"""How many flows run at once: a number, `auto`, or a part of the machine's cores; and whether
hooks allow for more than one."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flowproof.errors import FlowproofError, UsageError
from flowproof.files import shortened

if TYPE_CHECKING:
    from flowproof.suite.project import Project


def parse_jobs(text: str, option: str, cores: int | None = None) -> int:
    """Read `4`, `auto` (one per core that this process may use) or `50%` (of these, at least one).

    :raises UsageError: naming `option`, if it is anything else.
    """
    cores = cores or available_cores()
    if text == "auto":
        return cores
    found = re.fullmatch(r"([0-9]{1,4})(%?)", text)
    number = int(found[1]) if found else 0
    if found is None or number == 0 or (found[2] and number > 100):
        raise UsageError(f"{option} {shortened(text)}: a number from 1, `auto`, or such as `50%`")
    return max(1, math.floor(cores * number / 100)) if found[2] else number


def available_cores() -> int:
    """The processor cores that this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def one_at_a_time(specs: Sequence[Path], project: Project) -> bool:
    """Whether a suite of these flows has hooks around each, which may not bear two of them."""
    for folder in dict.fromkeys(spec.parent for spec in specs):
        try:
            suite = project.suite_of(folder)
        except FlowproofError:
            continue
        if suite is not None and (suite.before_each or suite.after_each):
            return True
    return False
