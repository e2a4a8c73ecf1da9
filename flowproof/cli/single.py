"""Runs the specs that `record` and `run` name one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowproof.cli.options import Output
from flowproof.cli.running import Plan, execute
from flowproof.errors import UsageError
from flowproof.spec.suite import nearest_suite
from flowproof.suite.discover import discover
from flowproof.suite.project import JobOptions


def run_single(name: str, paths: Sequence[Path], job: JobOptions, output: Output) -> int:
    """Record or replay these flows.

    :raises UsageError: if a path is no flow, or one trace is named for several flows.
    """
    specs = discover(paths)
    if job.trace is not None and len(specs) != 1:
        option = "--out" if job.phase == "record" else "--trace"
        raise UsageError(f"{option} names one trace, and there are {len(specs)} flows")
    suite = nearest_suite(specs[0].parent) if specs else None
    plan = Plan(
        command=name,
        suite=specs[0].parent.name if specs else "",
        specs=specs,
        folder=suite.parent if suite else _first_folder(specs),
        job=job,
        partial=True,
    )
    return execute(plan, output, Path.cwd())


def _first_folder(specs: Sequence[Path]) -> Path:
    return specs[0].parent if specs else Path.cwd()
