"""`flowproof suite`: run many flows and write reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from flowproof.cli.options import Output, environment, output_options

_KINDS = ("html", "junit", "json")


@click.group("suite")
def command() -> None:
    """Run many flows and write reports."""


@command.command("run")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--strict",
    is_flag=True,
    help="A missing trace is an error and not skipped, and so is a flow that asserts nothing.",
)
@click.option("--allow-empty", is_flag=True, help="Be green even if no flow ran.")
@click.option(
    "--report",
    "chosen",
    multiple=True,
    metavar="KIND[=FOLDER]",
    help=f"Write exactly these reports: {', '.join(_KINDS)}. May be repeated.",
)
@click.option("--no-reports", is_flag=True, help="Write no reports.")
@click.option(
    "--reports-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    show_default=True,
    help="Where reports go.",
)
@output_options
def run(
    paths: tuple[Path, ...],
    strict: bool,
    allow_empty: bool,
    chosen: tuple[str, ...],
    no_reports: bool,
    reports_dir: Path,
    output: Output,
) -> int:
    """Replay every *.flow.yaml below PATHS (default: here), one after another.

    A flow without a trace is skipped, with the reason. If no flow ran at all the exit code is 5.
    """
    if no_reports and chosen:
        raise click.UsageError("--no-reports and --report exclude each other")
    reports = {} if no_reports else _reports(chosen, reports_dir)
    return run_suite(paths, strict, output, reports=reports, allow_empty=allow_empty)


def _reports(chosen: Sequence[str], folder: Path) -> dict[str, Path]:
    reports: dict[str, Path] = {}
    for choice in chosen or _KINDS:
        kind, _, place = choice.partition("=")
        if kind not in _KINDS:
            raise click.UsageError(f"--report {kind}: no such kind; there are {', '.join(_KINDS)}")
        reports[kind] = Path(place) if place else folder
    return reports


def run_suite(
    paths: Sequence[Path],
    strict: bool,
    output: Output,
    *,
    reports: dict[str, Path] | None = None,
    allow_empty: bool = False,
) -> int:
    """Replay all flows below these paths; `reports` are kinds with their folders, None: all."""
    from flowproof.cli.privacy import protect_keys
    from flowproof.cli.running import Plan, execute
    from flowproof.drivers.command import CommandDriver
    from flowproof.model.clock import SystemClock
    from flowproof.suite.discover import SUFFIX, discover
    from flowproof.suite.project import JobOptions, Project, ordered

    protect_keys(environment())
    here = Path.cwd()
    given = [path.absolute() for path in paths] or [here]
    specs = discover(given)
    top = given[0] if given[0].is_dir() else given[0].parent
    project = Project(here, JobOptions("replay", strict=strict))
    suite = project.usable_suite(top)
    plan = Plan(
        command="suite run",
        suite=suite.name if suite else top.name,
        specs=ordered(specs, suite),
        folder=Path(suite.folder) if suite else top,
        skip_untraced=True,
        allow_empty=allow_empty,
        reports=_reports((), Path("reports")) if reports is None else reports,
        warnings=() if specs else (f"there is no *{SUFFIX} below {', '.join(map(str, given))}",),
    )
    return execute(plan, output, project, CommandDriver(clock=SystemClock()))
