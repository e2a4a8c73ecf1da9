"""Links between the pages of a report lead somewhere, and there is a way back from everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.records import RECORDS

OUTSIDE = ("https://git.example/", "https://ci.example/")
"""Where records of these tests say that they come from."""


@dataclass
class Links(HTMLParser):
    """The ids of a page and what its links say."""

    ids: set[str] = field(default_factory=set)
    hrefs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if given := known.get("id"):
            self.ids.add(given)
        if "href" in known:
            self.hrefs.append(known["href"] or "")


def read(folder: Path) -> dict[Path, Links]:
    """Every page below a folder."""
    found = {}
    for path in sorted(folder.rglob("*.html")):
        found[path.resolve()] = links = Links()
        links.feed(path.read_text("utf-8"))
    return found


def dead(folder: Path) -> list[str]:
    """Links that lead to no page, or to no place in it, or out of the report."""
    known, found = read(folder), []
    for path, links in known.items():
        for href in links.hrefs:
            if href.startswith(OUTSIDE):
                continue
            parts = urlsplit(href)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            page = known.get(target)
            file = not parts.scheme and not parts.netloc and page is not None
            if not file or (page and fragment and fragment not in page.ids):
                found.append(f"{path.name}: {href}")
    return found


def reached(known: Mapping[Path, Links], start: Path) -> set[Path]:
    """The pages that links lead to from a page, step by step."""
    todo, seen = [start.resolve()], set[Path]()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        todo += [
            target
            for href in known[path].hrefs
            if not urlsplit(href).scheme and (file := urlsplit(href).path)
            if (target := (path.parent / unquote(file)).resolve()) in known
        ]
    return seen


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        "<p id=here><a href='#here'></a><a href='#nowhere'></a><a href='a.html#there'></a>"
        "<a href='b.html'></a><a href='javascript:1'></a><a href='//host/x'></a>"
        f"<a href='{OUTSIDE[0]}'></a>",
        "utf-8",
    )
    (tmp_path / "a.html").write_text("<p id=there>", "utf-8")
    assert dead(tmp_path) == [
        f"index.html: {href}" for href in ("#nowhere", "b.html", "javascript:1", "//host/x")
    ]
    known = read(tmp_path)
    assert len(reached(known, tmp_path / "index.html")) == 2
    assert len(reached(known, tmp_path / "a.html")) == 1


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_link_leads_somewhere(site: Callable[[str], Path], name: str) -> None:
    assert dead(site(name)) == []


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_page_is_reached_from_every_page(site: Callable[[str], Path], name: str) -> None:
    folder = site(name)
    known = read(folder)
    assert len(known) == 1 + len(RECORDS[name]().flows)
    for path in (folder / "index.html", *sorted(known)[:3]):
        assert reached(known, path) == known.keys()
