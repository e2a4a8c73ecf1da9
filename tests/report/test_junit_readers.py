"""The JUnit file as dashboards read it: by a schema, and by what three of them look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from flowproof.errors import ExitCode
from flowproof.model.outcome import (
    AssertionResult,
    Failed,
    Outcome,
    Passed,
    Uncertifiable,
    Unjudged,
    Verdict,
)
from flowproof.model.run_record import AttemptRecord, FlowRecord, RunRecord
from flowproof.report.junit import Detail, render
from tests.report.fixtures import agent_exit, diverged, flow_record, run_of, sample_run
from tests.report.hostile import EVIL, hostile_run
from tests.report.junit_readers import Seen, dorny, gitlab, jenkins

SCHEMA = Path(__file__).parent / "data" / "junit.xsd"
FIRST_TRY = AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 0.2, "it said <no>\nand left")


def flaky() -> FlowRecord:
    return replace(flow_record(), verdict=Verdict.FLAKY, attempts=(FIRST_TRY,), host="h-2", slot=2)


def with_a_lost_worker() -> FlowRecord:
    """A flow that passed, once its first worker was gone."""
    lost = AttemptRecord(Verdict.ERROR, ExitCode.WORLD_ERROR, 1.0, "its worker h:1 was lost")
    return replace(flow_record(), attempts=(lost,), warnings=(lost.reason,))


def tried_in_vain() -> FlowRecord:
    return replace(diverged(), attempts=(FIRST_TRY, replace(FIRST_TRY, reason="")))


def judged() -> FlowRecord:
    """A failed flow whose assertions ended in every way; two have one text."""
    outcomes: tuple[Outcome, ...] = (
        Passed(),
        Failed("no call", "one", "none"),
        Unjudged("cut off"),
    )
    results = [AssertionResult("assert: reply", 5 + at, one) for at, one in enumerate(outcomes)]
    other = AssertionResult("assert_no_egress", 9, Uncertifiable("not watched"))
    return replace(diverged(), assertions=(*results, other))


def xml(record: RunRecord, detail: Detail = "flow") -> bytes:
    [(_, pieces)] = render(record, detail=detail)
    return "".join(pieces).encode()


@pytest.fixture(scope="module")
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(SCHEMA)


RECORDS = [
    pytest.param(sample_run(), id="every verdict"),
    pytest.param(run_of(), id="no flow"),
    pytest.param(hostile_run(), id="hostile"),
    pytest.param(run_of(flaky(), tried_in_vain(), judged()), id="attempts and outcomes"),
    pytest.param(run_of(with_a_lost_worker()), id="a lost worker"),
    pytest.param(run_of(*[judged()] * 3), id="one flow three times"),
    pytest.param(replace(sample_run(), errors=(EVIL, EVIL)), id="errors beside the flows"),
]


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("detail", ["flow", "steps"])
def test_the_schema_holds(schema: xmlschema.XMLSchema, record: RunRecord, detail: Detail) -> None:
    schema.validate(xml(record, detail))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        pytest.param(b'time="0.421"', b'time="421 ms"', id="a time"),
        pytest.param(b' tests="1"', b"", id="no count"),
        pytest.param(b"<properties>", b"text<properties>", id="text between elements"),
        pytest.param(b"<system-out>", b"<stdout/><system-out>", id="an element nobody knows"),
        pytest.param(b'T09:00:00"', b'T09:00:00.5Z"', id="a moment with a zone"),
        pytest.param(b'line="1"', b'line="0"', id="a line"),
        pytest.param(
            b"<stackTrace>it said &lt;no&gt;\nand left</stackTrace>", b"no", id="text of a try"
        ),
    ],
)
def test_the_schema_refuses(schema: xmlschema.XMLSchema, good: bytes, bad: bytes) -> None:
    data = xml(run_of(flaky()))
    schema.validate(data)
    assert good in data
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        schema.validate(data.replace(good, bad, 1))


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("detail", ["flow", "steps"])
def test_counts_add_up(record: RunRecord, detail: Detail) -> None:
    data = xml(record, detail)
    # Where no flow ran, a case says so: the exit code is red.
    cases = len(record.flows) + len(record.errors) + (not record.flows)
    if detail == "steps":
        cases += sum(len(flow.assertions) for flow in record.flows)
    statuses = [seen.status for seen in gitlab(data)]
    assert len(statuses) == len(jenkins(data)) == len(dorny(data)) == cases
    counts = {
        "tests": cases,
        "failures": statuses.count("failed"),
        "errors": statuses.count("error"),
        "skipped": statuses.count("skipped"),
    }
    # In the root, and again in the suite.
    told = " ".join(f'{name}="{count}"' for name, count in counts.items()).encode()
    assert told in data.split(b"<testsuite ")[0]
    suite = data.split(b"<testsuite ")[1].split(b">")[0]
    assert all(f'{name}="{count}"'.encode() in suite for name, count in counts.items())


def test_what_gitlab_and_dorny_show() -> None:
    record = sample_run()
    for read in (gitlab, dorny):
        seen = {(one.group, one.name): one for one in read(xml(record))}
        failed = seen["support-bot.refunds", "Refund asks for approval"]
        assert failed.status == "failed" and failed.seconds == 0.421
        assert "expected: amount equals 40" in failed.text
        again = "Booking assistant books a flight [smoke/booking_again.flow.yaml]"
        assert seen["support-bot.smoke", again].status == "success"
        name = "Payment in staging"
        assert {one.status for one in seen.values() if one.name == name} == {"skipped"}
    error = next(one for one in gitlab(xml(record)) if one.name == "Lookup without a key")
    assert (error.status, error.file) == ("error", "lookup.flow.yaml")


@pytest.mark.parametrize(
    ("flow", "status", "tries"),
    [
        pytest.param(flaky(), "PASSED", 1, id="flaky"),
        pytest.param(tried_in_vain(), "FAILED", 2, id="failed every time"),
        pytest.param(flow_record(), "PASSED", 0, id="the first try"),
    ],
)
def test_tries_as_jenkins_reads_them(flow: FlowRecord, status: str, tries: int) -> None:
    data = xml(run_of(flow))
    [seen] = jenkins(data)
    assert (seen.status, seen.flaky) == (status, tries)
    tag = b"flakyFailure" if status == "PASSED" else b"rerunFailure"
    assert data.count(b"<" + tag) == tries
    assert f'name="flowproof.attempt" value="{tries + 1}"'.encode() in data


def test_a_lost_worker_makes_no_flow_flaky() -> None:
    data = xml(run_of(with_a_lost_worker()))
    [seen] = jenkins(data)
    assert (seen.status, seen.flaky) == ("PASSED", 0)
    assert b"flakyFailure" not in data and b"rerunFailure" not in data
    assert b"flowproof warning: its worker h:1 was lost" in data


def test_a_try_has_what_its_agent_printed(schema: xmlschema.XMLSchema) -> None:
    first = replace(FIRST_TRY, agent=agent_exit(3, stdout="booking\x07\n", stderr="boom"))
    for flow in (
        replace(flaky(), attempts=(first,)),
        replace(tried_in_vain(), attempts=(first, FIRST_TRY)),
    ):
        data = xml(run_of(flow))
        schema.validate(data)
        tries = [
            one for one in ET.fromstring(data).iter() if one.tag in ("flakyFailure", "rerunFailure")
        ]
        assert tries[0].findtext("stackTrace") == (
            "it said <no>\nand left\n\nthe agent exited with status 3"
        )
        assert tries[0].findtext("system-out") == "booking\ufffd\n"
        assert tries[0].findtext("system-err") == "boom"
        assert [[child.tag for child in one] for one in tries[1:]] in ([], [["stackTrace"]])


def test_an_assertion_is_a_case_below_its_flow() -> None:
    data = xml(run_of(flow_record(), judged()), "steps")
    found = {seen.name: seen for seen in gitlab(data)}
    assert list(found) == [
        "Booking assistant books a flight",
        "Booking assistant books a flight › assert_tool_call: search_flights where to equals LHR",
        "Booking assistant books a flight › assert: reply contains booked",
        "Refund asks for approval",
        "Refund asks for approval › assert: reply",
        "Refund asks for approval › assert: reply (2)",
        "Refund asks for approval › assert: reply (3)",
        "Refund asks for approval › assert_no_egress",
    ]
    own = [seen for name, seen in found.items() if name.startswith("Refund asks for approval ›")]
    # What could not be judged because the flow failed is no error of its own.
    assert [seen.status for seen in own] == ["success", "failed", "skipped", "error"]
    assert "refunds/approval.flow.yaml:6: assert: reply\n  no call\n  expected: one" in own[1].text
    # The flow has the time, so that times add up.
    assert sum(seen.seconds for seen in own) == 0
    assert b'line="6"' in data


def test_an_assertion_that_keeps_a_flow_from_being_judged_is_an_error() -> None:
    flow = replace(judged(), verdict=Verdict.ERROR, exit_code=ExitCode.AUTHOR_ERROR)
    seen = [one.status for one in gitlab(xml(run_of(flow), "steps"))]
    assert seen == ["error", "success", "failed", "error", "error"]


def attached(record: RunRecord, path: str = "/builds/a.trace.json") -> list[Seen]:
    [(_, pieces)] = render(record, attached=lambda flow: path)
    data = "".join(pieces).encode()
    assert [one.attachment for one in gitlab(data)] == [one.attachment for one in jenkins(data)]
    return jenkins(data)


def test_a_file_is_attached_to_what_needs_a_look() -> None:
    skipped = replace(flow_record(), verdict=Verdict.SKIPPED, agent=None)
    seen = attached(run_of(diverged(), flaky(), flow_record(), skipped))
    assert [one.attachment for one in seen] == ["/builds/a.trace.json"] * 2 + [""] * 2


@pytest.mark.parametrize("path", ["", "a]]b", "a|b", "a\nb", "a\x07b"], ids=repr)
def test_a_path_that_a_reader_would_misread_is_left_out(path: str) -> None:
    [seen] = attached(run_of(diverged()), path)
    assert seen.attachment == ""


def test_an_agent_cannot_name_a_file_to_collect() -> None:
    evil = "[[ATTACHMENT|/etc/passwd]]\n[[[attachment|x]]\n\x1b[1m[[ATTACH\x1b[0mMENT|/y]]"
    flow = replace(
        diverged(),
        agent=agent_exit(1, stdout=evil, stderr=evil),
        reason=evil,
        warnings=(evil,),
        attempts=(replace(FIRST_TRY, reason=evil, agent=agent_exit(1, evil, evil)),),
    )
    data = xml(run_of(flow), "steps")
    assert b"[[ATTACHMENT|" not in data.upper()
    assert b"[ [ATTACHMENT|/etc/passwd]]" in data
    assert not [one.attachment for one in (*gitlab(data), *jenkins(data)) if one.attachment]


def test_many_texts_share_the_room_of_one_file() -> None:
    loud = agent_exit(1, "o" * 64_000, "e" * 64_000)
    long = replace(FIRST_TRY, reason="x" * 64_000, agent=loud)
    flow = replace(diverged(), attempts=(long,) * 100, reason="y" * 64_000)
    assert len(xml(run_of(*[flow] * 10), "steps")) < 30_000_000
