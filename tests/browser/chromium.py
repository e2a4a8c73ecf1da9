"""The real browser that opens reports in tests: a Chromium of this machine, driven by Playwright.

`conftest.py` starts one for all tests of this folder; `make bench` starts its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = f"no browser on the PATH: looked for {', '.join(NAMES)}"


def found() -> str | None:
    """The path of the first browser that is there."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def must_be_there(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether tests without a browser fail instead of being skipped: in CI, green says that the
    pages were opened."""
    return bool(environ.get("CI"))


@contextmanager
def started(executable: str) -> Iterator[Browser]:
    """A headless browser, and its end. While it is open, this thread can run no other event loop.

    Its sandbox is off: it needs user namespaces, which containers often lack, and opens nothing
    but files that a test has just written.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(FLAGS), chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            browser.close()
