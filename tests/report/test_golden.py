"""Reports of one fixed run, compared byte by byte with committed files.

After a wanted change: FLOWPROOF_UPDATE_GOLDEN=1 python -m pytest tests/report/test_golden.py
and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowproof.report.console import finished, summary
from flowproof.report.html_assets import inlined
from flowproof.report.interface import REPORTS
from flowproof.report.write import Content
from tests.report.fixtures import sample_run

GOLDEN = Path(__file__).parent / "golden"


def place(kind: str, name: str) -> str:
    """Where the golden file of a report is: pages, of which there are many, have a folder."""
    return f"html/{name}" if kind == "html" else name


def plain(data: bytes) -> bytes:
    """A page without the style and script that every page holds: they are files themselves."""
    held = inlined()
    for long in (held.style, held.script, held.style_hash, held.script_hash):
        data = data.replace(long.encode(), "…".encode())
    return data


def compare(name: str, content: Content) -> None:
    text = content if isinstance(content, bytes | str) else "".join(content)
    data = plain(text.encode() if isinstance(text, str) else text)
    if os.environ.get("FLOWPROOF_UPDATE_GOLDEN"):
        (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
        (GOLDEN / name).write_bytes(data)
    assert data == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_report(kind: str) -> None:
    for name, content in REPORTS[kind](sample_run()):
        compare(place(kind, name), content)


def test_console() -> None:
    record = sample_run()
    lines = [finished(flow) for flow in record.flows]
    compare("console.txt", "\n".join([*lines, summary(record, ["reports/index.html"])]) + "\n")


def test_no_golden_file_is_left_over() -> None:
    made = {
        place(kind, name) for kind, report in REPORTS.items() for name, _ in report(sample_run())
    }
    found = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file()}
    assert found == made | {"console.txt"}
