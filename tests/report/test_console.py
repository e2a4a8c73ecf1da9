"""What a terminal shows, and that nothing can drive it."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord
from flowproof.report.console import (
    Style,
    flow_detail,
    flow_line,
    is_interactive,
    summary,
    wants_color,
)
from flowproof.report.words import about, seconds
from tests.report.fixtures import agent_exit, diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run

COLOR = Style(color=True)
ANSI = re.compile("\x1b\\[[0-9;]+m")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "terminal", "colored"),
    [
        pytest.param({}, True, True, id="terminal"),
        pytest.param({}, False, False, id="pipe"),
        pytest.param({"NO_COLOR": "1"}, True, False, id="no-color"),
        pytest.param({"NO_COLOR": ""}, True, True, id="no-color-empty"),
        pytest.param({"FORCE_COLOR": "1"}, False, True, id="force"),
        pytest.param({"FORCE_COLOR": "0"}, True, False, id="force-off"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False, id="both"),
        pytest.param({"FORCE_COLOR": "1", "CI": "true"}, False, True, id="force-in-ci"),
        pytest.param({"CI": "true"}, True, False, id="ci"),
        pytest.param({"CI": "false"}, True, True, id="ci-false"),
        pytest.param({"TERM": "dumb"}, True, False, id="dumb"),
    ],
)
def test_when_colour_is_wanted(environ: dict[str, str], terminal: bool, colored: bool) -> None:
    assert wants_color(Terminal() if terminal else io.StringIO(), environ) is colored


def test_a_forced_colour_is_no_terminal() -> None:
    assert not is_interactive(io.StringIO(), {"FORCE_COLOR": "1"})
    assert is_interactive(Terminal(), {})


def test_a_line_says_verdict_name_path_and_time() -> None:
    assert flow_line(flow_record()) == (
        "✓ pass     Booking assistant books a flight  smoke/booking.flow.yaml  421 ms"
    )


def test_a_skipped_flow_says_why() -> None:
    flow = replace(flow_record(), verdict=Verdict.SKIPPED, reason="STAGING is not set")
    assert flow_line(flow).endswith("  STAGING is not set")
    assert flow_detail(flow) == ""


def test_a_green_flow_has_no_details() -> None:
    assert flow_detail(flow_record()) == ""


def test_a_green_flow_with_a_warning_shows_it() -> None:
    assert flow_detail(replace(flow_record(), warnings=("odd",))) == "  warning: odd"


def test_a_failed_flow_says_everything() -> None:
    detail = flow_detail(diverged())
    for part in (
        "the text of message 2 (user) changed",
        "✗ assert_tool_call: issue_refund where amount equals 40  refunds/approval.flow.yaml:12",
        "expected: amount equals 40",
        'closest:  issue_refund {"amount": 400}',
        "- the customer asked politely.",
        "+ the customer asked politely.·",
        "the agent exited with status 1",
        "| openai.BadRequestError",
        "warning: `issue_refund`",
        "hint: if this change is meant, record it again: flowproof record refunds/approval",
    ):
        assert part in detail
    assert "delete_account" not in detail


@pytest.mark.parametrize("style", [Style(), COLOR], ids=["plain", "colour"])
def test_hostile_text_does_not_drive_the_terminal(style: Style) -> None:
    record = hostile_run()
    [flow] = record.flows
    text = "\n".join(
        [flow_line(flow, style), flow_detail(flow, style), summary(record, ["a\x1b[2Jb"], style)]
    )
    text.encode()
    text = ANSI.sub("", text) if style.color else text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]", text)
    assert len(flow_line(flow, style).splitlines()) == 1
    assert max(map(len, text.splitlines())) < 1500


def test_the_summary_counts_add_up_and_name_the_reports() -> None:
    text = summary(sample_run(), ["reports/index.html"])
    assert text.splitlines() == [
        "1 of 7 flows failed and 2 could not be judged.",
        "7 flows: 2 pass, 1 pass*, 1 fail, 1 error, 1 capability-error, 1 skipped"
        " in 1 min 02 s (exit 1: a flow failed)",
        "report: reports/index.html",
    ]


def test_the_summary_of_a_green_run_is_short() -> None:
    assert summary(run_of(flow_record())) == "The flow passed.\n1 flow: 1 pass in 1 min 02 s"


def test_the_summary_says_what_weakens_it() -> None:
    record = replace(run_of(), partial=True, warnings=("two suites overlap",))
    text = summary(record)
    assert "Nothing ran." in text
    assert f"exit {int(ExitCode.NOTHING_RAN)}" in text
    assert "does not vouch for the whole suite" in text
    assert "warning: two suites overlap" in text


def tried(*reasons: str, verdict: Verdict = Verdict.FLAKY) -> FlowRecord:
    """A flow that was tried again after it failed for these reasons."""
    attempts = [AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 0.4, one) for one in reasons]
    code = ExitCode.PASSED if verdict.green else ExitCode.FLOW_FAILED
    flow = replace(diverged(), verdict=verdict, exit_code=code, attempts=tuple(attempts))
    return replace(flow, reason=reasons[0])


def test_flaky_flows_are_listed_with_all_their_tries() -> None:
    flow = replace(tried("no reply", "a\nb"), duration=0.25)
    record = run_of(flow_record(), flow)
    assert summary(record).splitlines() == [
        "flaky:",
        "  ≈ Refund asks for approval  refunds/approval.flow.yaml",
        "      try 1: fail, 400 ms: no reply",
        "      try 2: fail, 400 ms: a ⏎ b",
        "      try 3: pass, 250 ms",
        "Both flows passed; 1 only when tried again.",
        *summary(record).splitlines()[-1:],
    ]
    assert flow_line(flow).endswith("250 ms  try 3")


def test_a_flow_that_failed_each_time_says_so() -> None:
    detail = flow_detail(tried("no reply", "no reply", verdict=Verdict.FAIL))
    assert "  try 2: fail, 400 ms: no reply" in detail.splitlines()


def test_very_many_tries_and_flaky_flows_are_counted() -> None:
    text = summary(run_of(*[tried(*["no"] * 100)] * 100))
    assert text.count("… and 80 more") == 21
    assert len(text.splitlines()) < 600


@pytest.mark.parametrize(
    ("flows", "slowest", "named"),
    [
        pytest.param(10, None, 0, id="few flows"),
        pytest.param(11, None, 3, id="many flows"),
        pytest.param(11, 0, 0, id="none wanted"),
        pytest.param(2, 5, 2, id="more than there are"),
        pytest.param(30, 12, 12, id="as many as wanted"),
    ],
)
def test_the_slowest_flows(flows: int, slowest: int | None, named: int) -> None:
    timed = [replace(flow_record(f"flow {n}"), duration=float(n)) for n in range(1, flows + 1)]
    lines = summary(run_of(*timed), slowest=slowest).splitlines()
    found = [line for line in lines if line.startswith("  ")]
    assert len(found) == named
    assert ("slowest:" in lines) is (named > 0)
    if found:
        assert f"flow {flows}" in found[0]


def test_what_did_not_run_is_not_slow() -> None:
    skipped = replace(flow_record(), verdict=Verdict.SKIPPED)
    assert "slowest" not in summary(run_of(skipped), slowest=3)


def test_after_many_flows_those_that_are_not_green_are_named_once_more() -> None:
    assert "not green:" not in summary(run_of(diverged()))
    text = summary(run_of(*[flow_record()] * 10, *[diverged()] * 25))
    assert text.count("✗ Refund asks for approval  refunds/approval.flow.yaml  the text") == 20
    assert "  … and 5 more" in text


def test_how_many_ran_at_a_time_is_said_where_it_was_more_than_one() -> None:
    flows = [replace(flow_record(), duration=3.0)] * 8
    assert "in 10.0 s, 2.4 at a time" in summary(replace(run_of(*flows), duration=10.0))
    assert "at a time" not in summary(replace(run_of(*flows), duration=24.1))


def test_errors_beside_the_flows_are_in_the_summary() -> None:
    record = replace(run_of(flow_record()), errors=("after_all failed\x1b[2J",))
    assert "error: after_all failed␛[2J" in summary(record).splitlines()


@pytest.mark.parametrize(
    ("status", "timed_out", "words"),
    [
        pytest.param(3, False, "the agent exited with status 3", id="status"),
        pytest.param(-9, False, "the agent was ended by signal 9", id="signal"),
        pytest.param(-15, True, "the agent timed out and was ended by signal 15", id="timeout"),
        pytest.param(0, True, "the agent timed out and exited with status 0", id="timeout-exit"),
        pytest.param(None, False, "the agent never started", id="never"),
    ],
)
def test_how_the_agent_ended(status: int | None, timed_out: bool, words: str) -> None:
    agent = replace(agent_exit(status), timed_out=timed_out)
    assert f"  {words}" in flow_detail(replace(diverged(), agent=agent)).splitlines()


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        pytest.param(0.0, "0 ms", id="zero"),
        pytest.param(0.0001, "<1 ms", id="tiny"),
        pytest.param(0.9996, "1.00 s", id="almost-a-second"),
        pytest.param(59.996, "1 min 00 s", id="almost-a-minute"),
        pytest.param(12.34, "12.3 s", id="seconds"),
        pytest.param(3725.0, "1 h 02 min", id="hours"),
    ],
)
def test_durations(duration: float, text: str) -> None:
    assert seconds(duration) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        pytest.param(0.2, "about 1 s", id="almost-nothing"),
        pytest.param(8.4, "about 8 s", id="seconds"),
        pytest.param(33.0, "about 35 s", id="half-a-minute"),
        pytest.param(57.0, "about 1 min", id="almost-a-minute"),
        pytest.param(200.0, "about 3 min", id="minutes"),
        pytest.param(4800.0, "about 1 h 20 min", id="hours"),
    ],
)
def test_estimates_are_no_more_exact_than_they_can_be(duration: float, text: str) -> None:
    assert about(duration) == text


def flaky() -> FlowRecord:
    return replace(
        flow_record("Shaky"),
        verdict=Verdict.FLAKY,
        attempts=(AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 0.4, "no reply"),),
    )


HOOK = "suite shop: after_all exited with status 3"


@pytest.mark.parametrize(
    ("flows", "code", "errors", "lines"),
    [
        pytest.param(
            (flow_record(), flaky()),
            ExitCode.FLOW_FAILED,
            (),
            [
                "Both flows passed; 1 only when tried again, which --fail-on-flaky forbids.",
                "(exit 1: a flow passed only when tried again)",
            ],
            id="flaky flows that may not be",
        ),
        pytest.param(
            (flow_record(), flaky()),
            ExitCode.PASSED,
            (),
            ["Both flows passed; 1 only when tried again."],
            id="flaky flows that may be",
        ),
        pytest.param(
            (diverged(), flaky()),
            ExitCode.FLOW_FAILED,
            (),
            ["1 of 2 flows failed.", "(exit 1: a flow failed)"],
            id="a flow that failed beside a flaky one",
        ),
        pytest.param(
            (flow_record(),),
            ExitCode.WORLD_ERROR,
            (HOOK,),
            [
                "The flow passed; something beside the flows went wrong.",
                "(exit 4: something beside the flows went wrong)",
                f"error: {HOOK}",
            ],
            id="after_all",
        ),
        pytest.param(
            (flow_record(), diverged()),
            ExitCode.FLOW_FAILED,
            (HOOK,),
            [
                "1 of 2 flows failed; something beside the flows went wrong.",
                "(exit 1: a flow failed)",
            ],
            id="after_all and a flow",
        ),
        pytest.param(
            (replace(flow_record(), verdict=Verdict.ERROR, exit_code=ExitCode.WORLD_ERROR),),
            ExitCode.WORLD_ERROR,
            (),
            ["(exit 4: something outside kept a flow from being judged)"],
            id="the world",
        ),
    ],
)
def test_the_end_says_why_a_run_is_red(
    flows: tuple[FlowRecord, ...], code: ExitCode, errors: tuple[str, ...], lines: list[str]
) -> None:
    shown = summary(replace(run_of(*flows), exit_code=code, errors=errors)).splitlines()
    assert all(any(line.endswith(text) for line in shown) for text in lines), shown
