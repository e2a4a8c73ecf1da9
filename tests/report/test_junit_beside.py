"""A run that is red is red in its JUnit file too, though no flow of it is; and its phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.junit import render
from flowproof.report.junit_beside import MOST_NAMED
from tests.report.fixtures import diverged, flow_record, run_of

SKIPPED = replace(flow_record(), verdict=Verdict.SKIPPED, reason="the run was interrupted")
FLAKY = replace(flow_record(), verdict=Verdict.FLAKY)


def tree(record: RunRecord) -> ET.Element:
    [(_, pieces)] = render(record)
    return ET.fromstring("".join(pieces))


def run(code: ExitCode, *flows: FlowRecord) -> RunRecord:
    return replace(run_of(*flows), exit_code=code)


@pytest.mark.parametrize(
    ("record", "tag", "message"),
    [
        pytest.param(
            run(ExitCode.FLOW_FAILED, flow_record(), FLAKY),
            "failure",
            "a flow passed only when tried again (exit code 1)",
            id="flaky forbidden",
        ),
        pytest.param(
            run(ExitCode.NOTHING_RAN),
            "error",
            "nothing was selected or executed (exit code 5)",
            id="no flow",
        ),
        pytest.param(
            run(ExitCode.NOTHING_RAN, SKIPPED, SKIPPED),
            "error",
            "nothing was selected or executed (exit code 5)",
            id="all skipped",
        ),
        pytest.param(
            run(ExitCode.INTERRUPTED, flow_record(), SKIPPED),
            "error",
            "interrupted (exit code 130)",
            id="interrupted between flows",
        ),
    ],
)
def test_what_makes_a_run_red_has_a_case(record: RunRecord, tag: str, message: str) -> None:
    root = tree(record)
    *flows, beside = root.iter("testcase")
    assert len(flows) == len(record.flows)
    assert not [one for case in flows for one in case if one.tag in ("failure", "error")]
    found = beside.find(tag)
    assert found is not None and found.attrib["message"] == message
    assert beside.attrib["name"] == "(suite, not a flow) 1"
    for element in (root, *root.iter("testsuite")):
        counted = element.attrib
        assert int(counted["tests"]) == len(record.flows) + 1
        assert (counted["failures"], counted["errors"]) == (
            ("1", "0") if tag == "failure" else ("0", "1")
        )


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(run(ExitCode.PASSED, flow_record()), id="green"),
        pytest.param(run(ExitCode.PASSED, FLAKY), id="flaky, which is allowed"),
        pytest.param(run(ExitCode.PASSED, SKIPPED), id="empty, which is allowed"),
        pytest.param(run(ExitCode.FLOW_FAILED, diverged(), FLAKY), id="a flow that failed"),
        pytest.param(run(ExitCode.INTERRUPTED, diverged(), SKIPPED), id="interrupted, and red"),
    ],
)
def test_no_case_is_added_where_the_flows_say_it_all(record: RunRecord) -> None:
    root = tree(record)
    assert len(list(root.iter("testcase"))) == len(record.flows)
    assert root.attrib["tests"] == str(len(record.flows))


def test_flaky_flows_are_named_and_their_number_is_bounded() -> None:
    many = [replace(FLAKY, name=f"flow {at}") for at in range(MOST_NAMED + 5)]
    *_, beside = tree(run(ExitCode.FLOW_FAILED, *many)).iter("testcase")
    lines = (beside.findtext("failure") or "").splitlines()
    assert lines[0] == "smoke/booking.flow.yaml: flow 0"
    assert lines[-1] == "… and 5 more"
    assert len(lines) == MOST_NAMED + 1


def test_an_error_of_many_lines_is_a_body() -> None:
    text = "suite.yaml:1:1: unknown key `nmae`\n    nmae: x\n    ^\n  did you mean `name`?"
    *_, beside = tree(replace(run_of(flow_record()), errors=(text,))).iter("testcase")
    error = beside.find("error")
    assert error is not None
    assert error.attrib["message"] == "suite.yaml:1:1: unknown key `nmae`"
    assert error.text == text


@pytest.mark.parametrize(
    ("flows", "of_suite"),
    [
        pytest.param(("replay", "record"), "replay, record", id="both"),
        pytest.param(("replay",), "replay", id="one"),
        pytest.param((), "replay", id="none ran"),
    ],
)
def test_phases_are_those_of_the_flows(flows: Sequence[str], of_suite: str) -> None:
    made = [
        replace(flow_record(), phase="record" if phase == "record" else "replay") for phase in flows
    ]
    root = tree(run_of(*made, SKIPPED))
    [suite] = root.iter("testsuite")
    told = {one.attrib["name"]: one.attrib["value"] for one in suite.findall("properties/property")}
    assert told["flowproof.phase"] == of_suite
    *cases, skipped = suite.iter("testcase")
    for case, phase in zip(cases, flows, strict=False):
        values = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
        assert values["flowproof.phase"] == phase
    assert "flowproof.phase" not in {one.attrib["name"] for one in skipped.iter("property")}
