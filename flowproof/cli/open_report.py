"""`flowproof report open`: where the page of a run is, and the page itself where there is a desktop
to show it on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from flowproof.cli.options import environment, put
from flowproof.cli.reporting import Reporting, folder_option, write_reports


@click.command("open")
@click.argument("run", metavar="[RUN|DIR]", required=False)
@click.option("--print", "only_print", is_flag=True, help="Print the path and open nothing.")
@folder_option
def command(run: str | None, only_print: bool, reports_dir: Path) -> int:
    """Open the page of a run: of the reports in DIR, beside a run.json, or of a run that is kept
    here by its id. Default: the reports folder.

    The path is printed; on a desktop, a browser shows it too.
    """
    page = page_of(run, reports_dir)
    put(f"{page}\n")
    if not only_print:
        show(page, environment(), terminal=sys.stdout.isatty())
    return 0


def page_of(run: str | None, reports_dir: Path) -> Path:
    """The page that an argument means. One of a kept run is made if it is not there.

    :raises UsageError: if there is none.
    """
    from flowproof.errors import UsageError
    from flowproof.files import shortened
    from flowproof.report.html import FILE_NAME

    place = reports_dir if run is None else Path(run)
    if place.is_dir():
        page = place / FILE_NAME
    elif run is not None and place.is_file():
        page = place if place.suffix == ".html" else place.parent / FILE_NAME
    elif run is not None:
        page = _kept(run)
    else:
        page = place / FILE_NAME
    if not page.is_file():
        raise UsageError(
            f"there is no {shortened(str(page))}; `flowproof suite run` writes one, and "
            "`flowproof report html` makes it again of a run that is kept"
        )
    return page


def _kept(run: str) -> Path:
    """The page of a kept run, in a folder beside its record."""
    from flowproof.report.html import FILE_NAME
    from flowproof.suite.discover import nearest_suite
    from flowproof.suite.run_store import find_kept, read_kept

    suite = nearest_suite(Path.cwd())
    record = find_kept(suite.parent if suite else Path.cwd(), run)
    folder = record.parent / "reports"
    if not (folder / FILE_NAME).is_file():
        reporting = Reporting({"html": folder})
        write_reports(reporting, read_kept(record), Path.cwd(), environment())
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
