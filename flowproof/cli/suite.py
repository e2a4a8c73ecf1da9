"""`flowproof suite`: run many flows and write reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from flowproof.cli.options import Output, environment, output_options, put, say
from flowproof.cli.running_options import Running, running_options
from flowproof.cli.selecting import Chosen, selection_options

_ONE_AT_A_TIME = (
    "flows run one at a time, since a suite has before_each or after_each; `jobs:` in the suite "
    "or -j says otherwise"
)
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
    "kinds",
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
@running_options
@selection_options
@output_options
def run(
    paths: tuple[Path, ...],
    chosen: Chosen,
    running: Running,
    strict: bool,
    allow_empty: bool,
    kinds: tuple[str, ...],
    no_reports: bool,
    reports_dir: Path,
    output: Output,
) -> int:
    """Replay every *.flow.yaml below PATHS (default: here), several at once.

    A flow without a trace is skipped, with the reason. If no flow ran at all the exit code is 5.
    """
    if no_reports and kinds:
        raise click.UsageError("--no-reports and --report exclude each other")
    reports = {} if no_reports else _reports(kinds, reports_dir)
    return run_suite(paths, strict, output, chosen=chosen, reports=reports, allow_empty=allow_empty)


def _reports(kinds: Sequence[str], folder: Path) -> dict[str, Path]:
    reports: dict[str, Path] = {}
    for choice in kinds or _KINDS:
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
    chosen: Chosen | None = None,
    running: Running | None = None,
    reports: dict[str, Path] | None = None,
    allow_empty: bool = False,
) -> int:
    """Replay the chosen flows below these paths (None: all), as the options for running say
    (None: by default); `reports` are kinds with their folders, None: all."""
    from flowproof.cli.privacy import protect_keys
    from flowproof.cli.running import Plan, execute
    from flowproof.cli.selecting import found_below
    from flowproof.drivers.command import CommandDriver
    from flowproof.model.clock import SystemClock
    from flowproof.suite.plan import PlanOptions, plan
    from flowproof.suite.project import JobOptions, Project

    protect_keys(environment())
    asked = running or Running()
    project = Project(Path.cwd(), JobOptions("replay", strict=strict, timeout=asked.timeout))
    found = found_below(paths, chosen or Chosen(), project)
    slots = asked.slots(found.suite_jobs, one_at_a_time=found.one_at_a_time)
    quiet = slots > 1 or len(found.specs) < 2 or not found.one_at_a_time
    wanted = Plan(
        command="suite run",
        suite=found.suite,
        flows=plan(found.specs, project, PlanOptions(asked.retries, asked.repeat), found.seconds),
        folder=found.folder,
        skip_untraced=True,
        allow_empty=allow_empty,
        partial=found.partial,
        jobs=slots,
        max_failures=asked.max_failures,
        global_timeout=asked.global_timeout,
        fail_on_flaky=asked.fail_on_flaky,
        reports=_reports((), Path("reports")) if reports is None else reports,
        warnings=found.warnings if quiet else (*found.warnings, _ONE_AT_A_TIME),
    )
    return execute(wanted, output, project, CommandDriver(clock=SystemClock()))


@command.command("list")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@selection_options
@output_options
def list_flows(paths: tuple[Path, ...], chosen: Chosen, output: Output) -> int:
    """Print which flows `suite run` would run, in order, and why one would be skipped."""
    from flowproof.cli.selecting import found_below
    from flowproof.errors import ExitCode
    from flowproof.model.jsonvalue import JsonValue, write
    from flowproof.suite.listing import listed
    from flowproof.suite.project import JobOptions, Project

    project = Project(Path.cwd(), JobOptions("replay"))
    found = found_below(paths, chosen, project)
    for warning in found.warnings:
        say(f"warning: {warning}")
    entries = [listed(spec, project, environment()) for spec in found.specs]
    if output.json:
        flows: list[JsonValue] = [entry.as_json() for entry in entries]
        put(write({"suite": found.suite, "partial": found.partial, "flows": flows}) + "\n")
    else:
        for entry in entries:
            put(entry.line() + "\n")
    if any(entry.exit_code for entry in entries):
        return int(ExitCode.AUTHOR_ERROR)
    return int(ExitCode.PASSED if entries else ExitCode.NOTHING_RAN)
