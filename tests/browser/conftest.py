"""One browser for the tests of this folder, and reports that are written once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from flowproof.report import html
from flowproof.report.write import write_files
from tests.browser import chromium
from tests.browser.records import RECORDS


# Not for the whole session: while it is open, no other test of this process can run an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = chromium.found()
    if executable is None:
        if chromium.must_be_there():
            pytest.fail(f"{chromium.MISSING}; .ci/run installs one")
        pytest.skip(chromium.MISSING)
    with chromium.started(executable) as browser:
        yield browser


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes the pages of the record of that name, once, and returns their folder."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            write_files(folder, html.render(RECORDS[name]()))
            made[name] = folder
        return made[name]

    return of


def pages(folder: Path, most: int = 8) -> list[Path]:
    """The index of a report and its first flow pages."""
    return [folder / "index.html", *sorted(folder.glob("flows/*.html"))[:most]]
