"""Agents on frameworks that bring an MCP client of their own, against real servers: recorded, then
replayed with the server gone."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.project import Project, Ran
from tests.support import mcp as support
from tests.support.mcp.running import mcp_server
from tests.support.wire.script import Call, Say
from tests.support.wire.serving import endpoint

pytestmark = pytest.mark.timeout(300)  # each starts seven programs that import a whole framework

AGENTS = Path(__file__).parent / "agents"
SERVERS = Path(support.__file__).parent
CALLS = [Call("add", {"a": 1, "b": 2}), Call("slowly", {}), Call("boom", {})]
NEEDS = {
    "openai_agents": ("mcp", "agents"),
    "pydantic_ai": ("mcp", "fastmcp", "pydantic_ai"),
    "fastmcp": ("mcp", "fastmcp"),
}
COPY = {"command": shlex.join([sys.executable, "server.py"])}


@pytest.fixture(autouse=True)
def installed(client: str) -> None:
    """Skip where a framework or the server's package is not here."""
    if missing := [name for name in NEEDS[client] if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} is not installed: it is of the extra `clients`")


def record(project: Project, client: str, server: dict[str, str], *calls: Call) -> Ran:
    command = shlex.join([sys.executable, str(AGENTS / f"{client}_agent.py")])
    agent = {"command": command, "env": {"AGENT_PLAN": "${PLAN}"}, "timeout": 60, "cwd": "."}
    value = {
        "name": "Demo",
        "agent": agent,
        "mcp": [{"name": "demo", **server}],
        "steps": [
            {"prompt": "Add 1 and 2."},
            {"assert_tool_call": "demo/add where b equals 2"},
            {"assert": "reply contains sum"},
        ],
    }
    project.write("a.flow.yaml", json.dumps(value, indent=1))
    with endpoint(*([call] for call in calls), [Say("The sum is 3.")]) as upstream:
        return project.record("a.flow.yaml", upstream.url)


def passed(ran: Ran) -> str:
    """What the agent printed in a flow that passed."""
    assert (ran.code, ran.flow["verdict"]) == (0, "pass"), ran.flow["reason"]
    text = ran.flow["agent"]["stdout"]["text"]
    assert isinstance(text, str)
    return text


def replays(project: Project, recorded: Ran) -> None:
    """The flow passes without its server, and a changed argument is found."""
    assert passed(recorded) == "The sum is 3.\n"
    assert passed(project.replay("a.flow.yaml")) == passed(recorded)
    guilty = project.replay("a.flow.yaml", plan={"instead": {"b": 5}})
    assert (guilty.code, guilty.flow["verdict"]) == (1, "fail")
    assert "$.params.arguments.b" in guilty.flow["reason"]


@pytest.mark.parametrize(
    ("client", "server"),
    [
        ("openai_agents", "sdk_server.py"),
        ("pydantic_ai", "sdk_server.py"),
        ("fastmcp", "fastmcp_server.py"),
    ],
    ids=["openai_agents", "pydantic_ai", "fastmcp"],
)
def test_over_stdio_it_replays_with_the_server_gone(
    project: Project, client: str, server: str
) -> None:
    copy = project.folder / "server.py"
    shutil.copy(SERVERS / server, copy)
    recorded = record(project, client, COPY, *CALLS)
    copy.unlink()
    replays(project, recorded)


# fastmcp's client is what pydantic-ai speaks with.
@pytest.mark.parametrize("client", ["openai_agents", "pydantic_ai"])
def test_over_http_it_replays_with_the_server_gone(project: Project, client: str) -> None:
    with mcp_server() as url:
        recorded = record(project, client, {"url": url}, *CALLS)
    replays(project, recorded)
