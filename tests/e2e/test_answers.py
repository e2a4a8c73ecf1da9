"""The SDK reads the same at record and at replay, whatever the answer and however it is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.model import (
    USAGE,
    Answer,
    call,
    calling,
    completion,
    failing,
    message,
    model,
    saying,
)
from tests.e2e.project import OPENAI_AGENT, Project, flow

TWO_CALLS = calling(
    call("get_weather", '{"city":\t"Å"}', "call_a"), call("get_time", "{}", "call_b")
)
CONVERSATION = (TWO_CALLS, completion(message("Grüße \U0001f44b, 4 degrees."), id="zwei"))
REFUSED = completion(message(None, refusal="I must not."))
TWO_CHOICES = completion(message("heads"), message("tails"))
# The SDK's own stream helper raises on these, so that they are asked for plainly only.
FILTERED = completion(message("I m"), finish="content_filter")
CUT = completion(message("It is 4 deg"), finish="length")


@pytest.mark.parametrize("how", ["plain", "chunks", "helper"])
def test_a_tool_loop_reads_the_same(project: Project, how: str) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT))
    plan = {"how": how, "usage": True}
    with model(*CONVERSATION) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url, plan=plan)
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert (recorded.code, replayed.code) == (0, 0)
    assert recorded.said() == replayed.said()
    ends = [line.get("final", line) for line in replayed.said()]
    assert [end["id"] for end in ends] == ["chatcmpl-1", "chatcmpl-zwei"]
    assert [end["choices"][0]["finish_reason"] for end in ends] == ["tool_calls", "stop"]
    assert {end["model"] for end in ends} == {"small-1-2026-01-01"}
    assert all({**end["usage"], **USAGE} == end["usage"] for end in ends)
    calls = ends[0]["choices"][0]["message"]["tool_calls"]
    assert [(one["id"], one["function"]["arguments"]) for one in calls] == [
        ("call_a", '{"city":\t"Å"}'),
        ("call_b", "{}"),
    ]


@pytest.mark.parametrize(
    ("how", "answers"),
    [
        pytest.param("plain", (REFUSED, TWO_CHOICES, FILTERED, CUT), id="plain"),
        pytest.param("chunks", (REFUSED, TWO_CHOICES), id="chunks"),
    ],
)
def test_every_kind_of_answer_reads_the_same(
    project: Project, how: str, answers: tuple[Answer, ...]
) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT))
    # Equal requests, one after another: each gets the answer that it got at record.
    plan = {"how": how, "calls": 0, "more": len(answers), "edits": [{"at": ["n"], "to": 2}]}
    with model(*answers) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url, plan=plan)
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert (recorded.code, replayed.code) == (0, 0)
    assert recorded.said() == replayed.said()
    for said, read in zip(answers, replayed.said(), strict=True):
        told = [choice_of(choice) for choice in said.body["choices"]]
        assert [choice_of(choice) for choice in read["choices"]] == told


def choice_of(choice: dict[str, Any]) -> tuple[object, ...]:
    message = choice["message"]
    return choice["index"], choice["finish_reason"], message["content"], message["refusal"]


def test_a_recording_of_failures_alone_is_none(project: Project) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT, {"assert_no_tool_call": "wipe"}))
    with model(failing(500)) as upstream:
        plan = {"max_retries": 0, "survive": True}
        recorded = project.record("a.flow.yaml", upstream.url, plan=plan)
    assert (recorded.code, recorded.flow["verdict"]) == (4, "error")
    assert "status 500" in recorded.flow["reason"]
    assert not project.trace("a.flow.yaml").exists()


def test_a_failure_that_nobody_retried_is_a_turn_with_its_status(project: Project) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT, agent={"keep_retries": True}))
    plan = {"max_retries": 0, "survive": True}
    with model(failing(500)) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url, plan=plan)
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert (recorded.code, replayed.code) == (0, 0)
    assert recorded.said() == replayed.said()
    assert replayed.said()[0]["status"] == 500
    assert replayed.said()[0]["body"]["message"] == "status 500"
    assert replayed.flow["trajectory"]["turns"][0]["status"] == 500


def test_a_failure_that_the_sdk_retried_is_dropped_and_counted(project: Project) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT, {"assert": "reply contains fine"}))
    answers = (failing(429, retry_after_ms="10"), failing(503), saying("All fine."))
    with model(*answers) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url)
    assert len(upstream.received) == 3
    assert (recorded.code, recorded.flow["traffic"]["retries_dropped"]) == (0, 2)
    replayed = project.replay("a.flow.yaml")
    assert (replayed.code, replayed.flow["traffic"]["requests"]) == (0, 1)
    assert recorded.said() == replayed.said()
