"""Annotations and the step summary: their limits, their escapes, and hostile text in them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from flowproof.errors import ExitCode
from flowproof.model.outcome import AssertionResult, Unjudged, Verdict
from flowproof.model.run_record import AttemptRecord, FlowRecord, RunRecord
from flowproof.report.github import (
    GREEN_ROWS,
    SUMMARY_LIMIT,
    step_summary,
    workflow_commands,
)
from tests.report.fixtures import diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run

COMMAND = re.compile(r"::(error|warning) ([^\r\n]*?)::([^\r\n]*)")


def flaky() -> FlowRecord:
    attempt = AttemptRecord(Verdict.FAIL, ExitCode.FLOW_FAILED, 0.4, "no reply")
    reason = "it passed after 1 try that did not: no reply"
    return replace(flow_record("Shaky"), verdict=Verdict.FLAKY, reason=reason, attempts=(attempt,))


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """Kind, properties and message, read as GitHub's runner reads them."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    properties = dict(pair.split("=", 1) for pair in found[2].split(","))
    return found[1], {k: unescaped(v) for k, v in properties.items()}, unescaped(found[3])


def unescaped(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def failed(count: int) -> list[FlowRecord]:
    return [replace(diverged(), name=f"flow {number}") for number in range(count)]


def test_a_failed_flow_is_an_error_at_the_assertion_that_does_not_hold() -> None:
    [line] = workflow_commands(run_of(diverged()), "services/bot")
    kind, properties, message = parsed(line)
    assert (kind, properties["line"]) == ("error", "12")
    assert properties["file"] == "services/bot/refunds/approval.flow.yaml"
    assert properties["title"] == "Refund asks for approval failed"
    assert message.startswith("the text of message 2 (user) changed\n")
    assert "+ the customer asked politely.·" in message


NOT_SHOWN = Unjudged("the run broke off before this could be shown")


def unjudged(verdict: Verdict, reason: str, *lines: int) -> FlowRecord:
    """A red flow with an assertion that nothing could show in each of these lines."""
    results = tuple(AssertionResult(f"assert: reply contains {n}", n, NOT_SHOWN) for n in lines)
    return replace(
        diverged(), path="a.flow.yaml", verdict=verdict, reason=reason, assertions=results
    )


@pytest.mark.parametrize(
    ("flow", "line"),
    [
        pytest.param(unjudged(Verdict.FAIL, "it hung", 7, 9), 1, id="a hang judges nothing"),
        pytest.param(
            unjudged(Verdict.FAIL, "a.flow.yaml:8:1: says the agent", 7), 1, id="its own words"
        ),
        pytest.param(
            unjudged(Verdict.ERROR, "1 of 2 could not be judged: assert: reply contains 9", 7, 9),
            9,
            id="the assertion that the reason is about",
        ),
        pytest.param(
            unjudged(Verdict.ERROR, "a.flow.yaml:6:5: unknown key `stps`\n    stps:"),
            6,
            id="a spec that is wrong",
        ),
        pytest.param(
            unjudged(Verdict.CAPABILITY_ERROR, "a.flow.yaml:3:1: `mcp` cannot be run"),
            3,
            id="what cannot be run",
        ),
        pytest.param(
            unjudged(Verdict.ERROR, "suite.yaml:6:5: wrong\nb/a.flow.yaml:7:1: too"),
            1,
            id="another file",
        ),
    ],
)
def test_an_annotation_is_where_to_look_first(flow: FlowRecord, line: int) -> None:
    [told] = workflow_commands(run_of(flow))
    assert parsed(told)[1]["line"] == str(line)


def test_an_assertion_that_does_not_hold_comes_before_one_that_was_not_judged() -> None:
    flow = diverged()
    open = AssertionResult("assert: reply contains x", 9, NOT_SHOWN)
    flow = replace(flow, assertions=(open, *flow.assertions))
    assert parsed(workflow_commands(run_of(flow))[0])[1]["line"] == "12"


def test_a_green_run_says_nothing() -> None:
    skipped = replace(flow_record(), verdict=Verdict.SKIPPED, reason="no trace")
    assert workflow_commands(run_of(flow_record(), skipped)) == ()


def test_flaky_flows_and_warnings_are_warnings() -> None:
    warned = replace(flow_record("Odd"), warnings=("a guard could not fail",))
    record = replace(run_of(flow_record(), warned, flaky()), warnings=("two suites overlap",))
    found = [parsed(line) for line in workflow_commands(record)]
    assert [kind for kind, _, _ in found] == ["warning"] * 3
    assert [properties["title"] for _, properties, _ in found] == [
        "Shaky passed only after a retry",
        "Odd passed",
        "support-bot",
    ]
    assert "no reply" in found[0][2] and "a guard could not fail" in found[1][2]


def test_what_went_wrong_beside_the_flows_is_an_error() -> None:
    record = replace(run_of(flow_record()), errors=("after_all failed",))
    record = replace(record, exit_code=ExitCode.WORLD_ERROR)
    assert parsed(workflow_commands(record)[0])[2] == "after_all failed"


@pytest.mark.parametrize(
    ("record", "text"),
    [
        pytest.param(run_of(), "Nothing ran (exit 5", id="nothing ran"),
        pytest.param(
            replace(run_of(flaky()), exit_code=ExitCode.FLOW_FAILED),
            "The flow passed; 1 only when tried again, which --fail-on-flaky forbids (exit 1: a "
            "flow passed only when tried again)",
            id="flaky that may not be",
        ),
    ],
)
def test_a_red_run_without_a_red_flow_has_one_error(record: RunRecord, text: str) -> None:
    [error] = [line for line in workflow_commands(record) if line.startswith("::error")]
    assert parsed(error)[2].startswith(text)


@pytest.mark.parametrize(("count", "lines"), [(9, 9), (10, 10), (11, 10), (5_000, 10)])
def test_no_more_than_github_shows_and_the_rest_is_counted(count: int, lines: int) -> None:
    found = workflow_commands(run_of(*failed(count)))
    assert len(found) == lines, "the warnings of a failed flow are in its error"
    errors = [parsed(line)[2] for line in found if line.startswith("::error")]
    assert len(errors) == lines
    if count > 10:
        assert errors[-1] == f"{count - 9} more in the report"
    else:
        assert not any("more in the report" in message for message in errors)


def test_the_worst_come_first() -> None:
    errors = [
        replace(flow_record(f"unjudged {n}"), verdict=Verdict.ERROR, reason="r") for n in range(12)
    ]
    first = parsed(workflow_commands(run_of(*errors, diverged()))[0])
    assert first[1]["title"] == "Refund asks for approval failed"


@pytest.mark.parametrize(
    ("folder", "path", "file"),
    [
        pytest.param("", "a/b.flow.yaml", "a/b.flow.yaml", id="at the root"),
        pytest.param(".", "b.flow.yaml", "b.flow.yaml", id="dot"),
        pytest.param("sub", "../b.flow.yaml", "b.flow.yaml", id="climbs inside"),
        pytest.param("sub", "../../b.flow.yaml", None, id="climbs out"),
        pytest.param("../sub", "b.flow.yaml", None, id="a folder outside"),
        pytest.param("", "/etc/passwd", None, id="absolute"),
        pytest.param("", "..b/c.flow.yaml", "..b/c.flow.yaml", id="a name with dots"),
    ],
)
def test_files_are_named_from_the_root_of_the_repository(
    folder: str, path: str, file: str | None
) -> None:
    [line] = workflow_commands(run_of(replace(diverged(), path=path)), folder)
    properties = parsed(line)[1]
    assert properties.get("file") == file
    assert ("line" in properties) is (file is not None)


def test_no_text_escapes_from_its_place() -> None:
    evil = "a%0A::error::b\r\n::add-mask::x,line=9:c"
    flow = replace(diverged(), name=evil, path=f"x,{evil}", reason=evil)
    [line] = workflow_commands(replace(run_of(flow), suite=evil))
    kind, properties, message = parsed(line)
    assert (kind, properties["line"]) == ("error", "12")
    assert set(properties) == {"file", "line", "title"}
    assert "a%0A::error::b\n::add-mask::x,line=9:c" in message
    assert properties["title"] == "a%0A::error::b ⏎ ::add-mask::x,line=9:c failed"


def test_hostile_text_gives_whole_commands_of_bounded_length() -> None:
    for line in workflow_commands(hostile_run()):
        line.encode()
        parsed(line)
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e\u200b]", line)
        assert len(line) < 10_000


def test_the_summary_has_what_needs_a_look_first_and_counts_that_add_up() -> None:
    text = step_summary(run_of(*sample_run().flows, flaky()))
    verdicts = re.findall(r"^\| . (\S+) \|", text, re.MULTILINE)
    assert verdicts == [
        *("fail", "error", "capability-error", "flaky", "pass&#42;"),
        *("pass", "pass", "skipped"),
    ]
    assert text.startswith("## ✗ support-bot: 1 of 8 flows failed and 2 could not be judged\n")
    assert "\n<pre>\nthe text of message 2 (user) changed\n" in text
    assert "<summary>3 flows passed or skipped</summary>" in text
    assert text.count("<details>") == text.count("</details>") == 5


def test_the_summary_says_what_weakens_it() -> None:
    record = replace(run_of(flow_record()), partial=True, errors=("e",), warnings=("w",))
    text = step_summary(record)
    assert "does not vouch for the whole suite" in text
    assert "- error: e\n" in text and "- warning: w\n" in text


def test_a_table_row_is_one_line_whatever_is_in_it() -> None:
    evil = "a | b\n\n# c <img src=x> [d](http://e) `f` @g **h** www.i.example &lt; \\| 👍"
    flow = replace(diverged(), name=evil, reason=evil, path=evil)
    [row] = [line for line in step_summary(run_of(flow)).split("\n") if line.startswith("| ✗")]
    assert row.count("|") == 5
    shown = re.sub("</?b>|<br>", "", row)
    assert not re.search(r"[<>\[\]`@*\\]|&(?!#\d+;)|http:|www\.", shown)


def test_hostile_text_stays_in_its_block() -> None:
    text = step_summary(hostile_run())
    text.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]", text)
    assert "<img" not in text and "<script" not in text and "</script" not in text
    assert text.count("<pre>") == text.count("</pre>") == 1
    assert text.count("<details>") == text.count("</details>") == 1


@pytest.mark.parametrize(
    "flow", [diverged(), replace(flow_record(), name="&" * 300)], ids=["red", "green"]
)
def test_the_summary_of_very_many_flows_is_bounded_and_says_what_is_missing(
    flow: FlowRecord,
) -> None:
    text = step_summary(run_of(*[flow] * 10_000))
    assert len(text.encode()) <= SUMMARY_LIMIT
    assert " more in the report" in text
    assert text.count("<details>") == text.count("</details>")
    assert text.count("| ✓ pass |") <= GREEN_ROWS + 1


@pytest.mark.parametrize("room", [2_000, 3_000, 5_000, 20_000])
def test_little_room_is_enough(room: int) -> None:
    flows = [*failed(30), *[flow_record()] * 30]
    text = step_summary(run_of(*flows), room)
    assert len(text.encode()) <= room
    assert text.startswith("## ✗ support-bot: 30 of 60 flows failed")
    assert text.count("<details>") == text.count("</details>")
