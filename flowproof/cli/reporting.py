"""Which reports a command writes and where, and what those of kind `junit` and `blob` need beside
the record; `report.interface` has the kinds that need nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord, RunRecord
    from flowproof.report.blob import BlobHead
    from flowproof.report.interface import Report
    from flowproof.report.junit import Detail

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("html", "junit", "json")
"""What is written where nothing else is asked for."""
BLOB = "blob"
_DETAILS = ("flow", "steps")


@dataclass(frozen=True, slots=True)
class Reporting:
    """Kinds of reports with the folder of each, and what becomes a case in JUnit."""

    folders: Mapping[str, Path]
    junit_detail: Detail = "flow"


def chosen_reports(
    choices: Sequence[str], folder: Path, accepted: Sequence[str] = KINDS
) -> dict[str, Path]:
    """The folder of each kind that was asked for as `KIND` or `KIND=FOLDER`; without a choice,
    the usual kinds in the common folder.

    :raises click.UsageError: if there is no such kind.
    """
    reports: dict[str, Path] = {}
    for choice in choices or KINDS:
        kind, _, place = choice.partition("=")
        if kind not in accepted:
            raise click.UsageError(
                f"--report {kind}: no such kind; there are {', '.join(accepted)}"
            )
        reports[kind] = Path(place) if place else folder
    return reports


def junit_option(function: F) -> F:
    """Add --junit-detail, passed on as `junit_detail`."""
    return click.option(
        "--junit-detail",
        type=click.Choice(_DETAILS),
        default="flow",
        show_default=True,
        help="What is a test case in JUnit: each flow, or also each assertion.",
    )(function)


def folder_option(function: F) -> F:
    """Add --reports-dir, passed on as `reports_dir`."""
    return click.option(
        "--reports-dir",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("reports"),
        show_default=True,
        help="Where reports go.",
    )(function)


def write_reports(
    reporting: Reporting,
    record: RunRecord,
    here: Path,
    environ: Mapping[str, str],
    head: BlobHead | None = None,
) -> list[str]:
    """Write them and return their paths. `here` is the folder that the record's paths start from;
    a blob needs the `head`.

    :raises UsageError: if one cannot be written.
    """
    from flowproof.report.write import write_files

    written: list[str] = []
    for kind, folder in reporting.folders.items():
        report = _report(kind, reporting, here, environ, head)
        written += [str(path) for path in write_files(folder, report(record))]
    return written


def _report(
    kind: str,
    reporting: Reporting,
    here: Path,
    environ: Mapping[str, str],
    head: BlobHead | None,
) -> Report:
    from flowproof.report.interface import REPORTS

    match kind:
        case "junit":
            from flowproof.report import junit

            attached = attachments(environ, here, reporting.folders.get("html"))
            return cast(
                "Report", partial(junit.render, detail=reporting.junit_detail, attached=attached)
            )
        case "blob":
            from flowproof.report import blob

            if head is None:
                raise RuntimeError("a blob without a head")
            return cast("Report", partial(blob.render, head=head))
        case _:
            return REPORTS[kind]


def attachments(
    environ: Mapping[str, str], here: Path, html: Path | None
) -> Callable[[FlowRecord], str]:
    """Which file a CI service should keep or show with a flow that needs a look.

    Jenkins and Azure copy what has an absolute path: the flow's trace, if it lies below `here`.
    GitLab links to what a job uploads, by its path in the project: the page in the folder `html`.
    Elsewhere nobody reads it.
    """
    if environ.get("GITLAB_CI") == "true":
        page = "" if html is None else _in_project(html, here, environ.get("CI_PROJECT_DIR"))
        return lambda flow: page
    if environ.get("JENKINS_URL") or environ.get("TF_BUILD"):
        root = here.resolve()
        return lambda flow: _trace_below(root, flow)
    return lambda flow: ""


def _in_project(html: Path, here: Path, project: str | None) -> str:
    from flowproof.report.html import FILE_NAME

    try:
        place = (here / html / FILE_NAME).resolve().relative_to(Path(project or here).resolve())
    except (OSError, ValueError):
        return ""
    return place.as_posix()


def _trace_below(root: Path, flow: FlowRecord) -> str:
    if flow.trace is None:
        return ""
    try:
        place = (root / flow.trace.path).resolve()
        return str(place) if place.is_relative_to(root) and place.is_file() else ""
    except (OSError, ValueError):
        return ""  # a name that no file can have
