"""What the other tests of this folder rely on: each thing that a page must not do is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.axe import grave
from tests.browser.opened import Look, opened

PAGE = "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>{}</main></html>"
POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; script-src 'unsafe-inline'\">"
)


def write(folder: Path, body: str) -> Path:
    page = folder / "index.html"
    page.write_text(PAGE.format(body), "utf-8")
    return page


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        pytest.param("<script>throw Error('broken')</script>", "script error: broken", id="error"),
        pytest.param("<script>console.error('said')</script>", "console error: said", id="console"),
        pytest.param("<script>alert('hello')</script>", "dialog: hello", id="dialog"),
        pytest.param("<script src=other.js></script>", "/other.js", id="request"),
        pytest.param("<img src='https://pictures.invalid/x.png'>", "pictures.invalid", id="remote"),
        pytest.param(f"{POLICY}<p style='color: red'>", "Content Security Policy", id="style"),
        pytest.param(f"{POLICY}<script>eval('1')</script>", "Content Security Policy", id="eval"),
        pytest.param(
            f"{POLICY}<script>fetch('https://x.invalid').catch(() => 0)</script>",
            "Content Security Policy",
            id="fetch",
        ),
    ],
)
def test_a_page_that_misbehaves_is_noticed(
    browser: Browser, tmp_path: Path, body: str, complaint: str
) -> None:
    with opened(browser, write(tmp_path, body)) as one:
        one.page.wait_for_timeout(50)
        assert any(complaint in found for found in one.complaints), one.complaints


def test_a_page_that_is_wider_than_its_window_is_noticed(browser: Browser, tmp_path: Path) -> None:
    page = write(tmp_path, f"<p class=long>{'word' * 20}</p>")
    with opened(browser, page, Look(1280)) as one:
        assert one.sideways() == []
    with opened(browser, page, Look(390)) as one:
        wider, what, *_ = one.sideways()
        assert wider.endswith("px wider than the window")
        assert what.startswith("p.long: wordword")


def test_grave_obstacles_are_named(browser: Browser, tmp_path: Path) -> None:
    guilty = write(tmp_path, "<p style='color: #bbb; background: #fff'>pale</p><input>")
    with opened(browser, guilty) as one:
        rules = {text.partition(":")[0] for text in grave(one)}
        assert rules == {"color-contrast", "label"}


def test_an_innocent_page_is_left_alone(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, write(tmp_path, "<p>Fine.</p><a href='flows/a.html'>A flow</a>")) as one:
        assert (one.complaints, one.sideways(), grave(one)) == ([], [], [])


def test_in_ci_a_browser_must_be_there() -> None:
    assert chromium.must_be_there({"CI": "true"})
    assert not chromium.must_be_there({})
