"""How much of a long text a page shows, and how much all texts of a page may be together.

A page must open quickly, whatever an agent said: `html_conversation` and `html_flow` take all of
their texts from one `Room`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from flowproof.model.jsonvalue import JsonError, JsonValue, parse, write
from flowproof.report.text import bounded, one_line, readable

BODY_LIMIT = 200_000
"""Bytes of one text that are shown, half of them from its end."""
PAGE_LIMIT = 8_000_000
"""Bytes that all texts of a page take there; afterwards they are cut to their heads."""
FOLD_CHARACTERS, FOLD_LINES = 2_000, 20
"""What is longer is shown when asked for."""
HEAD = 300
"""Characters of a text that is cut for want of room."""
_PRETTY_TEXT, _PRETTY_PAGE = 100_000, 1_000_000
"""Characters of one JSON text, and of all of a page, that are spread over lines: it takes time."""
_ITEMS = 20_000
"""Texts and calls of a page. Each takes room by itself, however short it is."""
_WHERE = "; the run record has the whole text"

Look: TypeAlias = Literal["prose", "data"]


@dataclass(frozen=True, slots=True)
class Body:
    """A text as a page shows it: like prose, or as data in a fixed pitch. `folded` texts are
    shown when asked for; `size` says how long the whole is, `head` how it begins."""

    text: str
    look: Look
    folded: bool
    size: str
    head: str


class Room:
    """What is left of a page's room for text. Who asks first is served first."""

    def __init__(self, text: int = PAGE_LIMIT, items: int = _ITEMS) -> None:
        self._text = text
        self._items = items
        self._pretty = _PRETTY_PAGE

    def takes(self, items: int) -> bool:
        """Whether there is room for so many more things of any size; it is taken if there is."""
        if items > self._items:
            return False
        self._items -= items
        return True

    def prose(self, text: str) -> Body:
        """What somebody said."""
        return self._body(text, "prose")

    def plain(self, text: str) -> Body:
        """What a program wrote, as it stands."""
        return self._body(text, "data")

    def data(self, text: str) -> Body:
        """What a program wrote; a JSON object or list is spread over lines for reading."""
        if text[:100].lstrip()[:1] in ("{", "[") and self._may_spread(text):
            with suppress(JsonError):
                text = write(parse(text), indent=2)
        return self._body(text, "data")

    def json(self, value: JsonValue, text: str) -> Body:
        """A JSON value spread over lines; its own text while there is no room for that."""
        return self._body(write(value, indent=2) if self._may_spread(text) else text, "data")

    def _body(self, text: str, look: Look) -> Body:
        shown = bounded(readable(text), BODY_LIMIT, _WHERE)
        taken = _bytes(shown)
        if taken > self._text and len(text) > HEAD:
            more = len(text) - HEAD
            shown = f"{readable(text[:HEAD])}\n[… {more:,} characters more{_WHERE} …]"
            taken = _bytes(shown)
        self._text -= taken
        lines = text.count("\n") + 1
        folded = len(shown) > FOLD_CHARACTERS or shown.count("\n") >= FOLD_LINES
        if not folded:
            return Body(shown, look, False, "", "")
        size = f"{len(text):,} characters"
        if lines > 1:
            size += f", {lines:,} lines"
        return Body(shown, look, True, size, one_line(text, 90))

    def _may_spread(self, text: str) -> bool:
        if len(text) > min(_PRETTY_TEXT, self._pretty):
            return False
        self._pretty -= len(text)
        return True


def _bytes(text: str) -> int:
    """How many bytes a text takes in a page, where some characters are written as names."""
    named = sum(map(text.count, "&\"'"))
    return len(text.encode()) + 4 * named + 3 * (text.count("<") + text.count(">"))
