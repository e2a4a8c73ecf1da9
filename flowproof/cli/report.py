"""`flowproof report`: make reports again of a run record, and one run of what shards ran; verify
and open them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowproof.cli import open_report, verify
from flowproof.cli.options import Output, environment, output_options, put, say
from flowproof.cli.reporting import (
    EVERY,
    Reporting,
    chosen_reports,
    folder_option,
    junit_option,
    write_reports,
)
from flowproof.errors import CountsDiffer, UsageError

if TYPE_CHECKING:
    from flowproof.model.run_record import RunRecord
    from flowproof.report.junit import Detail
    from flowproof.report.merge import Merged


@click.group("report")
def command() -> None:
    """Make reports again of a run record, or one run of what shards ran; verify and open them."""


@command.command("merge")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--report",
    "kinds",
    multiple=True,
    metavar="KIND[=FOLDER]",
    help=f"Write exactly these reports: {', '.join(EVERY)}. May be repeated.",
)
@junit_option
@folder_option
@output_options
def merge_blobs(
    folders: tuple[Path, ...],
    kinds: tuple[str, ...],
    junit_detail: Detail,
    reports_dir: Path,
    output: Output,
) -> int:
    """Make one run of the blobs below FOLDERS, and all reports of it.

    Every shard of one run must be there, once. The verdict is printed; the exit code is 0 once
    they are merged, whatever the flows did: the shards have told that.
    """
    from flowproof.model.clock import SystemClock
    from flowproof.report.blob import find_blobs
    from flowproof.report.merge import merge
    from flowproof.suite.run_store import new_run_id

    reporting = Reporting(chosen_reports(kinds, reports_dir), junit_detail)
    merged = merge(find_blobs(folders), new_run_id(SystemClock().now(), os.urandom(3)))
    here = Path.cwd()
    folder = _folder(merged, here)
    with _edited():
        written = write_reports(reporting, merged.record, here, environment(), suite=folder)
    _remember(merged, folder, here)
    _summarize(merged)
    _tell(merged, written, output)
    return 0


def _summarize(merged: Merged) -> None:
    """The run of all shards in the summary of the step, on GitHub. Annotations are the shards'."""
    from flowproof.report.ci import on_github

    environ = environment()
    if on_github(environ):
        from flowproof.cli.github import summarize

        summarize(merged.record, environ)


def _folder(merged: Merged, here: Path) -> Path | None:
    """The folder of the run's suite; None if it does not lie here.

    :raises UsageError: if its flows lie here and the folder does not, or leads away.
    """
    from flowproof.files import shortened

    record, folder = merged.record, here / merged.folder
    if not merged.folder or not record.flows or not _lies_here(record, here):
        return None
    if not folder.is_dir() or not folder.resolve().is_relative_to(here.resolve()):
        raise UsageError(
            f"the blobs say that their suite is in {shortened(merged.folder)}, which is no folder "
            "below this one; merge where the shards ran"
        )
    return folder


def _remember(merged: Merged, folder: Path | None, here: Path) -> None:
    """Keep the run as if it had been run here, where its suite lies here."""
    from flowproof.suite.project import JobOptions, Project
    from flowproof.suite.run_store import keep, remember

    record = merged.record
    if folder is None:
        return
    try:
        keep(record, folder, here)
        remember(record, folder, Project(here, JobOptions("replay")))
    except UsageError as error:
        say(f"warning: {error}")


def _lies_here(record: RunRecord, here: Path) -> bool:
    try:
        return all((here / flow.path).is_file() for flow in record.flows)
    except (OSError, ValueError):
        return False  # a name that no file can have


def _tell(merged: Merged, written: list[str], output: Output) -> None:
    from flowproof.report.ci import defused, defused_json, obeys_its_log
    from flowproof.report.console import Style, summary, wants_color
    from flowproof.report.run_json import dump
    from flowproof.report.text import one_line
    from flowproof.report.words import seconds

    record, environ = merged.record, environment()
    obeys = obeys_its_log(environ)
    if not output.quiet or record.exit_code:
        color = wants_color(sys.stderr, environ) if output.color is None else output.color
        shards = "1 shard" if merged.parts == 1 else f"{merged.parts} shards"
        took = f"merged {shards} that took {seconds(merged.work)} together"
        text = f"{took}, on {one_line(record.host)}\n{summary(record, written, Style(color))}"
        say(defused(text) if obeys else text)
    if output.json:
        put(defused_json(dump(record)) if obeys else dump(record))


@contextmanager
def _edited() -> Iterator[None]:
    """Counts of a record in a file that do not add up are the file's fault, and not ours."""
    try:
        yield
    except CountsDiffer as error:
        raise UsageError(f"{error}; was the record edited?") from error


def _again(kind: str) -> click.Command:
    """The command that makes the reports of one kind."""

    @click.argument("record", required=False)
    @folder_option
    def render(record: str | None, reports_dir: Path, junit_detail: Detail = "flow") -> int:
        from flowproof.report.run_line import run_line
        from flowproof.suite.kept import find_record, read_kept

        found = read_kept(find_record(Path.cwd(), record))
        say(run_line(found))
        reporting = Reporting({kind: reports_dir}, junit_detail)
        with _edited():
            written = write_reports(reporting, found, Path.cwd(), environment())
        for path in written:
            say(f"report: {path}")
        return 0

    if kind == "junit":
        render = junit_option(render)
    render.__doc__ = (
        f"Make the {kind} report of RECORD again: a run.json, or the id of a run of the suite of "
        "this folder, or of one that was started here. Default: the newest of these."
    )
    return click.command(kind)(render)


command.add_command(verify.command)
command.add_command(open_report.command)
for _kind in EVERY:
    command.add_command(_again(_kind))
