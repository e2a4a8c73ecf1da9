"""Flows with MCP servers of one name run at once, each with its own."""

from __future__ import annotations

import json

from tests.e2e.mcp.test_failures import ASK, CLOSE, LEAVE, OPEN, call, flow
from tests.e2e.model import model, saying
from tests.e2e.project import Project


def test_flows_that_run_at_once_have_boundaries_of_their_own(project: Project) -> None:
    for number in range(3):
        plan = [OPEN, call("echo", n=number), ASK, CLOSE if number else LEAVE]
        spec = json.loads(flow())
        spec["name"] = f"Flow {number}"
        spec["agent"]["env"]["AGENT_PLAN"] = json.dumps(plan)
        project.write(f"{number}.flow.yaml", json.dumps(spec))
    arguments = ("suite", "run", "-j", "3", "--no-reports", "--json")
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url, "FLOWPROOF_AGENT_KEY": "sk-test-0001"}
        recorded = project.flowproof(*arguments, "--record-missing", env=env)
    assert recorded.code == 0, recorded.stderr
    replayed = project.flowproof(*arguments)
    assert replayed.code == 0, replayed.stderr
    flows = replayed.record["flows"]
    assert [one["verdict"] for one in flows] == ["pass"] * 3
    assert project.left_running() == []
