"""`flowproof report open`: where the page of a run is, and the page itself where there is a desktop
to show it on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from flowproof.cli.options import environment, put, say
from flowproof.cli.reporting import REPORTS, Reporting, write_reports

PAGES = "reports"
"""Where the page of a kept run is made, beside its record."""


@click.command("open")
@click.argument("run", metavar="[RUN|DIR]", required=False)
@click.option("--print", "only_print", is_flag=True, help="Print the path and open nothing.")
@click.option(
    "--reports-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where reports are. Default: reports, unless a later run is kept.",
)
def command(run: str | None, only_print: bool, reports_dir: Path | None) -> int:
    """Open the page of a run: of the reports in DIR, beside a run.json, or of a run by its id, of
    the suite of this folder or started here. Default: the run that was last.

    The path is printed; on a desktop, a browser shows it too.
    """
    from flowproof.report.run_json import FILE_NAME
    from flowproof.report.run_line import run_line_of
    from flowproof.suite.kept import RECORD

    page = page_of(run, reports_dir)
    kept = page.parent.parent / RECORD
    record = kept if kept.is_file() and page.parent.name == PAGES else page.parent / FILE_NAME
    if line := run_line_of(record):
        say(line)
    put(f"{page}\n")
    if not only_print:
        show(page, environment(), terminal=sys.stdout.isatty())
    return 0


def page_of(run: str | None, reports_dir: Path | None) -> Path:
    """The page that an argument means. One of a kept run is made if it is not there.

    :raises UsageError: if there is none.
    """
    from flowproof.errors import UsageError
    from flowproof.files import shortened
    from flowproof.report.html import FILE_NAME
    from flowproof.suite.kept import find_record

    if run is None:
        page = _last() if reports_dir is None else reports_dir / FILE_NAME
    elif Path(run).is_dir():
        page = Path(run) / FILE_NAME
    elif Path(run).is_file():
        page = Path(run) if run.endswith(".html") else Path(run).parent / FILE_NAME
    else:
        page = _kept(find_record(Path.cwd(), run))
    if not page.is_file():
        raise UsageError(
            f"there is no {shortened(str(page))}; `flowproof suite run` writes one, and "
            "`flowproof report html` makes it again of a run that is kept"
        )
    return page


def _last() -> Path:
    """The page in the usual folder, or that of a run that was kept since that was written."""
    from flowproof.errors import UsageError
    from flowproof.report.html import FILE_NAME
    from flowproof.suite.kept import find_kept

    page = Path(REPORTS) / FILE_NAME
    try:
        record = find_kept(Path.cwd())
        # A run keeps its record before it writes reports.
        if page.is_file() and page.stat().st_mtime_ns >= record.stat().st_mtime_ns:
            return page
    except (OSError, UsageError):
        return page
    return _kept(record)


def _kept(record: Path) -> Path:
    """The page of a kept run, in a folder beside its record."""
    from flowproof.report.html import FILE_NAME
    from flowproof.suite.kept import read_kept

    folder = record.parent / PAGES
    if not (folder / FILE_NAME).is_file():
        write_reports(Reporting({"html": folder}), read_kept(record), Path.cwd(), environment())
    return folder / FILE_NAME


def show(
    page: Path,
    environ: Mapping[str, str],
    *,
    terminal: bool,
    opened: Callable[[str], object] | None = None,
    system: str = sys.platform,
) -> bool:
    """Let a browser show a page if somebody sits before a desktop; whether it was told to."""
    desktop = system == "darwin" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if not terminal or not desktop:
        return False
    if opened is None:
        import webbrowser

        opened = webbrowser.open
    opened(page.resolve().as_uri())
    return True
