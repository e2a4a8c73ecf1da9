"""Records out to do harm, opened: nothing runs, nothing is fetched, and the layout holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from flowproof.report import html
from flowproof.report.write import write_files
from tests.browser.conftest import pages
from tests.browser.opened import Look, Opened, opened
from tests.browser.poison import MARK, POISONS, poisoned
from tests.browser.records import every
from tests.report.hostile import hostile_run

Reports = Callable[[str], Path]

ATTRIBUTES = """() => [...document.querySelectorAll('*')].flatMap(one => [...one.attributes]
    .filter(({name, value}) => name.startsWith('on') || name === 'style' || name === 'src'
        || (/^(href|xlink:href|action|formaction)$/.test(name)
            && !/^(#|https?:\\/\\/|(\\.\\.\\/)?(flows\\/)?[\\w.-]+\\.html(#|$))/.test(value)))
    .map(({name, value}) => `${one.tagName} ${name}=${value.slice(0, 80)}`))"""
# A page's own drawings are svg; all else of this list could only come from outside.
FOREIGN = "script, img, iframe, object, embed, audio, video, foreignObject, animate, link, base"


def own_elements(one: Opened) -> tuple[int, list[str]]:
    """How many elements could load or run something, and attributes that could."""
    count = one.page.locator(FOREIGN).count()
    return count, one.page.evaluate(ATTRIBUTES)


@pytest.fixture(scope="package")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Writes the pages of a record with one poison in every text, once."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            record = hostile_run() if name == "agent" else poisoned(every(), POISONS[name])
            made[name] = tmp_path_factory.mktemp(name)
            write_files(made[name], html.render(record))
        return made[name]

    return of


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("poison", [*POISONS, "agent"])
def test_nothing_runs_and_the_layout_holds(
    browser: Browser, reports: Reports, poison: str, width: int
) -> None:
    index, *flows = pages(reports(poison))
    for path in (index, *flows[:2]):
        with opened(browser, path, Look(width)) as one:
            one.unfold()
            # The policy, the title and the style are our own; so is the one script at the end.
            assert own_elements(one) == (1, []), path.name
            assert one.sideways() == [], path.name
            assert one.page.evaluate(f"typeof {MARK}") == "undefined"
            assert one.page.title()
            assert one.complaints == [], path.name


@pytest.mark.parametrize("poison", [*POISONS, "agent"])
def test_using_a_page_runs_nothing_either(browser: Browser, reports: Reports, poison: str) -> None:
    with opened(browser, reports(poison) / "index.html") as one:
        page = one.page
        for key in ("/", "a", "Escape", "Escape", "j", "k", "?", "Escape"):
            page.keyboard.press(key)
        for choice in page.locator(".choice:visible").all()[:6]:
            choice.click()
        for head in page.locator("th[data-sort] button").all():
            head.click()
        page.reload()  # with its state in the address
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.locator("table.flows tbody a").first.evaluate("one => one.click()")
        page.wait_for_url("**/flows/*.html")
        for key in ("j", "e", "j", "o"):
            page.keyboard.press(key)
        for button in page.locator("[data-copy]").all()[:5]:
            button.evaluate("one => one.click()")
        assert page.evaluate(f"typeof {MARK}") == "undefined"
        assert page.locator(FOREIGN).count() == 1
        assert [one for one in one.complaints if "clipboard" not in one] == []


@pytest.mark.parametrize(
    ("poison", "shown"),
    [
        pytest.param("markup", POISONS["markup"], id="markup"),
        pytest.param("template", POISONS["template"], id="template"),
        pytest.param("broken", "\ufffd \ufffd", id="broken"),
        pytest.param("bidi", "⟨U+202E⟩gnp.exe⟨U+2066⟩", id="bidi"),
        pytest.param("terminal", "␛[2J", id="terminal"),
    ],
)
def test_what_is_hostile_is_shown_as_it_is(
    browser: Browser, reports: Reports, poison: str, shown: str
) -> None:
    for path in pages(reports(poison))[:2]:
        with opened(browser, path, Look(script=False)) as one:
            assert shown in (one.page.locator("body").text_content() or ""), path.name
