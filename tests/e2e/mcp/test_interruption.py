"""However a run with MCP servers is ended, no server is left, and the record tells what crossed."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable

import pytest

from tests.e2e.mcp.test_failures import ASK, CLOSE, ECHO, OPEN, flow
from tests.e2e.model import model, saying
from tests.e2e.project import Project

PLAN = [ASK, OPEN, ECHO, {"do": "touch", "file": "ready"}, {"do": "sleep"}, CLOSE]


def eventually(holds: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=str)
def test_no_server_outlives_flowproof(project: Project, number: signal.Signals) -> None:
    project.write("a.flow.yaml", flow("stays"))
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        with project.start("record", "a.flow.yaml", "--json", plan=PLAN, env=env) as process:
            assert eventually((project.folder / "ready").exists)
            process.send_signal(number)
            stdout, _ = process.communicate(timeout=30)
    assert eventually(lambda: project.left_running() == [])
    assert not project.trace("a.flow.yaml").exists()
    if number == signal.SIGINT:
        [found] = json.loads(stdout)["flows"]
        [server] = found["mcp"]
        assert [call["method"] for call in server["calls"]] == ["initialize", "tools/call"]


def test_an_agent_that_runs_too_long_ends_with_its_server(project: Project) -> None:
    project.write("a.flow.yaml", flow(timeout=3))
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=PLAN)
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "still running after 3 s" in ran.flow["reason"]
    assert project.left_running() == []
