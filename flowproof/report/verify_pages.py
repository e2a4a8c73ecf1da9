"""Compares the pages of a run with its record as far as any flowproof can: which there are, of
which run and flow they say that they are, and how that ended.

`html_seal` says it in each page; `verify_reports` compares whole pages where this flowproof wrote
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path

from flowproof.model.run_record import RunRecord
from flowproof.report import run_json
from flowproof.report.html_names import FOLDER, INDEX, PAGE_MARK, PageNames, page_file, page_names
from flowproof.report.html_seal import FLOW, HEAD, RUN, flow_seal, run_seal, sealed_as
from flowproof.report.text import one_line
from flowproof.report.verify_files import MISSING, Finding, Unchecked
from flowproof.report.words import RUN_MARKS, headline, run_tone

_ENDINGS = (".html", ".htm", ".xhtml")
_TITLE = re.compile(r"<h1[^>]{0,200}>(.{0,4000}?)</h1>", re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,200}>")
_BEGINNING = 1 << 20


def is_page(name: str) -> bool:
    """Whether a file looks like the page of a flow to who opens the folder."""
    return name.startswith(f"{FOLDER}/") and looks_like_html(name)


def looks_like_html(name: str) -> bool:
    """Whether a browser shows a file as a page, by its name."""
    return name.casefold().endswith(_ENDINGS)


def foreign(record: RunRecord, found: Iterable[str], folder: Path) -> Iterator[Finding]:
    """Pages that are of no flow of the record: whatever lies where they are, and elsewhere what
    says of itself that flowproof made it."""
    ours = {INDEX, *page_names(record.flows)}
    for name in sorted(found):
        if name in ours or not looks_like_html(name):
            continue
        if is_page(name) or PAGE_MARK in _beginning(folder / name, HEAD):
            yield Finding(name, f"is a page that {run_json.FILE_NAME} does not make")


def page_problems(record: RunRecord, found: Mapping[str, str], folder: Path) -> Iterator[Finding]:
    """What the pages that are there, or are not, say against the record."""
    if INDEX not in found and not any(map(is_page, found)):
        return
    seal, names = run_seal(record), PageNames()
    if INDEX not in found:
        yield Finding(INDEX, MISSING)
    else:
        head = _beginning(folder / INDEX, HEAD)
        yield from _said(INDEX, sealed_as(head, RUN), seal)
    for flow in record.flows:
        page = names.page(flow.path)
        name = page_file(page)
        if name not in found:
            yield Finding(name, MISSING)
            continue
        head = _beginning(folder / name, HEAD)
        of_run = list(_said(name, sealed_as(head, RUN), seal))
        yield from of_run or _said(name, sealed_as(head, FLOW), flow_seal(page, flow))


def other_words(record: RunRecord, found: Mapping[str, str], folder: Path) -> Iterator[Unchecked]:
    """The first sentence of the index, if it is not the one that this flowproof writes."""
    if INDEX not in found:
        return
    title = _TITLE.search(_beginning(folder / INDEX, _BEGINNING))
    says = " ".join(unescape(_TAG.sub("", title[1])).split()) if title else "nothing"
    result = headline(record)
    if says != f"{RUN_MARKS[run_tone(record)]} {result}.":
        why = f'it begins with "{one_line(says, 200)}", where this flowproof writes "{result}."'
        yield Unchecked((INDEX,), why)


def _said(name: str, told: str | None, made: str) -> Iterator[Finding]:
    if told is None:
        yield Finding(name, f"does not say of which run it is, and {run_json.FILE_NAME} is one")
    elif told != made:
        shown = one_line(told, 200)
        yield Finding(name, f'says "{shown}", and {run_json.FILE_NAME} makes "{made}" of it')


def _beginning(path: Path, size: int) -> str:
    """How a file begins that was compared before, so it is a regular one."""
    try:
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
