"""What verifying finds, and the comparison of files that are there with those that a renderer
makes. All parts of `verify` are built on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import ParseError

from flowproof.errors import CountsDiffer
from flowproof.report import run_json
from flowproof.report.write import Content, Files

MISSING = "is missing, or not listed"
NEVER_SAID = (CountsDiffer, ValueError, OverflowError, LookupError, ParseError)
"""What renderers raise over a record that no run ever wrote: it is for none of them to expect."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A file with what is wrong with it, as the rest of a sentence."""

    file: str
    problem: str


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Files of which nobody could say whether they are what they should be, and why, as a
    sentence."""

    files: tuple[str, ...]
    why: str


def differing(files: Files, found: Mapping[str, str]) -> Iterator[Finding]:
    """What is not as it is made; `found` has the digests of the files that are there, by name."""
    waiting = iter(files)
    while True:
        name = ""
        try:
            made = next(waiting, None)
            if made is None:
                return
            name, content = made
            same = _digest(content) == found.get(name)
        except NEVER_SAID as error:
            yield cannot_be_shown(name or run_json.FILE_NAME, error)
            return
        if name not in found:
            yield Finding(name, MISSING)
        elif not same:
            yield Finding(name, f"is not what {run_json.FILE_NAME} makes")


def cannot_be_shown(name: str, error: Exception) -> Finding:
    """A file that cannot be made of the record."""
    return Finding(name, f"cannot be shown, {type(error).__name__}: {error}")


def _digest(content: Content) -> str:
    seen = hashlib.sha256()
    for piece in [content] if isinstance(content, bytes | str) else content:
        seen.update(piece if isinstance(piece, bytes) else piece.encode())
    return seen.hexdigest()
