"""Mocks pin what the model is told a tool returned, by the same rule in both phases."""

from __future__ import annotations

import pytest

from tests.e2e.model import call, calling, model, saying
from tests.e2e.project import PLAIN_AGENT, Project, flow

REPLY = {"assert": "reply contains Booked"}
ASK = {"do": "ask", "say": "book it", "result": "made at NOW"}
PLAN = [ASK, {"do": "ask", "result": "made at NOW"}]
BOOK = calling(call("book", "{}", "call_a"))
MOCK = {"name": "book", "result": {"id": 7, "at": "noon"}}


def told(upstream_bodies: list[dict[str, object]]) -> list[object]:
    """The tool results in the last request."""
    messages = upstream_bodies[-1]["messages"]
    assert isinstance(messages, list)
    return [one["content"] for one in messages if one["role"] == "tool"]


def test_a_volatile_result_is_pinned(project: Project) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, tools=[MOCK]))
    with model(BOOK, saying("Booked.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=PLAN).code == 0
    assert told([asked.json() for asked in upstream.received]) == ['{"id":7,"at":"noon"}']
    ran = project.replay("a.flow.yaml", plan=PLAN)
    assert (ran.code, ran.flow["verdict"]) == (0, "pass")
    assert ran.flow["trajectory"]["turns"][1]["mocked"] == ["book"]


def test_the_same_result_without_a_mock_is_a_divergence(project: Project) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY))
    with model(BOOK, saying("Booked.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=PLAN).code == 0
    ran = project.replay("a.flow.yaml", plan=PLAN)
    assert (ran.code, ran.flow["divergence"]["kind"]) == (1, "tool result")


@pytest.mark.parametrize(
    ("tools", "change"),
    [
        pytest.param([{**MOCK, "result": {"id": 8}}], "was edited", id="edited"),
        pytest.param([], "was removed", id="removed"),
        pytest.param([MOCK, {"name": "pay", "result": "ok"}], "was added", id="added"),
    ],
)
def test_a_changed_mock_ends_before_the_launch(
    project: Project, tools: list[dict[str, object]], change: str
) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, tools=[MOCK]))
    with model(BOOK, saying("Booked.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=PLAN).code == 0
    before = project.trace("a.flow.yaml").read_bytes()
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, tools=tools))
    ran = project.replay("a.flow.yaml", plan=[{"do": "touch", "file": "launched"}, *PLAN])
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    assert change in ran.flow["reason"]
    assert "flowproof record a.flow.yaml" in ran.flow["reason"]
    assert not (project.folder / "launched").exists()
    assert project.trace("a.flow.yaml").read_bytes() == before


THRICE = [
    ASK,
    {"do": "ask", "result": "x NOW"},
    {"do": "ask", "result": "x NOW"},
    {"do": "ask", "result": "x NOW"},
]
CALLS = [calling(call("book", "{}", id)) for id in ("call_a", "call_b", "call_c")]


def test_results_are_given_one_call_after_another(project: Project) -> None:
    mock = {"name": "book", "results": ["first", {"n": 2}], "repeat_last": True}
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, tools=[mock]))
    with model(*CALLS, saying("Booked.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=THRICE).code == 0
    assert told([asked.json() for asked in upstream.received]) == ["first", '{"n":2}', '{"n":2}']
    assert project.replay("a.flow.yaml", plan=THRICE).code == 0


def test_running_out_of_results_fails_and_says_so(project: Project) -> None:
    mock = {"name": "book", "results": ["first", "second"]}
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, tools=[mock]))
    with model(*CALLS, saying("Booked.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=THRICE)
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "`book` was called 3 times, but `results:` holds 2 results" in ran.flow["reason"]
    assert len(upstream.received) == 3, "nothing is paid for beyond"
    assert not project.trace("a.flow.yaml").exists()


def test_running_out_at_replay_fails_and_says_so(project: Project) -> None:
    mock = {"name": "book", "results": ["first", "second"]}
    project.write("a.flow.yaml", flow(PLAIN_AGENT, REPLY, tools=[mock]))
    with model(*CALLS[:2], saying("Booked.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=THRICE[:3]).code == 0
    made_up = [
        {"role": "assistant", "content": None, "tool_calls": [call("book", "{}", id)]}
        for id in ("call_a", "call_b", "call_c")
    ]
    results = [{"role": "tool", "tool_call_id": f"call_{id}", "content": ""} for id in "abc"]
    messages = [part for pair in zip(made_up, results, strict=True) for part in pair]
    ran = project.replay("a.flow.yaml", plan=[{"do": "ask", "with": {"messages": messages}}])
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert ran.flow["divergence"]["kind"] == "mock results"
    assert "holds 2 results" in ran.flow["reason"]
