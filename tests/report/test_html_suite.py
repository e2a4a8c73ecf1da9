"""The index: the verdict first, counts that add up, and what needs a look in place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from flowproof.errors import ExitCode
from flowproof.model.flow_spec import Control
from flowproof.model.origin import Origin, Population, Recording, Source
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FileDigest, FlowRecord, RunRecord
from flowproof.report.html import DIAGNOSED
from flowproof.report.html_facts import evidence_groups, moment
from flowproof.report.html_row import flow_row
from flowproof.report.html_suite import LISTED, changed
from tests.report.fixtures import diverged, flow_record, run_of, sample_run
from tests.report.pages import index


def many(count: int, flow: FlowRecord) -> tuple[FlowRecord, ...]:
    return tuple(replace(flow, path=f"{at}.flow.yaml", id=str(at)) for at in range(count))


def test_the_verdict_comes_first_and_counts_add_up() -> None:
    page = index(sample_run())
    assert "1 of 7 flows failed and 2 could not be judged." in "".join(page.text["h1"])
    assert "Exit code 1: a flow failed." in page.words()
    shares = [attrs for tag, attrs in page.elements if tag == "rect" and attrs.get("height") == "1"]
    assert sum(int(attrs["width"] or 0) for attrs in shares) == 7
    [label] = [attrs["aria-label"] for _, attrs in page.elements if attrs.get("class") == "share"]
    assert label == "7 flows: 2 pass, 1 pass*, 1 fail, 1 error, 1 capability-error, 1 skipped"
    assert "It says nothing about the quality of the model" in page.words()


@pytest.mark.parametrize(
    ("flows", "code", "headline"),
    [
        pytest.param((), None, "Nothing ran.", id="nothing"),
        pytest.param(
            (flow_record(),), ExitCode.INTERRUPTED, "Interrupted: the flow passed.", id="interrupt"
        ),
        pytest.param((flow_record(),) * 3, None, "All 3 flows passed.", id="all"),
        pytest.param(
            (flow_record(), replace(flow_record(), verdict=Verdict.SKIPPED)),
            None,
            "1 of 2 flows passed and 1 was skipped.",
            id="skipped",
        ),
    ],
)
def test_headlines(flows: tuple[FlowRecord, ...], code: ExitCode | None, headline: str) -> None:
    record = run_of(*flows)
    page = index(record if code is None else replace(record, exit_code=code))
    assert headline in "".join(page.text["h1"])


def test_a_green_index_says_so_and_has_nothing_to_look_at() -> None:
    page = index(run_of(flow_record()))
    assert "The flow passed." in "".join(page.text["h1"])
    assert "failures" not in page.ids()
    assert "fail" not in page.words()
    assert "Exit code 1" not in page.words()


def test_a_failure_is_told_in_place() -> None:
    page = index(sample_run())
    told = page.section("failures")
    for part in (
        "the text of message 2 (user) changed",
        "assert_tool_call: issue_refund where amount equals 40",
        "no call of issue_refund matches",
        "amount is 400",
        "$.messages[1].content",
        "the customer asked politely.",
        "if this change is meant, record it again",
        'href="flows/refunds.approval.html"',
        'href="flows/refunds.approval.html#assertion-1"',
        'href="#flow-refunds.approval"',
    ):
        assert part in told, part
    assert told.count("<article") == 3
    assert "Booking assistant" not in told


def test_an_assertion_that_failed_is_shown_before_one_that_was_not_judged() -> None:
    failed, held = diverged().assertions
    unjudged = sample_run().flows[3].assertions[0]
    row = flow_row(replace(diverged(), assertions=(held, unjudged, failed)), 1, "x", diagnosed=True)
    assert row.diagnosis is not None
    assert (row.diagnosis.claim_number, row.diagnosis.claim) == (3, failed.source)
    assert (row.held, row.asserted) == (1, 3)


def test_of_very_many_failures_the_first_are_told_and_more_are_listed() -> None:
    count = DIAGNOSED + LISTED + 7
    page = index(run_of(*many(count, diverged())))
    told = page.section("failures")
    assert told.count("<article") == DIAGNOSED
    assert f"<h3>{LISTED + 7} more</h3>" in told
    assert told.count("<li><span") == LISTED
    assert "… and 7 more, in the table below." in told
    assert page.section("flows").count("<tr") == count + 1


def test_what_went_wrong_beside_the_flows_needs_a_look() -> None:
    record = replace(
        run_of(flow_record()), errors=("after_all: exit 3",), exit_code=ExitCode.WORLD_ERROR
    )
    page = index(record)
    assert "after_all: exit 3" in page.section("failures")
    assert "Exit code 4: something beside the flows went wrong." in page.words()


@pytest.mark.parametrize(
    "flows",
    [
        pytest.param((), id="none"),
        pytest.param((replace(flow_record(), verdict=Verdict.SKIPPED),), id="skipped"),
    ],
)
def test_a_run_in_which_nothing_ran_proves_nothing(flows: tuple[FlowRecord, ...]) -> None:
    words = index(run_of(*flows)).words()
    assert "Nothing ran, so it proves nothing." in words
    assert "Replayed" not in words
    assert "proves nothing" not in index(run_of(flow_record())).words()


def test_flows_that_need_a_look_come_first_in_the_table() -> None:
    table = index(sample_run()).section("flows")
    verdicts = re.findall(r'data-verdict="([^"]*)"', table.partition("<tbody")[2])
    assert verdicts == ["fail", "error", "capability-error", "pass*", "pass", "pass", "skipped"]


def test_a_row_has_what_tells_flows_apart_and_nothing_else() -> None:
    control = Control("ac.one", None, None, (), None)
    one = replace(flow_record(), slot=1, control=control, containment="network")
    other = replace(flow_record("Other"), path="b.flow.yaml", slot=2, control=None)
    page = index(run_of(one, other))
    table = page.section("flows")
    assert 'class="flows with-contained with-control with-place"' in table
    for part in (
        "ac.one",
        "slot\N{NO-BREAK SPACE}1",
        "slot\N{NO-BREAK SPACE}2",
        "network",
        "not contained",
        "2 of 2 hold",
    ):
        assert part in table
    alike = index(run_of(other, replace(other, path="c.flow.yaml"))).section("flows")
    assert 'class="flows"' in alike
    assert "Containment of every flow: not contained." in alike


def test_hosts_are_told_where_there_are_several() -> None:
    flows = (
        replace(flow_record(), slot=1),
        replace(flow_record(), path="b.flow.yaml", slot=1, host="worker-3"),
    )
    table = index(run_of(*flows)).section("flows")
    assert "builder-7 slot\N{NO-BREAK SPACE}1" in table
    assert "worker-3 slot\N{NO-BREAK SPACE}1" in table


def test_a_retried_flow_says_how_often_it_was_tried() -> None:
    tried = AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 1.0, "it crashed")
    flow = replace(flow_record(), verdict=Verdict.FLAKY, attempts=(tried, tried))
    assert "3 tries" in index(run_of(flow)).section("flows")
    assert "tries" not in index(run_of(flow_record())).section("flows")


@pytest.mark.parametrize(
    ("usual", "took", "says"),
    [
        pytest.param(1.0, 2.0, "▲ usually 1.00 s", id="longer"),
        pytest.param(2.0, 1.0, "▼ usually 2.00 s", id="shorter"),
        pytest.param(1.0, 1.4, "", id="a-little"),
        pytest.param(0.1, 0.5, "", id="moments"),
        pytest.param(None, 2.0, "", id="unknown"),
        pytest.param(0.0, 2.0, "", id="none"),
        pytest.param(-1.0, 2.0, "", id="nonsense"),
    ],
)
def test_a_change_of_duration(usual: float | None, took: float, says: str) -> None:
    flow = replace(flow_record(), usual=usual, duration=took)
    assert changed(flow_row(flow, 1, "x", diagnosed=False)) == says


def test_tags_are_filters_by_how_often_they_occur() -> None:
    flows = (
        replace(flow_record(), tags=("b",)),
        replace(flow_record(), path="b.flow.yaml", tags=("a", "b", "b")),
        replace(flow_record(), path="c.flow.yaml", tags=()),
    )
    table = index(run_of(*flows)).section("flows")
    assert re.findall(r'data-tag="\d+">(\w+) <b>(\d+)', table) == [("b", "2"), ("a", "1")]
    assert re.findall(r'data-tags="([^"]*)"', table) == ["0", "1 0"]


def test_what_needs_the_script_is_hidden_without_it() -> None:
    elements = index(sample_run()).elements
    [form] = [attrs for tag, attrs in elements if attrs.get("role") == "search"]
    assert {"hidden", "data-script"} <= form.keys()


def test_controls_name_their_flows_and_the_worst_verdict() -> None:
    control = Control("ac.one", "Refunds are approved", None, ("SOC2:CC7.1",), "Payments team")
    flows = (
        replace(flow_record(), control=control),
        replace(diverged(), control=control),
        *many(30, replace(flow_record("Other"), control=Control("ac.two", None, None, (), None))),
    )
    told = index(run_of(*flows)).section("controls")
    first = told.partition("ac.two")[0]
    for part in ("ac.one", "Refunds are approved", "SOC2:CC7.1", "Payments team", "</span> fail"):
        assert part in first, part
    assert first.index("Refund asks") < first.index("Booking assistant")
    assert "and 10 more" in told
    assert "controls" not in index(run_of(replace(flow_record(), control=None))).ids()


def test_a_partial_run_says_what_it_leaves_out() -> None:
    record = replace(
        run_of(flow_record()),
        partial=True,
        population=Population(12, 1, (("--tag", "smoke"), ("--last-failed", ""))),
    )
    words = index(record).words()
    assert "(--tag smoke, --last-failed) and does not vouch for the whole." in words
    assert "12 found 1 selected 1 ran" in words
    assert "Left out" not in index(record).section("flows")
    named = replace(record, population=Population(12, 1, (), ("a.flow.yaml", "<b>.flow.yaml")))
    told = index(named)
    assert "Left out by the selection: 11 a.flow.yaml <b>.flow.yaml and 9 more" in told.words()
    assert "vouch" not in index(run_of(flow_record())).words()


def test_repeated_flows_are_counted_so_that_the_stages_add_up() -> None:
    record = replace(run_of(*[flow_record()] * 3), population=Population(1, 1))
    assert "1 found 1 selected 3 with repeats 3 ran" in index(record).words()


def test_evidence_of_a_record_that_knows_everything() -> None:
    record = replace(
        sample_run(),
        origin=Origin(
            "casey", "push", "GitLab", "https://ci.example/7", "Debian", "6.1", "ab" * 32
        ),
        source=Source("https://git.example/a", "4f" * 20, "main", True, "cd" * 32),
        population=Population(9, 7),
        inputs=(FileDigest("uv.lock", "ef" * 32),),
        slots=4,
    )
    page = index(record)
    told = page.section("evidence")
    for part in (
        "casey", "push", "GitLab", "Debian 6.1", "ab" * 32, "https://git.example/a", "4f" * 20,
        "main", "the commit alone does not tell what ran", "cd" * 32, "uv.lock", "ef" * 32,
        "30 November 2026, 09:00:00 UTC", "30 November 2026, 09:01:02 UTC", "at most 4 flows",
        "builder-7", record.id,
    ):  # fmt: skip
        assert part in told, part
    assert "https://ci.example/7" in page.links()
    assert "not recorded" not in told


def test_evidence_of_a_record_that_knows_little_says_so() -> None:
    told = index(sample_run()).section("evidence")
    assert told.count("not recorded") == 3
    assert "Without a signature, hashes show accidental change" in told


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//x", "ftp://x"])
def test_only_pages_of_the_web_are_links(url: str) -> None:
    record = replace(run_of(flow_record()), origin=Origin(url=url))
    page = index(record)
    assert url in page.section("evidence")
    assert url not in list(page.links())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("2026-11-30T09:00:00Z", "30 November 2026, 09:00:00 UTC", id="utc"),
        pytest.param("2026-11-30T09:00:00+02:00", "30 November 2026, 07:00:00 UTC", id="zone"),
        pytest.param("yesterday", "yesterday", id="text"),
        pytest.param("", "", id="nothing"),
        pytest.param("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00", id="too-early"),
    ],
)
def test_a_moment(text: str, says: str) -> None:
    assert moment(text) == says


@pytest.mark.parametrize("later", [float("inf"), 1e300], ids=str)
def test_a_run_that_takes_for_ever_has_no_end(later: float) -> None:
    assert moment("2026-11-30T09:00:00Z", later) == "2026-11-30T09:00:00Z"
    assert evidence_groups(replace(run_of(), duration=1e300))


def test_a_run_of_both_phases_says_so() -> None:
    record = run_of(flow_record(), replace(flow_record(), path="b.flow.yaml", phase="record"))
    words = index(record).words()
    assert "1 replayed from recordings and 1 recorded against the model in" in words
    assert "1 flow was replayed." in words
    assert "1 flow was recorded." in words


def test_a_skipped_flow_is_none_of_the_slowest() -> None:
    flows = many(6, flow_record("Runs"))
    skipped = replace(flow_record("Waits"), verdict=Verdict.SKIPPED, duration=0.0)
    page = index(run_of(*flows, skipped)).source.partition("<h2>Slowest flows</h2>")[2]
    listed = page.partition("</ol>")[0]
    assert listed.count(">Runs<") == 6
    assert "Waits" not in listed
    none = index(run_of(*many(6, skipped)))
    assert "Slowest flows" not in none.words()


def test_the_index_says_which_models_answered() -> None:
    old = replace(
        flow_record(), recording=Recording("2026-10-01T08:00:00Z", "0.1.0", ("claude-9", "gpt-4o"))
    )
    words = index(run_of(*many(2, flow_record()), old)).words()
    assert (
        "Models that answered gpt-5.4-mini-2026-03-17 (2 flows), claude-9 (1 flow), "
        "gpt-4o (1 flow)" in words
    )
    assert "Recordings made 1 October 2026 to 2 November 2026" in words
    none = index(run_of(replace(flow_record(), recording=None))).words()
    assert "Models that answered" not in none and "Recordings made" not in none


def rows_of(record: RunRecord) -> int:
    return len(index(record).section("flows"))


def test_rows_are_lean() -> None:
    grown = rows_of(run_of(*many(400, flow_record()))) - rows_of(run_of(*many(350, flow_record())))
    assert grown / 50 < 700


@pytest.mark.parametrize(
    ("differs", "says"),
    [(True, "the commit alone does not tell"), (False, "none"), (None, "unknown: some files go")],
    ids=str,
)
def test_whether_files_differed_from_the_commit(differs: bool | None, says: str) -> None:
    record = replace(run_of(), source=Source("", "c0" * 20, "main", differs))
    facts = {fact.label: fact.value for group in evidence_groups(record) for fact in group.facts}
    assert says in facts["Uncommitted changes"]
