"""Steps name tools of MCP servers as `server/tool`; all else about servers is a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.model.flow_spec import AssertNoToolCall, AssertToolCall, AssertToolCalls
from flowproof.spec.flow import load_flow
from tests.spec.support import flow_problems

FLOW = """\
name: Files
agent: {command: python agent.py}
mcp:
  - {name: files, command: files-server}
  - {name: web-search, url: "https://tools.example.com/mcp"}
tools:
  - {name: own/tool}
steps:
  - prompt: Go
"""


def test_steps_know_their_server(tmp_path: Path) -> None:
    path = tmp_path / "a.flow.yaml"
    steps = (
        "  - assert_tool_call: files/read where path equals a.txt\n"
        "  - assert_tool_call: {tool: web-search/a/b, times: 1}\n"
        "  - assert_no_tool_call: files/wipe\n"
        "  - assert_tool_calls: [files/read, files/write]\n"
        "  - assert_tool_calls: [plan, own/tool]\n"
        "  - assert_tool_calls: []\n"
    )
    path.write_text(FLOW + steps, "utf-8")
    found = [
        (step.server, step.tools if isinstance(step, AssertToolCalls) else step.tool)
        for step in load_flow(path, shown="a").assertions
        if isinstance(step, AssertToolCall | AssertNoToolCall | AssertToolCalls)
    ]
    assert found == [
        ("files", "files/read"),
        ("web-search", "web-search/a/b"),
        ("files", "files/wipe"),
        ("files", ("files/read", "files/write")),
        ("", ("plan", "own/tool")),
        ("", ()),
    ]


@pytest.mark.parametrize(
    ("step", "message", "suggestion"),
    [
        pytest.param(
            "assert_no_tool_call: fils/wipe",
            "`fils/wipe` names a tool of the MCP server `fils`, which `mcp` does not declare",
            "files/wipe",
            id="misspelt",
        ),
        pytest.param(
            "assert_tool_call: web_search/find where q exists",
            "`web_search/find` names a tool of the MCP server `web_search`, which `mcp` does not "
            "declare",
            "web-search/find",
            id="underscore",
        ),
        pytest.param("assert_tool_call: files/", "`files/` names no tool", "", id="no-tool"),
        pytest.param(
            "assert_tool_calls: [plan, files/read]",
            "the list mixes calls of the model and the server `files`, between which a recording "
            "knows no order",
            "",
            id="mixed",
        ),
        pytest.param(
            "assert_tool_calls: [web-search/a, files/read]",
            "the list mixes calls of the server `web-search` and the server `files`, between "
            "which a recording knows no order",
            "",
            id="two-servers",
        ),
    ],
)
def test_problems(tmp_path: Path, step: str, message: str, suggestion: str) -> None:
    (problem,) = flow_problems(tmp_path, f"{FLOW}  - {step}\n")
    assert (problem.line, problem.column) == (10, 5)
    assert problem.message == message
    assert problem.suggestion == suggestion


def test_without_servers_a_slash_is_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a.flow.yaml"
    path.write_text(
        "name: A\nagent: {command: x}\nsteps:\n  - prompt: Go\n  - assert_tool_call: a/b\n", "utf-8"
    )
    (step,) = load_flow(path, shown="a").assertions
    assert isinstance(step, AssertToolCall) and (step.server, step.tool) == ("", "a/b")
