"""The real MCP client, in both eras, against a real server over HTTP: recorded, then replayed with
the server gone, also through the other transport."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.mcp.test_sdk_stdio import AGENT, MODES, SERVER, tools_said
from tests.e2e.project import PLAIN_AGENT, Project, Ran
from tests.support.mcp.running import free_port, mcp_server
from tests.support.wire.script import Call, Say
from tests.support.wire.serving import endpoint

WATCHING = """
import os, sys

def note(event, values):
    if event in ("socket.connect", "socket.getaddrinfo"):
        with open(os.environ["CONNECTS"], "a") as file:
            print(os.path.basename(sys.argv[0]), event, file=file)

sys.addaudithook(note)
"""
STDIO = {"command": shlex.join([sys.executable, str(SERVER)])}
CALLS = [
    Call("add", {"a": 1, "b": 2}),
    Call("boom", {}),
    Call("slowly", {}),
    Call("decide", {}),
]


def flow(server: dict[str, object], *, agent: str = AGENT) -> str:
    value = {
        "name": "Demo",
        "agent": {"command": agent, "env": {"AGENT_PLAN": "${PLAN}"}, "timeout": 60},
        "mcp": [{"name": "demo", **server}],
        "steps": [{"prompt": "Add 1 and 2."}, {"assert": "reply contains sum"}],
    }
    return json.dumps(value, indent=1)


def record(project: Project, server: dict[str, object], calls: Sequence[Call], mode: str) -> Ran:
    project.write("a.flow.yaml", flow(server))
    with endpoint(*([call] for call in calls), [Say("The sum is 3.")]) as upstream:
        return project.record("a.flow.yaml", upstream.url, plan={"mode": mode})


def passed(ran: Ran) -> bool:
    assert (ran.code, ran.flow["verdict"]) == (0, "pass"), ran.flow["reason"]
    return True


@pytest.mark.parametrize("mode", MODES)
def test_it_replays_with_the_server_gone(project: Project, mode: str) -> None:
    with mcp_server() as url:
        recorded = record(project, {"url": url}, CALLS, mode)
    assert passed(recorded)
    replayed = project.replay("a.flow.yaml", plan={"mode": mode})
    assert passed(replayed)
    assert tools_said(replayed) == tools_said(recorded)
    assert dict(tools_said(replayed))["add"] == "3"
    assert dict(tools_said(replayed))["decide"] == "True"


@pytest.mark.parametrize("mode", MODES)
def test_what_stdio_recorded_http_replays(project: Project, mode: str) -> None:
    recorded = record(project, {**STDIO}, CALLS, mode)
    assert passed(recorded)
    project.write("a.flow.yaml", flow({"url": f"http://127.0.0.1:{free_port()}/mcp"}))
    replayed = project.replay("a.flow.yaml", plan={"mode": mode})
    assert passed(replayed)
    assert tools_said(replayed) == tools_said(recorded)


@pytest.mark.parametrize("mode", MODES)
def test_what_http_recorded_stdio_replays(project: Project, mode: str) -> None:
    with mcp_server() as url:
        recorded = record(project, {"url": url}, CALLS, mode)
    assert passed(recorded)
    project.write("a.flow.yaml", flow({"command": "no-such-server"}))
    replayed = project.replay("a.flow.yaml", plan={"mode": mode})
    assert passed(replayed)
    assert tools_said(replayed) == tools_said(recorded)


@pytest.mark.parametrize("mode", MODES)
def test_another_argument_is_named_by_its_path(project: Project, mode: str) -> None:
    with mcp_server() as url:
        assert passed(record(project, {"url": url}, CALLS[:1], mode))
    ran = project.replay("a.flow.yaml", plan={"mode": mode, "instead": {"b": 5}})
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "$.params.arguments.b" in ran.flow["reason"]


def test_a_mocked_tool_never_runs(project: Project) -> None:
    file = project.folder / "note"
    call = Call("write", {"path": str(file), "text": "hello"})
    with mcp_server() as url:
        server: dict[str, object] = {
            "url": url,
            "tools": [{"name": "write", "result": "all written"}],
        }
        recorded = record(project, server, [call], "auto")
    assert passed(recorded)
    replayed = project.replay("a.flow.yaml", plan={"mode": "auto"})
    assert passed(replayed)
    assert tools_said(replayed) == tools_said(recorded) == [("write", "all written")]
    assert not file.exists()


def test_a_fixed_port_is_listened_at(project: Project) -> None:
    port = free_port()
    with mcp_server() as url:
        recorded = record(project, {"url": url, "port": port}, CALLS[:1], "auto")
    assert passed(recorded)


def test_a_server_that_cannot_be_reached_is_the_worlds_fault(project: Project) -> None:
    origin = f"http://127.0.0.1:{free_port()}"
    ran = record(project, {"url": f"{origin}/mcp"}, CALLS[:1], "legacy")
    assert ran.code == 4
    assert origin in ran.flow["reason"] and "`demo`" in ran.flow["reason"]
    assert not (project.folder / "a.trace.json").exists()


def test_a_key_that_is_refused_is_the_authors_fault(project: Project) -> None:
    with mcp_server("--key", "right") as url:
        ran = record(project, {"url": url}, CALLS[:1], "legacy")
    assert ran.code == 2
    assert "401" in ran.flow["reason"] and "no such key" in ran.flow["reason"]


def test_a_server_that_was_never_contacted_is_named_with_its_variable(project: Project) -> None:
    project.write("a.flow.yaml", flow({"url": "http://127.0.0.1:9/mcp"}, agent=PLAIN_AGENT))
    with endpoint([Say("The sum is 3.")]) as upstream:
        plan = [{"do": "ask", "say": "hello"}]
        ran = project.record("a.flow.yaml", upstream.url, plan=plan)
    assert ran.code == 1
    assert "FLOWPROOF_MCP_URL_demo" in ran.flow["reason"]


def connects(log: Path) -> set[str]:
    """Which programs, by name, opened a connection or looked up a name."""
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return {line.split()[0] for line in lines}


def test_a_replay_opens_no_outward_socket(project: Project) -> None:
    log = project.folder / "connects"
    project.write("watching/sitecustomize.py", WATCHING)
    watching = project.folder / "watching"
    path = f"{watching}:{project.env.get('PYTHONPATH', Path(__file__).parents[3])}"
    project.env |= {"PYTHONPATH": path, "CONNECTS": str(log)}
    with mcp_server() as url:
        assert passed(record(project, {"url": url}, CALLS[:1], "auto"))
    assert connects(log) == {"__main__.py", "sdk_agent.py"}
    assert passed(project.replay("a.flow.yaml", plan={"mode": "auto"}))
    assert connects(log) == {"sdk_agent.py"}
