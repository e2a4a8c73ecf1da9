"""What calls beside a conversation mean for a verdict, with the real command line."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import pytest

from tests.e2e.project import AGENTS, Project, Ran, flow
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Script

SIDE_AGENT = shlex.join([sys.executable, "-S", str(AGENTS / "side_agent.py")])
VECTOR = {"data": [{"index": 0, "embedding": [0.5, -0.25]}]}
MODELS: dict[str, Any] = {"path": "/models"}


def asks(text: str = "hello") -> dict[str, Any]:
    said = [{"role": "user", "content": text}]
    return {"path": "/chat/completions", "body": {"model": "small-1", "messages": said}}


def embeds(text: str = "a") -> dict[str, Any]:
    return {"path": "/embeddings", "body": {"model": "small-1", "input": text}}


PLAN = [MODELS, embeds("a"), asks(), embeds("b"), embeds("a")]


def respond(request: Received) -> Script:
    if request.target == "/v1/embeddings":
        return up.answer(VECTOR)
    if request.target == "/v1/models":
        return up.answer({"data": [{"id": "small-1"}]})
    return up.answer(up.completion("Hello."))


def record(project: Project, plan: list[Any], *steps: object) -> Ran:
    judged = steps or ({"assert": "reply contains Hello"},)
    project.write("a.flow.yaml", flow(SIDE_AGENT, *judged))
    with FakeUpstream(respond) as upstream:
        return project.record("a.flow.yaml", upstream.url, plan=plan)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A conversation of one turn, with two embeddings and a list beside it."""
    project = Project(tmp_path_factory.mktemp("beside"))
    ran = record(project, PLAN)
    assert (ran.code, ran.flow["verdict"]) == (0, "pass"), ran.stdout
    traffic = ran.flow["traffic"]
    assert (traffic["requests"], traffic["recorded"]) == (1, 1)
    assert (traffic["side_calls"], traffic["side_recorded"]) == (4, 3)
    return project


def test_the_trace_holds_each_side_call_once_and_shows_how_many(recorded: Project) -> None:
    trace = json.loads(recorded.trace("a.flow.yaml").read_text("utf-8"))
    assert [(one["endpoint"], one["path"]) for one in trace["side_calls"]] == [
        ("openai.models", "/models"),
        ("openai.embeddings", "/embeddings"),
        ("openai.embeddings", "/embeddings"),
    ]
    assert len(trace["turns"]) == 1
    shown = recorded.flowproof("show", "a.trace.json").stdout
    assert "3 side calls: openai.models (1), openai.embeddings (2)" in shown


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(PLAN, id="the same"),
        pytest.param([embeds("b"), embeds("a"), asks()], id="another order, no list"),
        pytest.param([*PLAN, MODELS, MODELS, embeds("a"), embeds("b")], id="more often"),
    ],
)
def test_what_is_no_change(recorded: Project, plan: list[Any]) -> None:
    ran = recorded.replay("a.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"]) == (0, "pass"), ran.stdout
    assert {one["status"] for one in ran.said()} == {200}
    traffic = ran.flow["traffic"]
    assert traffic["side_calls"] == len(plan) - 1
    assert (traffic["requests"], traffic["side_recorded"]) == (1, 3)


@pytest.mark.parametrize(
    ("call", "kind", "path", "says"),
    [
        pytest.param(embeds("c"), "input", "$.input", "side call 1 (openai.embeddings)", id="text"),
        pytest.param(
            {"path": "/models?limit=1"}, "path", "the request path", "openai.models", id="page"
        ),
        pytest.param(
            {"path": "/responses/input_tokens", "body": {"input": "a"}},
            *("side call", None, "the recording holds no call of that kind"),
            id="a count",
        ),
    ],
)
def test_a_change_fails_the_flow_and_is_named(
    recorded: Project, call: dict[str, Any], kind: str, path: str | None, says: str
) -> None:
    ran = recorded.replay("a.flow.yaml", plan=[call, *PLAN])
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert says in ran.flow["reason"]
    found = ran.flow["divergence"]
    assert (found["kind"], found["path"]) == (kind, path)
    assert {one["status"] for one in ran.said()} == {400}, "nothing is answered after it"


def test_a_pinned_call_that_is_not_made_fails_the_flow(recorded: Project) -> None:
    ran = recorded.replay("a.flow.yaml", plan=[asks(), embeds("b")])
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert ran.flow["reason"] == (
        "the agent made fewer side calls than recorded: never requested: "
        "side call 2 (openai.embeddings)"
    )


def test_side_calls_alone_are_no_model_request(project: Project) -> None:
    ran = record(project, [MODELS, embeds()])
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert (
        "no model request arrived, only 2 side calls (openai.embeddings, openai.models)"
        in (ran.flow["reason"])
    )
    assert not project.trace("a.flow.yaml").exists()
    assert record(project, PLAN).code == 0
    ran = project.replay("a.flow.yaml", plan=[MODELS, embeds("a"), embeds("b")])
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "no model request arrived, only 3 side calls" in ran.flow["reason"]


def test_a_side_call_that_nobody_answers_keeps_the_trace_from_being_written(
    project: Project,
) -> None:
    def cut(request: Received) -> Script:
        return [up.Close()] if "embeddings" in request.target else respond(request)

    project.write("a.flow.yaml", flow(SIDE_AGENT, {"assert": "reply contains Hello"}))
    with FakeUpstream(cut) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=[asks(), embeds()])
    assert ran.code != 0
    assert "side call 1 (openai.embeddings) has no answer" in ran.flow["reason"]
    assert upstream.url in ran.flow["reason"]
    assert not project.trace("a.flow.yaml").exists()


def test_a_trace_with_calls_that_this_version_does_not_know_is_refused(
    recorded: Project, project: Project
) -> None:
    text = recorded.trace("a.flow.yaml").read_text("utf-8")
    project.write("a.flow.yaml", flow(SIDE_AGENT, {"assert": "reply contains Hello"}))
    project.write("a.trace.json", text.replace("openai.models", "openai.images"))
    ran = project.replay("a.flow.yaml", plan=PLAN)
    assert (ran.code, ran.flow["verdict"]) == (4, "capability-error")
    assert "the trace holds calls of openai.images" in ran.flow["reason"]
