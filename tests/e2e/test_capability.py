"""What this version cannot run is a capability error that names it, before anything starts."""

from __future__ import annotations

import pytest

from tests.e2e.model import model, saying
from tests.e2e.project import PLAIN_AGENT, Project, flow

REPLY = {"assert": "reply contains Hello"}
PLAN = [{"do": "touch", "file": "launched"}, {"do": "ask", "say": "hello"}]

CASES: dict[str, tuple[str, str]] = {
    "freeze": (
        flow(PLAIN_AGENT, REPLY, freeze={"time": "2026-01-01T09:00:00Z"}),
        "freeze",
    ),
    "assert_no_egress": (flow(PLAIN_AGENT, REPLY, "assert_no_egress"), "assert_no_egress"),
    "assert_no_secret_leak": (
        flow(PLAIN_AGENT, REPLY, {"assert_no_secret_leak": ["${PASSWORD}"]}),
        "assert_no_secret_leak",
    ),
    "agent.url": (
        'name: Weather\nagent: {url: "http://127.0.0.1:9/task", proxy_port: 4646}\n'
        "steps:\n  - prompt: Hello.\n  - assert: reply contains Hello\n",
        "agent.url",
    ),
}


@pytest.mark.parametrize(("spec", "feature"), CASES.values(), ids=list(CASES))
def test_it_is_named_and_nothing_is_launched(project: Project, spec: str, feature: str) -> None:
    project.write("a.flow.yaml", spec)
    # A trace that would replay: without the check, the flow would be green.
    project.write("b.flow.yaml", flow(PLAIN_AGENT, REPLY))
    with model(saying("Hello.")) as upstream:
        assert project.record("b.flow.yaml", upstream.url, plan=PLAN[1:]).code == 0
        project.trace("b.flow.yaml").rename(project.trace("a.flow.yaml"))
        before = project.trace("a.flow.yaml").read_bytes()
        recorded = project.record("a.flow.yaml", upstream.url, plan=PLAN, PASSWORD="correct horse")
        assert len(upstream.received) == 1
    replayed = project.replay("a.flow.yaml", plan=PLAN, PASSWORD="correct horse")
    for ran in (recorded, replayed):
        assert (ran.code, ran.flow["verdict"]) == (4, "capability-error")
        assert f"`{feature}" in ran.flow["reason"]
        assert "a.flow.yaml:" in ran.flow["reason"]
    assert not (project.folder / "launched").exists()
    assert project.trace("a.flow.yaml").read_bytes() == before
