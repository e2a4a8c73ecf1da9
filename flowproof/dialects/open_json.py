"""Where a JSON object or list in a text ends, followed piece by piece.

`merging` asks it whether more of a text can belong to the value that it began.
"""

from __future__ import annotations

import re

_MARK = re.compile(r'["{}\[\]]|\\.?', re.DOTALL)


class OpenJson:
    """How many objects and lists of a text are still open; each piece is looked at once."""

    __slots__ = ("_begun", "_depth", "_escaped", "_quoted")

    def __init__(self) -> None:
        self._begun = False
        self._depth = 0
        self._quoted = False
        self._escaped = False

    @property
    def ended(self) -> bool:
        """Whether an object or list began, and all that began have ended."""
        return self._begun and self._depth <= 0 and not self._quoted

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        at = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        for mark in _MARK.finditer(text, at):
            found = mark[0]
            if found == '"':
                self._quoted = not self._quoted
            elif found[0] == "\\":
                self._escaped = len(found) == 1
            elif not self._quoted:
                self._begun = True
                self._depth += 1 if found in "{[" else -1
