"""The JUnit file: its structure, its counts and what hostile text does to it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.junit import BODY_LIMIT, render
from flowproof.report.junit_case import failure_kind
from flowproof.report.junit_names import NAME_LIMIT, case_names
from tests.report.fixtures import agent_exit, diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run

# What Jenkins' schema allows where.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out", "system-err"},
    "testcase": {"properties", "skipped", "error", "failure", "system-out", "system-err"},
    "properties": {"property"},
}


def tree(record: RunRecord) -> ET.Element:
    data = "".join(dict(render(record))["TEST-flowproof.xml"]).encode()
    assert data.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n")
    return ET.fromstring(data)


def check_structure(root: ET.Element) -> None:
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed = CHILDREN.get(element.tag, set())
        assert {child.tag for child in element} <= allowed, element.tag
    for case in root.iter("testcase"):
        assert {"classname", "name", "file", "line", "time"} <= set(case.attrib)
        assert len([child for child in case if child.tag in ("failure", "error", "skipped")]) <= 1
        float(case.attrib["time"])
        int(case.attrib["line"])


def check_counts(root: ET.Element) -> None:
    [suite] = root
    cases = suite.findall("testcase")
    for element in (root, suite):
        assert int(element.attrib["tests"]) == len(cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[name]) == sum(case.find(tag) is not None for case in cases)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(sample_run(), id="every-verdict"),
        pytest.param(run_of(), id="no-flows"),
        pytest.param(hostile_run(), id="hostile"),
        pytest.param(replace(run_of(flow_record()), suite="", host="", started=""), id="bare"),
    ],
)
def test_structure_and_counts(record: RunRecord) -> None:
    root = tree(record)
    check_structure(root)
    check_counts(root)


def test_root_attributes() -> None:
    root = tree(sample_run())
    assert root.attrib == {
        "name": "support-bot",
        "tests": "7",
        "failures": "1",
        "errors": "2",
        "skipped": "1",
        "time": "62.400",
        "timestamp": "2026-11-30T09:00:00",
    }


@pytest.mark.parametrize(
    ("verdict", "tag"),
    [
        pytest.param(Verdict.FAIL, "failure", id="fail"),
        pytest.param(Verdict.ERROR, "error", id="error"),
        pytest.param(Verdict.CAPABILITY_ERROR, "error", id="capability-error"),
        pytest.param(Verdict.SKIPPED, "skipped", id="skipped"),
        pytest.param(Verdict.PASS, None, id="pass"),
        pytest.param(Verdict.PASS_NOTHING_ASSERTED, None, id="pass-nothing-asserted"),
        pytest.param(Verdict.FLAKY, None, id="flaky"),
    ],
)
@pytest.mark.parametrize("reason", ["why\nand more", ""], ids=["reason", "no-reason"])
def test_verdicts(verdict: Verdict, tag: str | None, reason: str) -> None:
    flow = replace(flow_record(), verdict=verdict, reason=reason)
    [case] = tree(run_of(flow)).iter("testcase")
    found = [child for child in case if child.tag in ("failure", "error", "skipped")]
    assert [child.tag for child in found] == ([tag] if tag else [])
    for child in found:
        assert child.get("message") == (reason.partition("\n")[0] or verdict.value)
    check_counts(tree(run_of(flow)))


def test_a_failure_says_everything() -> None:
    [case] = tree(run_of(diverged())).iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("type") == "divergence"
    text = failure.text or ""
    for part in (
        "the text of message 2 (user) changed",
        "refunds/approval.flow.yaml:12: assert_tool_call: issue_refund",
        "expected: amount equals 40",
        "closest: issue_refund",
        "at $.messages[1].content",
        "+ the customer asked politely.·",
        "exited with status 1; its stderr ends:\nTraceback",
        "flowproof record refunds/approval.flow.yaml",
    ):
        assert part in text
    assert "delete_account" not in text


def test_properties() -> None:
    [case] = tree(run_of(flow_record())).iter("testcase")
    values = {item.attrib["name"]: item.attrib["value"] for item in case.iter("property")}
    assert values == {
        "flowproof.verdict": "pass",
        "flowproof.exit-code": "0",
        "flowproof.phase": "replay",
        "flowproof.containment": "not contained",
        "flowproof.attempt": "1",
        "control.id": "ac.bookings.create",
        "spec.sha256": "5f" * 32,
        "trace.sha256": "a1" * 32,
        "agent.exit-status": "0",
    }


@pytest.mark.parametrize(
    ("flow", "kind"),
    [
        pytest.param(diverged(), "divergence", id="divergence"),
        pytest.param(replace(diverged(), divergence=None), "assertion", id="assertion"),
        pytest.param(replace(diverged(), divergence=None, assertions=()), "agent", id="agent"),
    ],
)
def test_kinds_of_failure(flow: FlowRecord, kind: str) -> None:
    assert failure_kind(flow) == kind


def test_bodies_and_the_whole_file_are_bounded() -> None:
    loud = replace(flow_record(), agent=agent_exit(stdout="é" * 900_000, stderr="x" * 900_000))
    [case] = tree(run_of(loud)).iter("testcase")
    for tag in ("system-out", "system-err"):
        text = case.findtext(tag) or ""
        assert "bytes left out" in text
        assert len(text.encode()) < BODY_LIMIT + 100
    many = replace(flow_record(), agent=agent_exit(stdout="x" * 64_000, stderr="x" * 64_000))
    [(_, xml)] = render(run_of(*[many] * 300))
    assert sum(len(piece.encode()) for piece in xml) < 30_000_000


def test_names_are_unique_and_bounded() -> None:
    flow = flow_record("n" * 400)
    odd = replace(flow_record("same"), path="a/../smoke.v2/x.flow.yaml")
    flows = (flow, flow, replace(flow, path="smoke/other.flow.yaml"), odd, flow_record(" "))
    names = case_names(run_of(*flows))
    assert len(set(names)) == len(names)
    assert all(len(part) <= NAME_LIMIT for name in names for part in name)
    assert names[3] == ("support-bot.a.smoke_v2", "same")
    assert names[4] == ("support-bot.smoke", "smoke/booking.flow.yaml")
    assert names[1][1].endswith("… [smoke/booking.flow.yaml] (2)")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "a [x]", "a [x] (2)", "b"]), st.sampled_from(["x", "s/x", "y"])
        ),
        max_size=8,
    )
)
def test_names_never_repeat(pairs: list[tuple[str, str]]) -> None:
    flows = [replace(flow_record(name), path=path) for name, path in pairs]
    names = case_names(run_of(*flows))
    assert len(set(names)) == len(names) == len(flows)


def test_warnings_reach_a_dashboard() -> None:
    flow = replace(flow_record(), warnings=("this guard could not fail",))
    [case] = tree(run_of(flow)).iter("testcase")
    assert "flowproof warning: this guard could not fail" in (case.findtext("system-err") or "")
    [case] = tree(run_of(flow_record())).iter("testcase")
    assert "warning" not in (case.findtext("system-err") or "")


def test_what_went_wrong_beside_the_flows_is_a_case_of_its_own() -> None:
    root = tree(replace(run_of(flow_record()), errors=("suite shop: after_all failed \x07",)))
    check_structure(root)
    check_counts(root)
    [of_flow, beside] = root.iter("testcase")
    error = beside.find("error")
    assert of_flow.find("error") is None and error is not None
    assert error.attrib["message"].startswith("suite shop: after_all failed")
