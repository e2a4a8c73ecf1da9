"""Compares the JUnit file of a run with its record, which tells neither its options nor in which
folder the files lay that it attaches on some CI services.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import unescape

from flowproof.files import read_regular
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report import junit, run_json
from flowproof.report.html_names import page_names
from flowproof.report.junit_case import nothing_attached
from flowproof.report.verify_files import (
    NEVER_SAID,
    Finding,
    Unchecked,
    cannot_be_shown,
    differing,
)

_ATTACHED = re.compile(r"\[\[ATTACHMENT\|([^\]\n]{1,4096})\]\]")
_LAST = re.compile(r"\n*(?:\[\[ATTACHMENT\|[^\]\n]{1,4096}\]\])?</system-out>")
_EMPTY = re.compile(r"\n *<system-out>\s*</system-out>")
_LARGEST = 64 << 20
_ROOTS = 4
_PIECE = 1 << 20
_DETAILS: tuple[junit.Detail, ...] = ("flow", "steps")
_ENDS = ("failure", "error", "skipped")
_HEADS = ("testsuites", "testsuite")
_COUNTS = ("tests", "failures", "errors", "skipped")


def junit_differs(record: RunRecord, digest: str, folder: Path) -> Finding | Unchecked | None:
    """What keeps the file from being the one that this flowproof makes of the record, if anything
    does; `digest` is its own."""
    path, name = folder / junit.FILE_NAME, junit.FILE_NAME
    text = _text(path)
    named = [unescape(one, {"&quot;": '"'}) for one in _ATTACHED.findall(text)]
    below = list(dict.fromkeys(_roots(named[0], record)))[:_ROOTS] if named else []
    attachments = [nothing_attached, *(_below(root, set(named), record) for root in below)]
    for detail in _DETAILS:
        for attached in attachments:
            made = junit.render(record, detail=detail, attached=attached)
            if not list(differing(made, {name: digest})):
                return None
    # A trace behind a link is called by where that leads, which the record does not tell.
    if named and any(_bare(_made(record, detail)) == _bare(text) for detail in _DETAILS):
        return Unchecked((name,), "it attaches files of which the record does not tell the place")
    return Finding(name, f"is not what {run_json.FILE_NAME} makes")


def junit_problems(record: RunRecord, folder: Path) -> Iterator[Finding]:
    """What the cases of the file, whichever flowproof wrote it, say against the record."""
    name = junit.FILE_NAME
    try:
        told = _cases(_pieces(folder / name))
        made = [_cases(_rendered(record, detail)) for detail in _DETAILS]
    except (ET.ParseError, OSError) as error:
        yield Finding(name, f"cannot be compared: {error}")
        return
    except NEVER_SAID as error:
        yield cannot_be_shown(name, error)
        return
    if told in made:
        return
    near = min(made, key=lambda cases: abs(len(cases) - len(told)))
    pairs = enumerate(zip_longest(told, near, fillvalue="nothing"))
    at, (says, makes) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
    where = f"case {at - 1}" if at > 1 else "its head"
    yield Finding(name, f'has "{says}" as {where}, and {run_json.FILE_NAME} makes "{makes}" of it')


def _text(path: Path) -> str:
    try:
        return (read_regular(path, _LARGEST) or b"").decode("utf-8", "replace")
    except OSError:
        return ""


def _bare(text: str) -> str:
    """A file without what it attaches at the end of each output."""
    return _EMPTY.sub("", _LAST.sub("</system-out>", text))


def _made(record: RunRecord, detail: junit.Detail) -> str:
    try:
        return "".join(_rendered(record, detail))
    except NEVER_SAID:
        return ""  # which `differing` told


def _rendered(record: RunRecord, detail: junit.Detail) -> Iterable[str]:
    return chain.from_iterable(pieces for _, pieces in junit.render(record, detail=detail))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(partial(file.read, _PIECE), b"")


def _cases(pieces: Iterable[str | bytes]) -> list[str]:
    """The numbers in the head of a file and of its suite, then each of its cases: its name and
    how it ended.

    :raises ParseError: if it is no XML, or defines some of its own.
    """
    target = _Cases()
    parser = ET.XMLParser(target=target)
    for piece in pieces:
        parser.feed(piece)
    parser.close()
    return target.found


class _Cases:
    """Takes from a file what `_cases` tells, while it is parsed."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._case: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if tag in _HEADS:
            self.found.append(" ".join(f"{key}={attributes.get(key)}" for key in _COUNTS))
        elif tag == "testcase":
            self._case = [attributes.get("classname", ""), attributes.get("name", "")]
        elif tag in _ENDS and self._case is not None:
            self._case.append(tag)

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag == "testcase" and self._case is not None:
            self.found.append(" ".join(self._case))
            self._case = None

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """A definition, of which a small one can stand for a text of any length."""
        raise ET.ParseError("it has a definition, and no report of ours has")

    def close(self) -> None:
        """Nothing is left to do."""


def _places(record: RunRecord) -> Iterator[tuple[FlowRecord, tuple[str, ...]]]:
    """The files that a CI service attaches to each flow: its page, or its trace."""
    for flow, page in zip(record.flows, page_names(record.flows), strict=True):
        yield flow, (page, flow.trace.path) if flow.trace else (page,)


def _roots(attached: str, record: RunRecord) -> Iterator[str]:
    """The folders in which an attached file is one of a flow."""
    for _, places in _places(record):
        yield from (attached.removesuffix(one) for one in places if attached.endswith(f"/{one}"))


def _below(root: str, named: set[str], record: RunRecord) -> Callable[[FlowRecord], str]:
    """Which of the files that are `named` a flow has, if all lie in one folder."""
    files = {
        (flow.id, flow.path): root + one
        for flow, places in _places(record)
        for one in places
        if root + one in named
    }
    return lambda flow: files.get((flow.id, flow.path), "")
