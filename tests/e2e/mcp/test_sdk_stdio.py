"""The real MCP client, in both eras, against a real server over stdio: recorded, then replayed with
the server gone."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.project import Project, Ran
from tests.support import mcp as support
from tests.support.wire.script import Call, Say
from tests.support.wire.serving import endpoint

AGENT = shlex.join([sys.executable, str(Path(__file__).parent / "agents" / "sdk_agent.py")])
SERVER = Path(support.__file__).with_name("sdk_server.py")
MODES = ["legacy", "auto"]


def flow(*mocks: object, command: str = "", steps: tuple[object, ...] = ()) -> str:
    """A spec whose MCP server is the copy in the project's folder."""
    server = {"name": "demo", "command": command or f"{shlex.quote(sys.executable)} server.py"}
    agent = {"command": AGENT, "env": {"AGENT_PLAN": "${PLAN}"}, "timeout": 60, "cwd": "."}
    value = {
        "name": "Demo",
        "agent": agent,
        "mcp": [server | ({"tools": list(mocks)} if mocks else {})],
        "steps": [{"prompt": "Add 1 and 2."}, *steps, {"assert": "reply contains sum"}],
    }
    return json.dumps(value, indent=1)


def record(project: Project, spec: str, *calls: Call, mode: str) -> Ran:
    project.write("a.flow.yaml", spec)
    shutil.copy(SERVER, project.folder / "server.py")
    with endpoint(*([call] for call in calls), [Say("The sum is 3.")]) as upstream:
        return project.record("a.flow.yaml", upstream.url, plan={"mode": mode})


def without_server(project: Project) -> None:
    (project.folder / "server.py").unlink()


def tools_said(ran: Ran) -> list[tuple[str, str]]:
    return [(one["tool"], one["said"]) for one in ran.said() if "tool" in one]


@pytest.mark.parametrize("mode", MODES)
def test_it_replays_with_the_server_gone(project: Project, mode: str) -> None:
    file = project.folder / "note"
    calls = [
        Call("add", {"a": 1, "b": 2}),
        Call("write", {"path": str(file), "text": "hello"}),
        Call("boom", {}),
        Call("slowly", {}),
        Call("decide", {}),
    ]
    recorded = record(project, flow(), *calls, mode=mode)
    assert (recorded.code, recorded.flow["verdict"]) == (0, "pass"), recorded.flow["reason"]
    assert file.read_text("utf-8") == "hello"
    file.unlink()
    without_server(project)
    replayed = project.replay("a.flow.yaml", plan={"mode": mode})
    assert (replayed.code, replayed.flow["verdict"]) == (0, "pass"), replayed.flow["reason"]
    assert tools_said(replayed) == tools_said(recorded)
    assert dict(tools_said(replayed))["add"] == "3"
    assert dict(tools_said(replayed))["decide"] == "True"
    assert not file.exists(), "the tool does not exist at replay"


@pytest.mark.parametrize("mode", MODES)
def test_another_argument_is_named_by_its_path(project: Project, mode: str) -> None:
    assert record(project, flow(), Call("add", {"a": 1, "b": 2}), mode=mode).code == 0
    without_server(project)
    ran = project.replay("a.flow.yaml", plan={"mode": mode, "instead": {"b": 5}})
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "$.params.arguments.b" in ran.flow["reason"]


def test_a_client_of_the_other_era_diverges(project: Project) -> None:
    assert record(project, flow(), Call("add", {"a": 1, "b": 2}), mode="legacy").code == 0
    ran = project.replay("a.flow.yaml", plan={"mode": "auto"})
    assert ran.code == 1
    assert "server/discover" in ran.flow["reason"]


@pytest.mark.parametrize("mode", MODES)
def test_a_mocked_tool_never_runs(project: Project, mode: str) -> None:
    file = project.folder / "note"
    mocks: list[Any] = [
        {"name": "write", "result": "all written"},
        {"name": "pay", "result": {"paid": 3}, "schema": {"type": "object"}},
    ]
    calls = [Call("write", {"path": str(file), "text": "hello"}), Call("pay", {"amount": 3})]
    recorded = record(project, flow(*mocks), *calls, mode=mode)
    assert recorded.code == 0, recorded.flow["reason"]
    assert tools_said(recorded) == [("write", "all written"), ("pay", '{"paid":3}')]
    without_server(project)
    replayed = project.replay("a.flow.yaml", plan={"mode": mode})
    assert replayed.code == 0, replayed.flow["reason"]
    assert tools_said(replayed) == tools_said(recorded)
    assert not file.exists()


def test_a_mock_that_was_edited_is_told_before_the_agent_is_launched(project: Project) -> None:
    mock = {"name": "write", "result": "all written"}
    call = Call("write", {"path": "x", "text": "y"})
    assert record(project, flow(mock), call, mode="legacy").code == 0
    project.write("a.flow.yaml", flow(mock | {"result": "none written"}))
    ran = project.replay("a.flow.yaml", plan={"mode": "legacy"})
    assert ran.code == 2
    assert "MCP server `demo`, tool `write`: its result was edited" in ran.flow["reason"]
    assert ran.flow["agent"] is None


@pytest.mark.parametrize("mode", MODES)
def test_what_the_server_asks_of_the_model_is_in_both_boundaries(
    project: Project, mode: str
) -> None:
    project.write("a.flow.yaml", flow())
    shutil.copy(SERVER, project.folder / "server.py")
    turns = ([Call("think", {"about": "sums"})], [Say("nested sum")], [Say("The sum is 3.")])
    with endpoint(*turns) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url, plan={"mode": mode})
    assert recorded.code == 0, recorded.flow["reason"]
    assert recorded.flow["traffic"]["recorded"] == 3
    without_server(project)
    replayed = project.replay("a.flow.yaml", plan={"mode": mode})
    assert replayed.code == 0, replayed.flow["reason"]
    assert tools_said(replayed) == tools_said(recorded) == [("think", "nested sum")]
