"""Reports of one fixed run, compared byte by byte with committed files.

After a wanted change: FLOWPROOF_UPDATE_GOLDEN=1 python -m pytest tests/report/test_golden.py
and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowproof.report.console import finished, summary
from flowproof.report.interface import REPORTS
from flowproof.report.write import Content
from tests.report.fixtures import sample_run

GOLDEN = Path(__file__).parent / "golden"


def compare(name: str, content: Content) -> None:
    text = content if isinstance(content, bytes | str) else "".join(content)
    data = text.encode() if isinstance(text, str) else text
    if os.environ.get("FLOWPROOF_UPDATE_GOLDEN"):
        (GOLDEN / name).write_bytes(data)
    assert data == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_report(kind: str) -> None:
    for name, content in REPORTS[kind](sample_run()):
        compare(name, content)


def test_console() -> None:
    record = sample_run()
    lines = [finished(flow) for flow in record.flows]
    compare("console.txt", "\n".join([*lines, summary(record, ["reports/index.html"])]) + "\n")


def test_no_golden_file_is_left_over() -> None:
    made = {name for report in REPORTS.values() for name, _ in report(sample_run())}
    assert {path.name for path in GOLDEN.iterdir()} == made | {"console.txt"}
