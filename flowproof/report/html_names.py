"""How the pages of flows are called, and where in the index their rows are.

Pure, and the same for every reader of one record: `html` writes the pages, and whoever links to one
asks here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowproof.model.run_record import FlowRecord

INDEX = "index.html"
FOLDER = "flows"
"""Where the pages of flows are, beside the index."""
PAGE_MARK = '<meta name="generator" content="flowproof'
"""What every page holds in its first 2 KiB."""
LIMIT = 120
"""How many characters the name of a page has at most, without `.html`."""

_ENDING = ".flow.yaml"
_OTHER = re.compile("[^A-Za-z0-9._-]+")


class PageNames:
    """Gives each flow of a run the name of its page, in the order of the run.

    Names are of ASCII letters, digits, `.`, `_` and `-`, and differ also for file systems that do
    not tell case apart.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def page(self, path: str) -> str:
        """A name that no flow before has: that of its file, numbered from the second on."""
        stem = _stem(path)
        key = stem.lower()
        name, number = stem, self._last.get(key, 1)
        while name.lower() in self._taken:
            number += 1
            name = f"{stem[: LIMIT - len(str(number)) - 1]}-{number}"
        self._last[key] = number
        self._taken.add(name.lower())
        return name


def _stem(path: str) -> str:
    plain = path.removeprefix("./").removesuffix(_ENDING).replace("/", ".")
    # A page that starts with a dot would be hidden, one that starts with a dash looks like an
    # option to whoever names it on a command line.
    return _OTHER.sub("-", plain[: 2 * LIMIT]).lstrip(".-")[:LIMIT] or "flow"


def page_names(flows: Iterable[FlowRecord]) -> Iterator[str]:
    """For each flow of a run, in its order, the name of its page below the reports folder."""
    names = PageNames()
    return (page_file(names.page(flow.path)) for flow in flows)


def page_file(page: str) -> str:
    """The file of a page, relative to the reports folder."""
    return f"{FOLDER}/{page}.html"


def row_anchor(page: str) -> str:
    """Where in the index the row of the flow with this page is."""
    return f"flow-{page}"
