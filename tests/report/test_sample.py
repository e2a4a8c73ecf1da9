"""`reports/sample/`: the report of a real run of the examples, with made-up times, byte for byte.

After a wanted change: FLOWPROOF_UPDATE_GOLDEN=1 python -m pytest tests/report/test_sample.py
and look at the pages before committing them.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from flowproof.cli.reporting import KINDS, Reporting, write_reports
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.run_json import load
from tests.examples.tools import copy_examples, flowproof
from tests.support.frozen import frozen

SAMPLE = Path(__file__).parents[2] / "reports" / "sample"


def run_examples(folder: Path) -> RunRecord:
    """The record of the examples, run as `make demo` runs them."""
    copy_examples(folder)
    ran = flowproof(folder, "suite", "run", "examples", "--report", "json")
    assert ran.code == 0, ran.said
    return load((folder / "reports" / "run.json").read_text("utf-8"))


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return run_examples(tmp_path_factory.mktemp("examples"))


def test_the_sample_is_what_the_examples_give_today(record: RunRecord, tmp_path: Path) -> None:
    made = tmp_path / "sample"
    write_reports(Reporting(dict.fromkeys(KINDS, made)), frozen(record), tmp_path, {})
    if os.environ.get("FLOWPROOF_UPDATE_GOLDEN"):
        shutil.rmtree(SAMPLE, ignore_errors=True)
        shutil.copytree(made, SAMPLE)
    new, old = content(made), content(SAMPLE)
    differ = sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))
    assert differ == []


def test_what_differs_from_run_to_run_is_frozen(record: RunRecord) -> None:
    later = replace(
        record,
        id="another",
        started="2027-01-01T00:00:00Z",
        duration=99.5,
        python="3.14.1",
        platform="darwin-arm64",
        host="elsewhere",
        origin=None,
        source=None,
        slots=7,
        flows=tuple(
            replace(
                flow,
                started="2027-01-01T00:00:01Z",
                duration=flow.duration * 3,
                offset=None,
                usual=12.5,
                slot=5,
                host="elsewhere",
                agent=flow.agent and replace(flow.agent, duration=7.25),
                environment=(*flow.environment, "MINE"),
                tasks=tuple(replace(task, started=1.5, duration=2.5) for task in flow.tasks),
            )
            for flow in record.flows
        ),
    )
    assert frozen(later) == frozen(record)


def test_what_the_run_found_is_not_frozen(record: RunRecord) -> None:
    first, *rest = record.flows
    for changed in (replace(first, verdict=Verdict.FLAKY), replace(first, reason="other")):
        assert frozen(replace(record, flows=(changed, *rest))) != frozen(record)


def test_frozen_times_are_those_of_a_run(record: RunRecord) -> None:
    run = frozen(record)
    for flow in run.flows:
        assert flow.offset is not None
        assert flow.offset + flow.duration <= run.duration
        began = {task.id: task.started or 0 for task in flow.tasks}
        for task in flow.tasks:
            assert task.started is not None and task.duration is not None
            assert task.started + task.duration <= flow.duration
            assert all(began[one] < task.started for one in task.needs)
