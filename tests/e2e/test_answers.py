"""The SDK reads the same at record and at replay, whatever the answer and however it is asked."""

from __future__ import annotations

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
    ("answer", "how"),
    [
        pytest.param(REFUSED, "plain", id="a refusal"),
        pytest.param(REFUSED, "chunks", id="a streamed refusal"),
        pytest.param(TWO_CHOICES, "plain", id="n=2"),
        pytest.param(TWO_CHOICES, "chunks", id="n=2 streamed"),
        pytest.param(FILTERED, "plain", id="filtered"),
        pytest.param(CUT, "plain", id="cut"),
    ],
)
def test_an_answer_reads_the_same(project: Project, answer: Answer, how: str) -> None:
    choices = len(answer.body["choices"])
    project.write("a.flow.yaml", flow(OPENAI_AGENT))
    plan = {"how": how, "edits": [{"at": ["n"], "to": choices}]}
    with model(answer) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url, plan=plan)
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert (recorded.code, replayed.code) == (0, 0)
    assert recorded.said() == replayed.said()
    [end] = replayed.said()
    assert len(end["choices"]) == choices
    said = [choice["message"] for choice in answer.body["choices"]]
    read = [choice["message"] for choice in end["choices"]]
    assert [one["content"] for one in read] == [one["content"] for one in said]
    assert [one["refusal"] for one in read] == [one["refusal"] for one in said]
    ends = {choice["finish_reason"] for choice in end["choices"]}
    assert ends == {answer.body["choices"][0]["finish_reason"]}


def test_a_failure_that_nobody_retried_is_a_turn_with_its_status(project: Project) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT))
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
