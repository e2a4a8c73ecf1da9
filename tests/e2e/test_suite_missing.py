"""`suite run --record-missing`: what has no trace is recorded, what has one is replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.model import model, saying
from tests.e2e.project import PLAIN_AGENT, PLAIN_PLAN, Project, flow

PLAN = PLAIN_PLAN[:1]


def add_untraced(project: Project, name: str, reply: str = "Hello") -> None:
    steps = {"assert": f"reply contains {reply}"}
    project.write(f"{name}.flow.yaml", flow(PLAIN_AGENT, steps, name=name))


def test_only_what_has_no_trace_is_recorded(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    add_untraced(project, "b")
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        done = project.flowproof("suite", "run", "--record-missing", "--json", plan=PLAN, env=env)
    assert done.code == 0
    found = [(one["name"], one["phase"], one["verdict"]) for one in done.record["flows"]]
    assert found == [("a.flow.yaml", "replay", "pass"), ("b", "record", "pass")]
    assert len(upstream.received) == 1
    assert project.trace("b.flow.yaml").exists()
    again = project.flowproof("suite", "run", "--strict", "--json", plan=PLAN)
    assert [one["phase"] for one in again.record["flows"]] == ["replay"] * 2
    assert again.code == 0


def test_a_recording_that_fails_is_red_and_writes_nothing(project: Project) -> None:
    add_untraced(project, "b", reply="Bye")
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        arguments = ("suite", "run", "--record-missing", "--retries", "2", "--json")
        done = project.flowproof(*arguments, plan=PLAN, env=env)
    assert (done.code, done.flow["verdict"], done.flow["attempts"]) == (1, "fail", [])
    assert len(upstream.received) == 1, "a real model is not asked again"
    assert not project.trace("b.flow.yaml").exists()


@pytest.mark.parametrize("more", [(), ("--strict",)], ids=["lenient", "strict"])
def test_without_an_upstream(project: Project, more: tuple[str, ...]) -> None:
    add_untraced(project, "b")
    done = project.flowproof("suite", "run", "--record-missing", "--json", *more, plan=PLAN)
    assert (done.code, done.flow["verdict"]) == (2, "error")
    assert "no upstream is named" in done.flow["reason"]


def test_without_the_option_it_is_skipped(project: Project) -> None:
    add_untraced(project, "b")
    done = project.flowproof("suite", "run", "--json", plan=PLAN)
    assert (done.code, done.flow["verdict"]) == (5, "skipped")


def test_repetitions_record_once(project: Project) -> None:
    add_untraced(project, "b")
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        arguments = ("suite", "run", "--record-missing", "--repeat", "3", "-j", "3", "--json")
        done = project.flowproof(*arguments, plan=PLAN, env=env)
    assert done.code == 0
    phases = [one["phase"] for one in done.record["flows"]]
    assert phases == ["record", "replay", "replay"], json.dumps(phases)
    assert len(upstream.received) == 1
