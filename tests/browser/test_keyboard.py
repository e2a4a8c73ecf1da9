"""A report in the hands of somebody who uses no pointer, and its search and filters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import pages
from tests.browser.opened import Look, opened

Site = Callable[[str], Path]

SHOWN = "table.flows tbody tr:not([hidden])"
# What Tab should stop at: all that can be used and is laid out, once per group of radio buttons.
STOPS = """() => [...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter(one => !one.disabled && one.tabIndex >= 0 && one.checkVisibility(
        {visibilityProperty: true, contentVisibilityAuto: false}))
    .map((one, at) => { one.dataset.stop = at; return one.outerHTML.slice(0, 120); })"""
FOCUSED = """() => {
    const one = document.activeElement, style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    const inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight;
    return [one.dataset.stop ?? '', outlined && inside];
}"""


def shown(page: Page) -> int:
    return page.locator(SHOWN).count()


def test_slash_searches_and_escape_leaves(browser: Browser, site: Site) -> None:
    with opened(browser, site("every") / "index.html") as one:
        page = one.page
        every = shown(page)
        page.keyboard.press("/")
        expect(page.locator("#search")).to_be_focused()
        page.keyboard.type("refund")
        said = page.get_by_role("status")
        expect(said).to_have_text(f"1 of {every} flows shown")
        assert shown(page) == 1
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.type("no flow is called that")
        expect(said).to_have_text(f"0 of {every} flows shown")
        page.keyboard.press("Escape")  # empties it, as browsers do
        expect(said).to_have_text(f"{every} flows")
        page.keyboard.press("Escape")
        expect(page.locator("#search")).not_to_be_focused()
        assert one.complaints == []


def test_keys_walk_along_the_flows_and_open_one(browser: Browser, site: Site) -> None:
    with opened(browser, site("every") / "index.html") as one:
        page = one.page
        links = page.locator(f"{SHOWN} td a:first-child")
        page.keyboard.press("j")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(links.nth(2)).to_be_focused()
        page.keyboard.press("k")
        expect(links.nth(1)).to_be_focused()
        name = links.nth(1).inner_text()
        page.keyboard.press("Enter")
        page.wait_for_url("**/flows/*.html")
        expect(page.locator("h1")).to_contain_text(name)
        page.keyboard.press("u")
        page.wait_for_url("**/index.html*")
        assert one.complaints == []


def test_a_search_leads_on_to_its_first_flow(browser: Browser, site: Site) -> None:
    with opened(browser, site("every") / "index.html") as one:
        one.page.keyboard.press("/")
        one.page.keyboard.type("refund")
        one.page.keyboard.press("Enter")
        expect(one.page.locator(f"{SHOWN} td a:first-child").first).to_be_focused()
        assert one.complaints == []


def test_keys_go_from_flow_to_flow(browser: Browser, site: Site) -> None:
    folder = site("every")
    with opened(browser, folder / "index.html") as one:
        page = one.page
        page.locator(f"{SHOWN} td a:first-child").first.click()
        first = page.url
        going = page.locator("a[rel~=next]").first
        if going.count() == 0:
            page.keyboard.press("p")
            page.wait_for_function(f"location.href !== {first!r}")
            first = page.url
        page.keyboard.press("n")
        page.wait_for_function(f"location.href !== {first!r}")
        second = page.url
        page.keyboard.press("p")
        page.wait_for_function(f"location.href !== {second!r}")
        assert urlsplit(page.url).path == urlsplit(first).path
        assert one.complaints == []


@pytest.mark.parametrize("at", [0, 1], ids=["index", "flow"])
def test_a_question_mark_tells_the_keys(browser: Browser, site: Site, at: int) -> None:
    with opened(browser, pages(site("every"))[at]) as one:
        page = one.page
        keys = page.get_by_role("dialog", name="Keys")
        expect(keys).to_be_hidden()
        page.keyboard.press("?")
        expect(keys).to_be_visible()
        page.keyboard.press("j")  # does nothing behind a dialog
        assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
        page.keyboard.press("Escape")
        expect(keys).to_be_hidden()
        assert one.complaints == []


def test_single_keys_can_be_switched_off(browser: Browser, site: Site) -> None:
    with opened(browser, site("every") / "index.html") as one:
        page = one.page
        page.keyboard.press("?")
        page.get_by_role("checkbox").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.locator("#search")).not_to_be_focused()


def test_filters_say_whether_they_are_pressed(browser: Browser, site: Site) -> None:
    with opened(browser, site("every") / "index.html") as one:
        page = one.page
        every = shown(page)
        choice = page.get_by_role("button", name="fail", exact=False, pressed=False).first
        choice.focus()
        page.keyboard.press("Space")
        pressed = page.get_by_role("button", pressed=True)
        expect(pressed).to_have_count(1)
        expect(page.get_by_role("status")).to_have_text(f"1 of {every} flows shown")
        verdicts = page.locator(f"{SHOWN} .chip").all_inner_texts()
        assert [text.split()[-1] for text in verdicts] == ["fail"]
        page.get_by_role("button", name="Show all").click()
        expect(pressed).to_have_count(0)
        assert shown(page) == every
        assert one.complaints == []


def test_warnings_are_a_filter_of_their_own(browser: Browser, site: Site) -> None:
    index = site("every") / "index.html"
    with opened(browser, index) as one:
        page = one.page
        every = shown(page)
        page.get_by_role("button", name="with warnings").click()
        expect(page.get_by_role("status")).to_have_text(f"2 of {every} flows shown")
        page.locator(".choice[data-verdict=fail]").click()
        expect(page.get_by_role("status")).to_have_text(f"1 of {every} flows shown")
        fragment = f"#{urlsplit(page.url).fragment}"
        page.get_by_role("button", name="Show all").click()
        assert shown(page) == every
        assert one.complaints == []
    with opened(browser, index, fragment=fragment) as one:
        expect(one.page.get_by_role("status")).to_have_text(f"1 of {every} flows shown")


@pytest.mark.parametrize(
    ("record", "at"), [("every", 0), ("conversation", 2)], ids=["index", "flow"]
)
def test_a_key_opens_and_closes_all_that_folds(
    browser: Browser, site: Site, record: str, at: int
) -> None:
    with opened(browser, pages(site(record))[at]) as one:
        page = one.page
        folds, open_ones = page.locator("main details"), page.locator("main details[open]")
        total = folds.count()
        assert total > 1 or (at == 0 and total == 1)
        page.keyboard.press("e")
        expect(open_ones).to_have_count(total)
        buttons = page.locator("[data-fold]:visible")
        assert all(text.startswith("Close") for text in buttons.all_inner_texts())
        page.keyboard.press("e")
        expect(open_ones).to_have_count(0)
        assert all(text.startswith("Open") for text in buttons.all_inner_texts())
        if at:
            buttons.first.click()  # one section only
            assert 0 < open_ones.count() < total
        assert one.complaints == []


def test_what_is_shown_can_be_shared(browser: Browser, site: Site) -> None:
    index = site("crowd") / "index.html"
    with opened(browser, index) as one:
        page = one.page
        page.locator(".choice[data-verdict=fail]").click()
        page.locator("th[data-sort=time] button").click()
        page.keyboard.press("/")
        page.keyboard.type("place")
        expect(page.get_by_role("status")).to_contain_text("of 60 flows shown")
        fragment = f"#{urlsplit(page.url).fragment}"
        order = page.locator(f"{SHOWN} td.name").all_inner_texts()
        assert one.complaints == []
    with opened(browser, index, fragment=fragment) as one:
        assert one.page.locator(f"{SHOWN} td.name").all_inner_texts() == order
        assert 0 < len(order) < 60


def test_columns_sort_and_say_so(browser: Browser, site: Site) -> None:
    with opened(browser, site("crowd") / "index.html") as one:
        page = one.page
        head = page.locator("th[data-sort=time]")
        first = page.locator(f"{SHOWN} td.name").first
        as_run = first.inner_text()
        times = f"{SHOWN} .number[data-value]"
        read = "cells => cells.map(cell => Number(cell.dataset.value))"
        for direction, reverse in (("descending", True), ("ascending", False)):
            head.get_by_role("button").click()
            assert head.get_attribute("aria-sort") == direction
            found = page.locator(times).evaluate_all(read)
            assert found == sorted(found, reverse=reverse)
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") is None
        assert first.inner_text() == as_run


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", [0, 1], ids=["index", "flow"])
def test_tab_stops_at_everything_and_the_focus_is_seen(
    browser: Browser, site: Site, at: int, scheme: str
) -> None:
    look = Look(1280, "dark" if scheme == "dark" else "light")
    with opened(browser, pages(site("every"))[at], look) as one:
        page = one.page
        stops: list[str] = page.evaluate(STOPS)
        unseen, reached = [], set()
        for _ in range(len(stops) + 20):
            page.keyboard.press("Tab")
            stop, visible = page.evaluate(FOCUSED)
            if stop in reached:
                break
            reached.add(stop)
            if stop and not visible:
                unseen.append(stops[int(stop)])
        assert unseen == []
        assert [html for number, html in enumerate(stops) if str(number) not in reached] == []
        assert len(stops) > 5


def test_a_link_into_a_fold_opens_it(browser: Browser, site: Site) -> None:
    [page, *_] = [
        path for path in pages(site("conversation")) if "turn-27" in path.read_text("utf-8")
    ]
    with opened(browser, page, fragment="#turn-27") as one:
        turn = one.page.locator("#turn-27")
        expect(turn).to_be_visible()
        expect(turn).to_be_in_viewport()
        assert one.complaints == []
