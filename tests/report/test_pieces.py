"""Reports of many flows are made flow by flow, so that they need no more memory than few do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.errors import WorldError
from flowproof.model.run_record import RunRecord
from flowproof.report.interface import REPORTS
from flowproof.report.write import write_files
from tests.report.fixtures import diverged, flow_record, run_of


def pieces(kind: str, record: RunRecord) -> Iterator[str]:
    """Of every file of a report."""
    for _, content in REPORTS[kind](record):
        yield from [str(content)] if isinstance(content, bytes | str) else content


def longest_piece(kind: str, flows: int) -> int:
    """Of a run of so many flows, whose names are of one length."""
    named = (replace(diverged(), name=f"flow {number:04}") for number in range(flows))
    return max(map(len, pieces(kind, run_of(*named))))


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_no_piece_grows_with_the_number_of_flows(kind: str) -> None:
    # The name of a page gets longer where others have it already, and stands in the page.
    room = 250
    if kind == "evidence":
        room += 200 * 60  # the statement has a list of all names
    assert longest_piece(kind, 200) <= longest_piece(kind, 2) + room


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_all_flows_are_in_the_pieces(kind: str) -> None:
    names = [f"flow {number:04}" for number in range(50)]
    text = "".join(pieces(kind, run_of(*(flow_record(name=name) for name in names))))
    assert [name for name in names if name not in text] == []


def test_a_report_that_breaks_off_leaves_the_old_one(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "new"
        raise OSError(28, "No space left on device")

    write_files(tmp_path, [("a.txt", iter(["old", " ä"]))])
    with pytest.raises(WorldError, match="No space left"):
        write_files(tmp_path, [("a.txt", broken())])
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text("utf-8") == "old ä"
