"""The report in the Common Test Report Format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from flowproof.errors import ExitCode
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import RunRecord
from flowproof.report.ctrf import render, status
from tests.report.ctrf_schema import CTRF
from tests.report.evidence_runs import COMMIT, flaky, known_run, passing_run, value, written
from tests.report.fixtures import diverged, flow_record, run_of, sample_run
from tests.report.hostile import hostile_run

RUNS: dict[str, Callable[[], RunRecord]] = {
    "everything known": known_run,
    "nothing known": sample_run,
    "all well": passing_run,
    "hostile": hostile_run,
    "empty": run_of,
    "no times": lambda: replace(run_of(flow_record("")), started="x", duration=1e300, id=""),
}


def ctrf(record: RunRecord) -> Any:
    [(name, data)] = written(render, record).items()
    assert name == "ctrf-report.json"
    made = value(data)
    jsonschema.Draft202012Validator(CTRF).validate(made)
    return made


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_report_is_by_the_schema_and_adds_up(run: Callable[[], RunRecord]) -> None:
    results = ctrf(run())["results"]
    summary, found = results["summary"], Counter(one["status"] for one in results["tests"])
    assert summary["tests"] == len(results["tests"])
    for name in ("passed", "failed", "skipped", "pending", "other"):
        assert summary[name] == found[name]
    assert summary["stop"] - summary["start"] == summary["duration"] >= 0


@pytest.mark.parametrize(
    "guilty",
    [
        pytest.param(lambda made: made.pop("reportFormat"), id="no format"),
        pytest.param(lambda made: made.update(flows=[]), id="a field of ours"),
        pytest.param(lambda made: made["results"]["tests"][0].update(verdict="pass"), id="verdict"),
        pytest.param(lambda made: made["results"]["tests"][0].update(status="error"), id="status"),
        pytest.param(lambda made: made["results"]["tests"][0].update(duration=0.5), id="seconds"),
    ],
)
def test_the_schema_refuses_what_the_format_does_not_know(guilty: Callable[[Any], object]) -> None:
    made = ctrf(sample_run())
    guilty(made)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(CTRF).validate(made)


@pytest.mark.parametrize("verdict", Verdict, ids=lambda verdict: verdict.name)
def test_what_is_not_green_never_looks_green(verdict: Verdict) -> None:
    green = {Verdict.SKIPPED: "skipped"}.get(verdict, "passed")
    assert status(verdict) == (green if verdict.green else "failed")


def red(record: RunRecord) -> list[str]:
    tests = ctrf(record)["results"]["tests"]
    return [one["name"] for one in tests if one["status"] == "failed"]


@pytest.mark.parametrize(
    ("record", "names"),
    [
        pytest.param(passing_run(), [], id="green"),
        pytest.param(run_of(diverged()), ["Refund asks for approval"], id="a flow"),
        pytest.param(run_of(), ["(suite, not a flow) 1"], id="nothing ran"),
        pytest.param(
            replace(run_of(flaky()), exit_code=ExitCode.FLOW_FAILED),
            ["(suite, not a flow) 1"],
            id="flaky is forbidden",
        ),
        pytest.param(
            replace(
                passing_run(), errors=("after_all failed", "x"), exit_code=ExitCode.WORLD_ERROR
            ),
            ["(suite, not a flow) 1", "(suite, not a flow) 2"],
            id="hooks",
        ),
    ],
)
def test_it_is_red_where_the_exit_code_is(record: RunRecord, names: list[str]) -> None:
    assert red(record) == names
    healthy = ctrf(record)["results"]["environment"]["healthy"]
    assert healthy is (not record.exit_code)


def test_a_flow_in_the_words_of_the_format() -> None:
    made = ctrf(known_run())
    first = made["results"]["tests"][0]
    assert first["suite"] == ["support-bot", "smoke"]
    assert (first["filePath"], first["line"]) == ("smoke/booking.flow.yaml", 1)
    assert first["labels"]["control"] == "ac.bookings.create"
    assert first["attachments"][0]["path"] == "smoke/booking.trace.json"
    assert [one["status"] for one in first["steps"]] == ["passed", "passed"]
    failed = made["results"]["tests"][2]
    assert failed["message"] == "the text of message 2 (user) changed"
    assert "the customer asked politely" in failed["trace"]
    assert failed["stderr"][-1] == "openai.BadRequestError"
    environment = made["results"]["environment"]
    assert (environment["commit"], environment["branchName"]) == (COMMIT, "main")


def test_earlier_tries_are_told() -> None:
    [test] = ctrf(run_of(flaky()))["results"]["tests"]
    assert (test["flaky"], test["retries"], test["threadId"]) == (True, 1, "worker-3 2")
    assert test["retryAttempts"] == [
        {"attempt": 1, "status": "failed", "duration": 250, "message": "it said no\nand left"}
    ]
    assert ctrf(run_of(flaky()))["results"]["summary"]["flaky"] == 1


def test_the_same_run_is_the_same_report() -> None:
    assert written(render, known_run()) == written(render, known_run())
    other = replace(known_run(), id="another")
    assert ctrf(other)["reportId"] != ctrf(known_run())["reportId"]


def test_no_text_holds_what_a_terminal_obeys() -> None:
    data = written(render, hostile_run())["ctrf-report.json"]
    texts = [test["message"] + test["name"] for test in value(data)["results"]["tests"]]
    assert not any(char in text for text in texts for char in "\x1b\x00\u202e\u2066\x9b")
    assert len(data) < 60_000
