"""`flowproof suite`: run many flows and write reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowproof.cli.options import Output, environment, output_options, put, say
from flowproof.cli.reporting import (
    BLOB,
    EVERY,
    Reporting,
    chosen_reports,
    folder_option,
    junit_option,
)
from flowproof.cli.running_options import Running, running_options
from flowproof.cli.selecting import Chosen, selection_options

if TYPE_CHECKING:
    from flowproof.report.junit import Detail

_ONE_AT_A_TIME = (
    "flows run one at a time, since a suite has before_each or after_each; `jobs:` in the suite "
    "or -j says otherwise"
)
_TAKES_TURNS = (
    "flows of the suite in {} run one at a time: it has before_each or after_each and no `jobs:`, "
    "or `jobs: 1`; -j says otherwise"
)
_GITHUB = "github"
_KINDS = (*EVERY, BLOB, _GITHUB)


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
@click.option(
    "--record-missing",
    is_flag=True,
    help="Record a flow that has no trace, against the real model that the environment names.",
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
@folder_option
@junit_option
@click.option(
    "--durations",
    "slowest",
    metavar="N",
    type=click.IntRange(0, 10_000),
    help="Name the N slowest flows in the end. Default: 3 of more than 10, else none.",
)
@running_options
@selection_options
@output_options
def run(
    paths: tuple[Path, ...],
    chosen: Chosen,
    running: Running,
    strict: bool,
    record_missing: bool,
    allow_empty: bool,
    kinds: tuple[str, ...],
    no_reports: bool,
    reports_dir: Path,
    junit_detail: Detail,
    slowest: int | None,
    output: Output,
) -> int:
    """Replay every *.flow.yaml below PATHS (default: here), several at once.

    A flow without a trace is skipped, with the reason, or recorded with --record-missing. If no
    flow ran at all the exit code is 5.
    """
    if no_reports and kinds:
        raise click.UsageError("--no-reports and --report exclude each other")
    reports = {} if no_reports else _reports(kinds, reports_dir)
    reporting = Reporting(reports, junit_detail)
    github = False if no_reports else _tells_github(kinds)
    return run_suite(
        paths,
        strict,
        output,
        chosen=chosen,
        running=running,
        reporting=reporting,
        allow_empty=allow_empty,
        github=github,
        slowest=slowest,
        record_missing=record_missing,
    )


def _tells_github(kinds: Sequence[str]) -> bool:
    """Whether GitHub is told of the run: where it is asked for, and by default where it runs us."""
    from flowproof.report.ci import on_github

    return _GITHUB in kinds if kinds else on_github(environment())


def _reports(kinds: Sequence[str], folder: Path) -> dict[str, Path]:
    if any(choice.startswith(f"{_GITHUB}=") for choice in kinds):
        raise click.UsageError("--report github goes to the log, and to no folder")
    reports = chosen_reports(kinds, folder, _KINDS)
    return {kind: place for kind, place in reports.items() if kind != _GITHUB}


def run_suite(
    paths: Sequence[Path],
    strict: bool,
    output: Output,
    *,
    chosen: Chosen | None = None,
    running: Running | None = None,
    reporting: Reporting | None = None,
    allow_empty: bool = False,
    github: bool | None = None,
    slowest: int | None = None,
    record_missing: bool = False,
) -> int:
    """Replay the chosen flows below these paths (None: all), as the options for running say
    (None: by default); `reporting` are the reports to write, None: all; `github` is whether
    GitHub is told, None: where it runs us. `slowest` flows are named in the end. With
    `record_missing`, those without a trace are recorded."""
    from flowproof.cli.privacy import protect_keys
    from flowproof.cli.running import Plan, execute
    from flowproof.cli.selecting import found_below, named
    from flowproof.drivers.command import CommandDriver
    from flowproof.model.clock import SystemClock
    from flowproof.suite.plan import PlanOptions, plan, taking_turns
    from flowproof.suite.project import JobOptions, Project
    from flowproof.suite.selection import unselected

    protect_keys(environment())
    asked, selecting = running or Running(), chosen or Chosen()
    reported = reporting or Reporting(chosen_reports((), Path("reports")))
    project = Project(Path.cwd(), JobOptions("replay", strict=strict, timeout=asked.timeout))
    found = found_below(paths, selecting, project)
    head = None
    if BLOB in reported.folders:
        from flowproof.cli.shard import head_of

        head = head_of(found, paths, selecting, asked, project)
    slots_of = partial(asked.slots, found.suite_jobs, found.one_at_a_time)
    slots, engine = slots_of(), asked.opened(slots_of)
    quiet = slots > 1 or len(found.specs) < 2 or not found.one_at_a_time
    options = PlanOptions(asked.retries, asked.repeat, record_missing, asked.jobs is not None)
    flows = plan(found.specs, project, options, found.seconds)
    turns = () if slots == 1 else tuple(map(_TAKES_TURNS.format, taking_turns(flows)))
    wanted = Plan(
        command="suite run",
        suite=found.suite,
        flows=flows,
        folder=found.folder,
        skip_untraced=True,
        record_missing=record_missing,
        allow_empty=allow_empty,
        partial=found.partial,
        jobs=slots,
        max_failures=asked.max_failures,
        global_timeout=asked.global_timeout,
        fail_on_flaky=asked.fail_on_flaky,
        reporting=reported,
        head=head,
        warnings=(*found.warnings, *(() if quiet else (_ONE_AT_A_TIME,)), *turns),
        github=_tells_github(()) if github is None else github,
        slowest=slowest,
        engine=engine,
        discovered=len({*found.discovered, *found.specs}),
        selection=(*(named(paths, project.here) if found.partial else ()), *selecting.typed()),
        left_out=unselected(found.discovered, found.specs),
    )
    driver = CommandDriver(clock=SystemClock())
    with driver.prestart():
        return execute(wanted, output, project, driver)


@command.command("list")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@selection_options
@output_options
def list_flows(paths: tuple[Path, ...], chosen: Chosen, output: Output) -> int:
    """Print which flows `suite run` would run, in the order of its reports, and why one would be
    skipped. Those that took longest begin first."""
    from flowproof.cli.selecting import found_below
    from flowproof.errors import ExitCode
    from flowproof.model.jsonvalue import JsonValue, write
    from flowproof.report.ci import defused, defused_json, obeys_its_log
    from flowproof.suite.listing import listed
    from flowproof.suite.project import JobOptions, Project

    project = Project(Path.cwd(), JobOptions("replay"))
    found = found_below(paths, chosen, project)
    for warning in found.warnings:
        say(f"warning: {warning}")
    needed, environ = found.needed_by, environment()
    obeys = obeys_its_log(environ)
    entries = [listed(spec, project, environ, needed.get(spec)) for spec in found.specs]
    if output.json:
        flows: list[JsonValue] = [entry.as_json() for entry in entries]
        text = write({"suite": found.suite, "partial": found.partial, "flows": flows}) + "\n"
        put(defused_json(text) if obeys else text)
    else:
        for entry in entries:
            line = entry.line()
            put((defused(line) if obeys else line) + "\n")
    if any(entry.exit_code for entry in entries):
        return int(ExitCode.AUTHOR_ERROR)
    return int(ExitCode.PASSED if entries else ExitCode.NOTHING_RAN)
