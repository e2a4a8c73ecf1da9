"""Every page of a report as people see it: wide and narrow, light and dark, printed, and with no
script; nothing breaks, nothing is fetched, nothing sticks out, and assistive technology can read
it.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from pypdf import PdfReader

from tests.browser.axe import grave
from tests.browser.conftest import pages
from tests.browser.opened import LOOKS, Look, opened
from tests.browser.records import RECORDS

Site = Callable[[str], Path]

NAMES = sorted(RECORDS)
PLAIN = Look(script=False)
# What a page tells: all but what is there for the script alone. A fold opens without a script.
TOLD = """main => { const copy = main.cloneNode(true);
    copy.querySelectorAll('[data-script]').forEach(one => one.remove());
    return copy.textContent.replace(/\\s+/g, ' '); }"""
HIDDEN = """main => [...main.querySelectorAll(':not(details, details *, [data-script] *)')]
    .filter(one => !one.matches('[data-script]') && one.textContent.trim())
    .filter(one => ['none', 'hidden'].includes(getComputedStyle(one).display)
        || getComputedStyle(one).visibility !== 'visible')
    .map(one => one.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_without_complaint_and_fits(
    browser: Browser, site: Site, name: str, look: Look
) -> None:
    for path in pages(site(name), most=8 if name == "every" else 2):
        with opened(browser, path, look) as one:
            assert one.sideways() == [], path.name
            one.unfold()
            assert one.sideways() == [], path.name
            assert one.complaints == [], path.name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["every", "conversation", "recorded"])
def test_nothing_keeps_anyone_from_reading(
    browser: Browser, site: Site, name: str, scheme: str
) -> None:
    look = Look(1280 if name != "every" else 390, "dark" if scheme == "dark" else "light")
    for path in pages(site(name), most=2):
        with opened(browser, path, look) as one:
            one.unfold()
            assert grave(one) == [], path.name


@pytest.mark.parametrize("name", NAMES)
def test_without_script_everything_is_there(browser: Browser, site: Site, name: str) -> None:
    for path in pages(site(name), most=2):
        with opened(browser, path) as one:
            told = one.page.locator("main").evaluate(TOLD)
        with opened(browser, path, PLAIN) as bare:
            assert bare.page.locator("main").evaluate(TOLD) == told
            assert bare.page.locator("main").evaluate(HIDDEN) == []
            assert bare.complaints == []


@pytest.mark.parametrize(
    ("name", "at", "says"),
    [
        pytest.param("every", 0, "could not be judged", id="index"),
        pytest.param("crowd", 0, "of 60 flows failed", id="many"),
        pytest.param("conversation", 1, "search_flights", id="flow"),
    ],
)
def test_it_prints(browser: Browser, site: Site, name: str, at: int, says: str) -> None:
    path = pages(site(name))[at]
    # Paper is light, whatever the screen is.
    with opened(browser, path, Look(scheme="dark")) as one:
        paper = PdfReader(io.BytesIO(one.page.pdf(format="A4", print_background=True)))
    texts = [" ".join(page.extract_text().split()) for page in paper.pages]
    assert texts
    assert says in " ".join(texts)
    assert all(texts), f"empty pages among {len(texts)}"
    assert "Run 20261130-090000-4f2a" in texts[0]
    for control in ("Open all long texts", "Close all long texts", "Show all", "Keys"):
        assert control not in " ".join(texts)
    assert all(text.startswith(f"{at} of {len(texts)} ") for at, text in enumerate(texts, 1))


def test_the_evidence_goes_on_over_pages(browser: Browser, site: Site) -> None:
    with opened(browser, site("crowd") / "index.html") as one:
        page = one.page
        page.emulate_media(media="print")
        groups = page.locator("#evidence .group")
        assert groups.count() > 4
        shown = "nodes => nodes.map(node => getComputedStyle(node).display)"
        assert set(groups.evaluate_all(shown)) == {"block"}
        page.emulate_media(media="screen")
        assert set(groups.evaluate_all(shown)) == {"grid"}


@pytest.mark.parametrize("width", [820, 1280], ids=["tablet", "desk"])
def test_a_long_word_of_an_owner_breaks_late(browser: Browser, site: Site, width: int) -> None:
    with opened(browser, site("wide") / "index.html", Look(width)) as one:
        owner = one.page.locator(".controls td").last
        assert owner.evaluate("node => node.getBoundingClientRect().width") >= 120
