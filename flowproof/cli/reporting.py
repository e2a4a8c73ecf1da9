"""Which reports a command writes and where, and what those of kind `junit` and `blob` need beside
the record; `report.interface` has the kinds that need nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from flowproof.cli.options import say
from flowproof.errors import FlowproofError, UsageError
from flowproof.files import shortened

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord, RunRecord
    from flowproof.report.blob import BlobHead
    from flowproof.report.interface import Report
    from flowproof.report.junit import Detail

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("html", "junit", "json", "evidence")
"""What is written where nothing else is asked for."""
EVERY = (*KINDS, "ctrf")
"""What can be made of a record alone."""
BLOB = "blob"
REPORTS = "reports"
"""The folder of reports where none is named."""
_DETAILS = ("flow", "steps")


@dataclass(frozen=True, slots=True)
class Reporting:
    """Kinds of reports with the folder of each, and what becomes a case in JUnit."""

    folders: Mapping[str, Path]
    junit_detail: Detail = "flow"


def chosen_reports(
    choices: Sequence[str], folder: Path, accepted: Sequence[str] = EVERY
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
        default=Path(REPORTS),
        show_default=True,
        help="Where reports go.",
    )(function)


def write_reports(
    reporting: Reporting,
    record: RunRecord,
    here: Path,
    environ: Mapping[str, str],
    head: BlobHead | None = None,
    suite: Path | None = None,
    lost: list[FlowproofError] | None = None,
) -> list[str]:
    """Write them and return the path of the main file of each kind. `here` is the folder that the
    record's paths start from, and `suite` that of the suite; a blob needs the `head`.

    Each folder gets a list of digests, last of all: while its files change it has none. Why one
    cannot be written is put into `lost`, where that is given, and the others are written.

    Two that write to one folder take turns.

    :raises UsageError: if one cannot be written, or would replace a file of somebody else.
    :raises WorldError: if there is no room for it, or another process keeps writing there.
    """
    from flowproof.report.ours import require_ours
    from flowproof.suite.state_lock import alone_in

    folders = reporting.folders
    for folder in folders.values():
        with _noted(lost):
            _make(folder)
    with alone_in(folders.values(), _waits):
        require_ours(folders)
        return _written(reporting, record, here, environ, head, suite, lost)


def prepare(folders: Mapping[str, Path]) -> None:
    """Make the folders of these kinds of reports. Before a run: what keeps reports from being
    written is better told then.

    :raises UsageError: if one cannot be made or written to, or holds a file of somebody else that
        a report would replace.
    """
    from flowproof.report.ours import require_ours

    for folder in folders.values():
        _make(folder)
        if not os.access(folder, os.W_OK):
            shown = shortened(str(folder))
            raise UsageError(f"cannot write reports to {shown}: it is read-only")
    require_ours(folders)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        shown = shortened(str(folder))
        raise UsageError(f"cannot write reports to {shown}: {error.strerror}") from error


def _waits(folder: Path) -> None:
    say(f"waiting for another flowproof that writes reports to {shortened(str(folder))}")


def _written(
    reporting: Reporting,
    record: RunRecord,
    here: Path,
    environ: Mapping[str, str],
    head: BlobHead | None,
    suite: Path | None,
    lost: list[FlowproofError] | None,
) -> list[str]:
    from flowproof.report.sums import holds_more, require_room, withdraw, write_sums
    from flowproof.report.write import remove_stale_pages, write_files

    listed = _listed(reporting.folders)
    shared = {folder: holds_more(folder, filter(None, (here, suite))) for folder in listed}
    if pages := reporting.folders.get("html"):
        require_room(pages, len(record.flows), only_written=shared[pages])
    for folder in listed:
        with _noted(lost):
            withdraw(folder, only_written=shared[folder])
    written: list[str] = []
    digests: dict[Path, dict[str, str]] = {folder: {} for folder in reporting.folders.values()}
    # Pages last: where there is little room they would take it all.
    for kind in sorted(reporting.folders, key=lambda kind: kind == "html"):
        folder = reporting.folders[kind]
        report = _report(kind, reporting, record, here, environ, head, digests)
        with _noted(lost):
            try:
                paths = write_files(folder, report(record), digests[folder])
            except FlowproofError:
                _remove(kind, reporting.folders)
                raise
            if kind == "html":
                remove_stale_pages(folder, paths)
            written += [str(path) for path in paths if path.parent == folder][:1]
    for folder in [] if lost else listed:
        with _noted(lost):
            write_sums(folder, digests[folder], only_written=shared[folder])
    return written


def _remove(kind: str, folders: Mapping[str, Path]) -> None:
    """Remove what is there of a report that could not be written."""
    from flowproof.report import junit
    from flowproof.report.ours import OF_KIND
    from flowproof.report.write import remove_reports, remove_stale_pages

    names = {"junit": (junit.FILE_NAME,), **OF_KIND}.get(kind, ())
    if kind == "evidence" and folders.get("json") == folders[kind]:
        names = names[:-1]  # the record is of that kind
    remove_reports(folders[kind], names)
    if kind == "html":
        with suppress(FlowproofError):
            remove_stale_pages(folders[kind], ())


@contextmanager
def _noted(lost: list[FlowproofError] | None) -> Iterator[None]:
    """Put why something cannot be written into `lost`, where that is given, and go on."""
    try:
        yield
    except FlowproofError as error:
        if lost is None:
            raise
        lost.append(error)


def _listed(folders: Mapping[str, Path]) -> list[Path]:
    """The folders that get a list of digests: all but those for blobs alone, which say
    themselves whether they are whole. Inner ones come first: an outer one leaves them out."""
    from flowproof.report.sums import FILE_NAME

    found = {
        folder for kind, folder in folders.items() if kind != BLOB or (folder / FILE_NAME).is_file()
    }
    return sorted(found, key=lambda folder: len(folder.resolve().parts), reverse=True)


def _report(
    kind: str,
    reporting: Reporting,
    record: RunRecord,
    here: Path,
    environ: Mapping[str, str],
    head: BlobHead | None,
    digests: Mapping[Path, Mapping[str, str]],
) -> Report:
    """The renderer of a kind; `digests` are of the files that are written already."""
    from flowproof.report.interface import REPORTS

    match kind:
        case "junit":
            from flowproof.report import junit

            attached = attachments(environ, here, reporting.folders.get("html"), record.flows)
            return cast(
                "Report", partial(junit.render, detail=reporting.junit_detail, attached=attached)
            )
        case "blob":
            from flowproof.report import blob

            if head is None:
                raise RuntimeError("a blob without a head")
            return cast("Report", partial(blob.render, head=head))
        case "evidence":
            from flowproof.report import evidence, run_json

            of_json = (found.get(run_json.FILE_NAME, "") for found in digests.values())
            known = next(filter(None, of_json), "")
            render = partial(evidence.render, run_json_sha256=known)
            folders = reporting.folders
            if folders.get("json") == folders["evidence"]:
                return cast("Report", render)
            # It names the record: apart from it nobody could say whether it tells the truth.
            return cast("Report", lambda record: chain(render(record), run_json.render(record)))
        case _:
            return REPORTS[kind]


def attachments(
    environ: Mapping[str, str], here: Path, html: Path | None, flows: Iterable[FlowRecord]
) -> Callable[[FlowRecord], str]:
    """Which file a CI service should keep or show with one of `flows` that needs a look.

    Jenkins and Azure copy what has an absolute path: the flow's trace, if it lies below `here`.
    GitLab links to what a job uploads, by its path in the project: the flow's page below the
    folder `html`.
    Elsewhere nobody reads it.
    """
    if environ.get("GITLAB_CI") == "true":
        pages = "" if html is None else _in_project(html, here, environ.get("CI_PROJECT_DIR"))
        files = _pages(flows) if pages else {}
        return lambda flow: f"{pages}/{files[_key(flow)]}" if pages else ""
    if environ.get("JENKINS_URL") or environ.get("TF_BUILD"):
        root = here.resolve()
        return lambda flow: _trace_below(root, flow)
    return lambda flow: ""


def _pages(flows: Iterable[FlowRecord]) -> dict[str, str]:
    from flowproof.report.html_names import PageNames, page_file

    names = PageNames()
    return {_key(flow): page_file(names.page(flow.path)) for flow in flows}


def _key(flow: FlowRecord) -> str:
    return flow.id or flow.path


def _in_project(html: Path, here: Path, project: str | None) -> str:
    try:
        place = (here / html).resolve().relative_to(Path(project or here).resolve())
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
