"""The npm clients over stdio against the reference server of files: recorded, then replayed without
the server and its files."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.e2e.clients import npm
from tests.e2e.project import Project, Ran
from tests.support.wire.script import Call, Say
from tests.support.wire.serving import endpoint

FOLDER = Path(__file__).parent / "node"
SERVER = FOLDER / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist/index.js"
MISSING = npm.missing(FOLDER)

pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")


def record(project: Project, package: str) -> Ran:
    """A recording whose server is started through a link in the project's folder."""
    node = npm.node(FOLDER)
    assert node is not None
    box = project.folder / "box"
    project.write("box/notes.txt", "Buy milk.")
    (project.folder / "server.mjs").symlink_to(SERVER)
    command = shlex.join([node, str(FOLDER / "files.mjs"), package, str(box)])
    value = {
        "name": "Files",
        "agent": {"command": command, "env": {"AGENT_PLAN": "${PLAN}"}, "timeout": 60, "cwd": "."},
        "mcp": [{"name": "files", "command": shlex.join([node, "server.mjs", str(box)])}],
        "steps": [
            {"prompt": "Copy my notes."},
            {"assert_tool_call": "files/write_file where content equals Buy milk."},
            {"assert": "reply contains copied"},
        ],
    }
    project.write("a.flow.yaml", json.dumps(value, indent=1))
    turns = (
        [Call("list_directory", {"path": str(box)})],
        [Call("read_text_file", {"path": str(box / "notes.txt")})],
        [Call("write_file", {"path": str(box / "copy.txt"), "content": "Buy milk."})],
        [Call("read_text_file", {"path": "/etc/passwd"})],
        [Say("I copied them.")],
    )
    with endpoint(*turns) as upstream:
        return project.record("a.flow.yaml", upstream.url)


def said(ran: Ran) -> str:
    """What the agent printed in a flow that passed."""
    assert (ran.code, ran.flow["verdict"]) == (0, "pass"), ran.flow["reason"]
    text = ran.flow["agent"]["stdout"]["text"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("package", ["sdk", "client"])
def test_it_replays_with_the_server_and_its_files_gone(project: Project, package: str) -> None:
    recorded = said(record(project, package))
    assert "read_text_file: Buy milk." in recorded and "Access denied" in recorded
    copy = project.folder / "box" / "copy.txt"
    assert copy.read_text("utf-8") == "Buy milk."
    (project.folder / "server.mjs").unlink()
    shutil.rmtree(copy.parent)
    assert said(project.replay("a.flow.yaml")) == recorded
    assert not copy.parent.exists()


@pytest.mark.parametrize("package", ["sdk", "client"])
def test_another_argument_is_named_by_its_path(project: Project, package: str) -> None:
    said(record(project, package))
    (project.folder / "server.mjs").unlink()
    plan = {"instead": {"path": "/etc/shadow"}}
    ran = project.replay("a.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "$.params.arguments.path" in ran.flow["reason"]


def test_another_root_is_found_in_the_answer_to_the_server(project: Project) -> None:
    said(record(project, "sdk"))
    text = (project.folder / "a.flow.yaml").read_text("utf-8")
    moved = text.replace(f"sdk {project.folder / 'box'}", f"sdk {project.folder / 'elsewhere'}")
    assert moved != text
    project.write("a.flow.yaml", moved)
    ran = project.replay("a.flow.yaml")
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert "roots/list" in ran.flow["reason"]
