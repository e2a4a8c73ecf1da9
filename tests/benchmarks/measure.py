"""Runs commands in turn and compares them, so that a machine's drift hits both alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Command:
    """What is run: words, environment, folder."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path


@dataclass(frozen=True, slots=True)
class Run:
    """Wall time and processor time, with that of all processes below, in seconds, and the largest
    resident size of any of them in bytes."""

    wall: float
    peak: int
    cpu: float


def run(command: Command) -> Run:
    """Run a command once; it must succeed."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command.argv,
        env=dict(command.env),
        cwd=command.cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command.argv} ended with {process.returncode}")
    return Run(wall, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians of two commands run in turn: the ratio pair by pair, and the extra seconds."""

    ratio: float
    extra: float
    peak: int


def compare(subject: Command, baseline: Command, pairs: int) -> Comparison:
    """Run both once to warm up and then `pairs` times in turn."""
    run(subject), run(baseline)
    runs = [(run(subject), run(baseline)) for _ in range(pairs)]
    return Comparison(
        ratio=statistics.median(one.wall / other.wall for one, other in runs),
        extra=statistics.median(one.wall - other.wall for one, other in runs),
        peak=max(one.peak for one, _ in runs),
    )
