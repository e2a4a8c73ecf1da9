"""Reads pages as a strict parser does: every element, every text, and nothing left open."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from flowproof.model.run_record import RunRecord
from flowproof.report.html import render

VOID = {"meta", "img", "br", "hr", "link", "input"}
HIDDEN = {"style", "script"}


class Page(HTMLParser):
    """Every element of a page and its text; fails on an end tag that closes nothing."""

    def __init__(self, source: str) -> None:
        super().__init__()
        source.encode()
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        # By element; what is to be read also in its order.
        self.text: dict[str, list[str]] = {}
        self.said: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        tag = self.open[-1] if self.open else ""
        self.text.setdefault(tag, []).append(data)
        if tag not in HIDDEN:
            self.said.append(data)

    def words(self) -> str:
        """All text that is to be read, with blanks folded."""
        return " ".join(" ".join(self.said).split())

    def body(self) -> str:
        """The source between the style and the script of the page."""
        return self.source.partition("</style>")[2].rpartition("<script>")[0]

    def ids(self) -> list[str]:
        """All ids, in order."""
        return [attrs["id"] or "" for _, attrs in self.elements if "id" in attrs]

    def links(self) -> Iterator[str]:
        """Where all links go."""
        return (attrs["href"] or "" for _, attrs in self.elements if "href" in attrs)

    def section(self, id: str) -> str:
        """The source from the element with this id to the next section."""
        return self.source.partition(f'id="{id}"')[2].partition('<section id="')[0]


def sources(record: RunRecord) -> dict[str, str]:
    """The text of every page of a run, by name."""
    return {name: _text(content) for name, content in render(record)}


def pages(record: RunRecord) -> dict[str, Page]:
    """Every page of a run, by name."""
    return {name: Page(source) for name, source in sources(record).items()}


def index(record: RunRecord) -> Page:
    """The index of a run."""
    return Page(sources(record)["index.html"])


def _text(content: object) -> str:
    assert not isinstance(content, bytes)
    return content if isinstance(content, str) else "".join(content)  # type: ignore[arg-type]
