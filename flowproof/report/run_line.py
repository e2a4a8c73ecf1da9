"""One line that says of which run a report is, for whoever did not name one."""

from __future__ import annotations

from pathlib import Path

from flowproof.model.jsonvalue import JsonError, parse
from flowproof.model.run_record import RunRecord
from flowproof.report.html_facts import moment
from flowproof.report.run_json import SCHEMA
from flowproof.report.text import one_line
from flowproof.report.words import counts_line

_HEAD = 64 * 1024
_LONGEST = 100


def run_line(record: RunRecord) -> str:
    """Which run, when it started, and how its flows ended."""
    return _line(record.id, record.started, counts_line(record))


def run_line_of(path: Path) -> str:
    """The same of the run record in a file, of which only the beginning is read: it may be large.
    Empty if that is none."""
    try:
        with path.open("rb") as file:
            head, found, _ = file.read(_HEAD).partition(b'\n  "flows": [')
        value = parse(head.rstrip().removesuffix(b",") + b"}") if found else None
    except (OSError, JsonError):
        return ""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        return ""
    id, started, counts = value.get("id"), value.get("started"), value.get("counts")
    if not isinstance(id, str) or not isinstance(started, str) or not isinstance(counts, dict):
        return ""
    flows = counts.get("flows")
    if not isinstance(flows, int):
        return ""
    parts = [f"{n} {verdict}" for verdict, n in counts.items() if n and verdict != "flows"]
    told = "1 flow" if flows == 1 else f"{flows} flows"
    return _line(id, started, f"{told}: {', '.join(parts)}" if parts else told)


def _line(id: str, started: str, counts: str) -> str:
    when = one_line(moment(started), _LONGEST)
    return f"report of run {one_line(id, _LONGEST)}, started {when}, {one_line(counts)}"
