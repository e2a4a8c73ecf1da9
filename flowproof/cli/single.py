"""Runs the specs that `record` and `run` name one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowproof.cli.options import Output, environment
from flowproof.cli.privacy import protect_keys
from flowproof.errors import UsageError
from flowproof.model.clock import SystemClock
from flowproof.model.phase import Phase


def run_single(
    phase: Phase, paths: Sequence[Path], trace: Path | None, strict: bool, output: Output
) -> int:
    """Record or replay these flows; `trace` takes the place of the one beside a single spec.

    :raises UsageError: if a path is no flow, or one trace is named for several flows.
    """
    from flowproof.drivers.command import CommandDriver

    protect_keys(environment())
    driver = CommandDriver(clock=SystemClock())
    # What guards the agent starts on another core while we import what reads specs and traces.
    with driver.prestart():
        from flowproof.cli.running import Plan, execute
        from flowproof.suite.discover import discover
        from flowproof.suite.plan import PlanOptions, plan
        from flowproof.suite.project import JobOptions, Project

        specs = discover(paths)
        if trace is not None and len(specs) != 1:
            option = "--out" if phase == "record" else "--trace"
            raise UsageError(f"{option} names one trace, and there are {len(specs)} flows")
        here = Path.cwd()
        folder = specs[0].parent if specs else here
        project = Project(here, JobOptions(phase, trace=trace, strict=strict))
        suite = project.usable_suite(folder)
        wanted = Plan(
            command="record" if phase == "record" else "run",
            suite=suite.name if suite else folder.name,
            flows=plan(specs, project, PlanOptions(retries=0)),
            folder=Path(suite.folder) if suite else folder,
            partial=True,
            discovered=len(specs),
        )
        return execute(wanted, output, project, driver)
