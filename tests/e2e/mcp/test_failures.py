"""What can go wrong between an agent, flowproof and a stdio server: each is loud, none a hang."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.model import model, saying
from tests.e2e.project import Project, Ran
from tests.support import mcp as support

AGENT = shlex.join([sys.executable, str(Path(__file__).parent / "agents" / "line_agent.py")])
SERVER = [sys.executable, "-S", str(Path(support.__file__).with_name("plain_server.py"))]

ASK = {"do": "ask", "say": "hello"}
OPEN, CLOSE, LEAVE = {"do": "open"}, {"do": "close"}, {"do": "leave"}
ECHO = {"do": "call", "tool": "echo", "arguments": {"n": 1}}


def call(tool: str, **arguments: object) -> dict[str, object]:
    return {"do": "call", "tool": tool, "arguments": arguments}


def flow(*habits: str, command: str = "", name: str = "demo", **agent: object) -> str:
    server = {"name": name, "command": command or shlex.join([*SERVER, *habits])}
    value = {
        "name": "Demo",
        "agent": {
            "command": AGENT,
            "env": {"AGENT_PLAN": "${PLAN}", "SERVER_LOG": "servers"},
            "timeout": 60,
            "cwd": ".",
            **agent,
        },
        "mcp": [server],
        "steps": [{"prompt": "Hello."}, {"assert": "reply contains Hello"}],
    }
    return json.dumps(value, indent=1)


def record(project: Project, plan: list[Any], spec: str = "", **env: str) -> Ran:
    project.write("a.flow.yaml", spec or flow())
    with model(saying("Hello.")) as upstream:
        return project.record("a.flow.yaml", upstream.url, plan=plan, **env)


def judged(ran: Ran) -> tuple[int, str]:
    return ran.code, ran.flow["verdict"]


def servers_started(project: Project) -> int:
    log = project.folder / "servers"
    return len(log.read_text("utf-8").splitlines()) if log.exists() else 0


def seconds(ran: Ran, task: str) -> float:
    return float(next(one["duration"] for one in ran.flow["tasks"] if one["id"] == task))


def test_a_replay_starts_no_process_and_speaks_to_nobody(project: Project) -> None:
    plan = [ASK, OPEN, ECHO, {"do": "look"}, CLOSE]
    recorded = record(project, plan)
    assert judged(recorded) == (0, "pass"), recorded.flow["reason"]
    assert servers_started(project) == 1
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert judged(replayed) == (0, "pass"), replayed.flow["reason"]
    assert servers_started(project) == 1
    before, after = recorded.said()[3], replayed.said()[3]
    assert [SERVER[-1] in command for command in before["running"]].count(True) == 1
    assert set(after["peers"]) <= {"127.0.0.1"}
    # The process that forks guards, the guard, the agent, and its stand-in.
    assert len(after["running"]) == 4
    assert sum("stand_in.py" in " ".join(command) for command in after["running"]) == 1
    assert project.left_running() == []


def test_two_connections_are_told_apart(project: Project) -> None:
    plan = [
        ASK,
        OPEN,
        OPEN | {"on": "2"},
        call("echo", n=2) | {"on": "2"},
        call("echo", n=1),
        CLOSE,
        OPEN | {"on": "3"},
        call("echo", n=3) | {"on": "3"},
        LEAVE,
    ]
    recorded = record(project, plan)
    assert judged(recorded) == (0, "pass"), recorded.flow["reason"]
    assert servers_started(project) == 3
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert judged(replayed) == (0, "pass"), replayed.flow["reason"]
    assert replayed.said() == recorded.said()


@pytest.mark.parametrize("phase", ["record", "replay"])
def test_a_server_that_was_never_contacted_is_told_with_its_variable(
    project: Project, phase: str
) -> None:
    ran = record(project, [ASK] if phase == "record" else [ASK, OPEN, CLOSE])
    if phase == "replay":
        assert ran.code == 0
        ran = project.replay("a.flow.yaml", plan=[ASK])
    assert judged(ran) == (1, "fail")
    assert "never spawned flowproof's MCP stand-in for `demo`" in ran.flow["reason"]
    assert "FLOWPROOF_MCP_SERVER_demo" in ran.flow["reason"]
    assert seconds(ran, "collect_lanes") < 1
    assert project.trace("a.flow.yaml").exists() == (phase == "replay")


def test_fewer_calls_than_recorded_fail(project: Project) -> None:
    assert record(project, [ASK, OPEN, ECHO, call("fail"), CLOSE]).code == 0
    ran = project.replay("a.flow.yaml", plan=[ASK, OPEN, ECHO, CLOSE])
    assert judged(ran) == (1, "fail")
    assert "fewer calls to the MCP server `demo` than recorded, 2 calls of 3" in ran.flow["reason"]
    assert "tools/call fail" in ran.flow["reason"]


def test_one_call_more_diverges(project: Project) -> None:
    assert record(project, [ASK, OPEN, ECHO, CLOSE]).code == 0
    ran = project.replay("a.flow.yaml", plan=[ASK, OPEN, ECHO, ECHO, CLOSE])
    assert judged(ran) == (1, "fail")
    assert "flowproof: replay diverged" in ran.said()[3]["error"]["message"]


def test_a_command_that_does_not_exist_is_its_authors_to_mend(project: Project) -> None:
    ran = record(project, [ASK, OPEN, CLOSE], flow(command="no-such-server --here"))
    assert judged(ran) == (2, "error")
    assert (
        "MCP server `demo` could not be started: `no-such-server` was not found"
        in (ran.flow["reason"])
    )
    assert "error" in ran.said()[1]
    assert not project.trace("a.flow.yaml").exists()


@pytest.mark.parametrize(
    ("habits", "plan", "reason"),
    [
        pytest.param(
            ["crash-first"], [ASK, OPEN], "exited with status 7; it said: cannot open", id="before"
        ),
        pytest.param([], [ASK, OPEN, call("crash")], "exited with status 3", id="in mid-call"),
        pytest.param([], [ASK, OPEN, call("mumble")], "is not JSON", id="no JSON"),
        pytest.param([], [ASK, OPEN, call("misname")], "nobody-asked", id="unknown id"),
        pytest.param(
            [], [ASK, OPEN, call("big", size=11 << 20)], "larger than 10 MiB", id="too large"
        ),
    ],
)
def test_a_server_that_breaks_fails_the_recording(
    project: Project, habits: list[str], plan: list[Any], reason: str
) -> None:
    ran = record(project, plan, flow(*habits))
    assert judged(ran) == (4, "error")
    assert "MCP server `demo`" in ran.flow["reason"]
    assert reason in ran.flow["reason"]
    assert "error" in ran.said()[-1], "the agent is told, and does not hang"
    assert not project.trace("a.flow.yaml").exists()


def test_noise_before_the_first_message_is_a_warning(project: Project) -> None:
    ran = record(project, [ASK, OPEN, ECHO, CLOSE], flow("banner"))
    assert judged(ran) == (0, "pass")
    assert any("npm warn deprecated" in warning for warning in ran.flow["warnings"])
    assert project.replay("a.flow.yaml", plan=[ASK, OPEN, ECHO, CLOSE]).code == 0


@pytest.mark.parametrize(
    "end", [[LEAVE], [{"do": "kill"}]], ids=["the agent leaves", "the stand-in is killed"]
)
def test_nobody_need_close_a_connection(project: Project, end: list[Any]) -> None:
    plan = [ASK, OPEN, ECHO, *end]
    recorded = record(project, plan)
    assert judged(recorded) == (0, "pass"), recorded.flow["reason"]
    replayed = project.replay("a.flow.yaml", plan=plan)
    assert judged(replayed) == (0, "pass"), replayed.flow["reason"]
    assert project.left_running() == []


def test_a_server_that_stays_is_ended(project: Project) -> None:
    begun = time.monotonic()
    ran = record(project, [ASK, OPEN, ECHO, CLOSE], flow("stays"))
    assert judged(ran) == (0, "pass"), ran.flow["reason"]
    assert time.monotonic() - begun < 20
    assert project.left_running() == []


def test_a_flow_without_model_calls_fails_whatever_its_servers_saw(project: Project) -> None:
    ran = record(project, [OPEN, ECHO, CLOSE])
    assert judged(ran) == (1, "fail")
    assert "made no model call" in ran.flow["reason"]


def test_a_server_has_the_agents_surroundings_and_no_key(project: Project) -> None:
    names = [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "FLOWPROOF_AGENT_KEY",
        "FLOWPROOF_MCP_SERVER_demo",
        "FLOWPROOF_PROMPT",
        "AGENT_PLAN",
        "OTHER",
        "SERVER_LOG",
    ]
    plan = [ASK, OPEN, call("env", names=names), CLOSE]
    spec = json.loads(flow())
    spec["agent"]["cwd"] = "below"
    (project.folder / "below").mkdir()
    ran = record(project, plan, json.dumps(spec), OTHER="mine", OPENAI_API_KEY="sk-real-00001")
    assert judged(ran) == (0, "pass"), ran.flow["reason"]
    found = json.loads(ran.said()[2]["result"]["content"][0]["text"])
    assert json.loads(found.pop("AGENT_PLAN")) == plan
    assert found == {
        "OPENAI_API_KEY": None,
        "OPENAI_BASE_URL": None,
        "FLOWPROOF_AGENT_KEY": None,
        "FLOWPROOF_MCP_SERVER_demo": None,
        "FLOWPROOF_PROMPT": None,
        "OTHER": "mine",
        "SERVER_LOG": "servers",
        "cwd": str(project.folder / "below"),
    }


def test_the_agent_is_told_under_every_name(project: Project) -> None:
    plan = [
        ASK,
        {"do": "variables"},
        OPEN | {"variable": "MY_SERVER"},
        OPEN | {"variable": "FLOWPROOF_MCP_SERVER_MY_FILES", "on": "2"},
        LEAVE,
    ]
    spec = json.loads(flow(name="my-files"))
    spec["agent"]["env"]["MY_SERVER"] = "${flowproof.mcp_server.my-files}"
    ran = record(project, plan, json.dumps(spec))
    assert judged(ran) == (0, "pass"), ran.flow["reason"]
    assert ran.said()[1] == [
        "FLOWPROOF_MCP_ARGV_MY_FILES",
        "FLOWPROOF_MCP_ARGV_my-files",
        "FLOWPROOF_MCP_SERVER_MY_FILES",
        "FLOWPROOF_MCP_SERVER_my-files",
    ]
    assert [answer["result"]["serverInfo"]["name"] for answer in ran.said()[2:]] == ["plain"] * 2


def test_a_variable_of_the_real_server_need_not_be_set_at_replay(project: Project) -> None:
    spec = flow(command=f"{shlex.join(SERVER)} ${{HABIT}}")
    plan = [ASK, OPEN, ECHO, CLOSE]
    unset = record(project, plan, spec)
    assert judged(unset) == (2, "error")
    assert "${HABIT}" in unset.flow["reason"]
    assert record(project, plan, spec, HABIT="banner").code == 0
    assert project.replay("a.flow.yaml", plan=plan).code == 0


def test_a_server_that_was_added_since_is_told_beforehand(project: Project) -> None:
    spec = json.loads(flow())
    del spec["mcp"]
    assert record(project, [ASK], json.dumps(spec)).code == 0
    project.write("a.flow.yaml", flow())
    ran = project.replay("a.flow.yaml", plan=[ASK])
    assert judged(ran) == (2, "error")
    assert "MCP server `demo`: it was added after recording" in ran.flow["reason"]
