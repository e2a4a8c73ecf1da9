"""docs/clients.md: which client was run in which version, and how. The tests beside this fill it.

Each heading of the page has one table, made of rows; all else on the page is written by hand. On a
machine that cannot run the clients of a heading, its table stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "clients.md"
_COLUMNS = ("client", "version", "API", "recorded → replayed", "a change that it was caught at")


@dataclass(frozen=True, slots=True)
class Row:
    """One client and one API, each cell as it is to be read."""

    client: str
    version: str
    api: str
    runs: str
    caught: str


def compare(heading: str, rows: Sequence[Row], page: Path = PAGE) -> None:
    """Fail unless the table below a heading of the page has exactly these rows.

    With FLOWPROOF_UPDATE_GOLDEN set the page is given them first; read the difference then.
    """
    now = page.read_text("utf-8")
    wanted = with_table(now, heading, rows)
    if os.environ.get("FLOWPROOF_UPDATE_GOLDEN"):
        page.write_text(wanted, "utf-8")
        now = wanted
    assert now == wanted


def with_table(page: str, heading: str, rows: Iterable[Row]) -> str:
    """The page with these rows as the table below a heading, and with nothing else changed.

    :raises LookupError: if the page has no such heading.
    """
    lines = page.splitlines()
    if f"## {heading}" not in lines:
        raise LookupError(f"the page has no heading {heading}")
    start = lines.index(f"## {heading}") + 1
    ends = [at for at in range(start, len(lines)) if lines[at].startswith("## ")]
    section = lines[start : ends[0] if ends else len(lines)]
    kept = [line for line in section if not line.startswith("|")]
    while kept and not kept[-1]:
        kept.pop()
    filled = [*lines[:start], *kept, "", *_table(rows), *([""] if ends else [])]
    return "\n".join([*filled, *lines[start + len(section) :]]) + "\n"


def _table(rows: Iterable[Row]) -> list[str]:
    cells = [_COLUMNS, ("---",) * len(_COLUMNS), *(astuple(row) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in cells]
