"""What a run proves, for the phases that its flows ran in."""

from __future__ import annotations

from dataclasses import replace

from flowproof.model.outcome import Verdict
from flowproof.report.words import PROVES, PROVES_NOT, phases, proves
from tests.report.fixtures import flow_record, run_of

RECORDED = replace(flow_record(), phase="record")
SKIPPED = replace(flow_record(), phase="record", verdict=Verdict.SKIPPED)


def test_a_run_in_one_phase() -> None:
    assert proves(run_of(flow_record())) == ((PROVES["replay"], PROVES_NOT["replay"]),)
    assert proves(run_of(RECORDED)) == ((PROVES["record"], PROVES_NOT["record"]),)


def test_a_run_in_both_phases() -> None:
    record = run_of(flow_record(), RECORDED, flow_record())
    assert phases(record) == {"replay": 2, "record": 1}
    assert proves(record) == (
        (f"2 flows were replayed. {PROVES['replay']}", PROVES_NOT["replay"]),
        (f"1 flow was recorded. {PROVES['record']}", PROVES_NOT["record"]),
    )


def test_what_did_not_run_proves_nothing_of_its_phase() -> None:
    assert phases(run_of(flow_record(), SKIPPED)) == {"replay": 1}
    assert phases(run_of(SKIPPED)) == {"replay": 0}
    assert proves(run_of()) == ((PROVES["replay"], PROVES_NOT["replay"]),)
