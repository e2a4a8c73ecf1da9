"""The installed wheel does its work far from the checkout: no path of Python leads back there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flowproof.version import __version__
from tests.support.upstream import FakeUpstream, chat, completion

from .tools import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

SPEC = """\
name: Greeting
agent:
  command: python agent.py
steps:
  - prompt: Greet Casey
  - assert: reply contains Casey
  - assert: reply matches ^Hello
"""
AGENT = """\
import json, os, urllib.request

said = {"model": "m-1", "messages": [{"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]}]}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(said).encode(),
    {"content-type": "application/json"},
)
with urllib.request.urlopen(request) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"])
"""
WHERE = """\
import importlib, json, pkgutil, sys
import flowproof
from flowproof.assets import asset

for module in pkgutil.walk_packages(flowproof.__path__, "flowproof."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
used = [str(asset("graphs", "replay.yaml")), str(asset("templates", "report/base.html.j2"))]
used += [m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "flowproof"]
print(json.dumps({"path": sys.path, "used": used}))
"""


class Away:
    """A folder outside the checkout where the installed command runs, with a bare environment."""

    def __init__(self, folder: Path, bin: Path) -> None:
        self.folder, self.bin = folder, bin
        self.spec = folder / "greeting.flow.yaml"
        self.spec.write_text(SPEC, "utf-8")
        (folder / "agent.py").write_text(AGENT, "utf-8")

    def run(self, *argv: str, status: int = 0, **env: str) -> str:
        """Run a program of the environment; its stdout. The exit status has to be as said."""
        path = f"{self.bin}{os.pathsep}{os.defpath}"
        done = subprocess.run(
            [self.bin / argv[0], *argv[1:]],
            cwd=self.folder,
            env={"PATH": path, "HOME": str(self.folder), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == status, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def flowproof(self, *arguments: str, status: int = 0, **env: str) -> Any:
        """Run the installed command line; the JSON object that it prints."""
        return json.loads(self.run("flowproof", *arguments, "--json", status=status, **env))


@pytest.fixture
def away(tmp_path: Path, installed: Path) -> Away:
    assert not tmp_path.is_relative_to(ROOT)
    return Away(tmp_path, installed)


@pytest.fixture
def recorded(away: Away) -> Iterator[Away]:
    with FakeUpstream(chat(completion("Hello, Casey!"))) as upstream:
        away.flowproof("record", away.spec.name, FLOWPROOF_AGENT_UPSTREAM=upstream.url)
        assert len(upstream.received) == 1
    yield away


def test_everything_is_imported_and_read_from_the_installed_package(away: Away) -> None:
    found = json.loads(away.run("python", "-c", WHERE))
    home = away.bin.parent
    assert len(found["used"]) > 100
    assert not [path for path in found["used"] if not Path(path).is_relative_to(home)]
    assert not [path for path in found["path"] if Path(path).is_relative_to(ROOT)]


def test_the_version(away: Away) -> None:
    for command in (["flowproof"], ["python", "-m", "flowproof"]):
        assert away.run(*command, "--version") == f"flowproof {__version__}\n"


def test_check_tells_a_good_spec_from_a_bad_one(away: Away) -> None:
    assert away.flowproof("check", ".")["problems"] == []
    away.spec.write_text(SPEC.replace("assert:", "asert:"), "utf-8")
    problems = away.flowproof("check", ".", status=2)["problems"]
    assert [problem["line"] for problem in problems] == [6, 7]


def test_a_flow_is_recorded_and_replayed_without_its_model(recorded: Away) -> None:
    [flow] = recorded.flowproof("run", recorded.spec.name)["flows"]
    assert (flow["verdict"], flow["agent"]["stdout"]["text"]) == ("pass", "Hello, Casey!\n")


def test_a_changed_prompt_fails_the_replay(recorded: Away) -> None:
    recorded.spec.write_text(SPEC.replace("Greet Casey", "Greet Robin"), "utf-8")
    [flow] = recorded.flowproof("run", recorded.spec.name, status=1)["flows"]
    assert flow["verdict"] == "fail"


def test_an_mcp_server_is_stood_in_for(away: Away) -> None:
    for name in ("keeper.py", "forget_packing.flow.yaml", "forget_packing.trace.json"):
        shutil.copy(ROOT / "examples" / "mcp" / name, away.folder)
    [flow] = away.flowproof("run", "forget_packing.flow.yaml")["flows"]
    assert (flow["verdict"], [lane["server"] for lane in flow["mcp"]]) == ("pass", ["notes"])


def test_a_suite_writes_its_reports_from_the_installed_templates(recorded: Away) -> None:
    assert recorded.flowproof("suite", "run")["exit_code"] == 0
    page = (recorded.folder / "reports" / "index.html").read_text("utf-8")
    assert "Greeting" in page
    assert (recorded.folder / "reports" / "TEST-flowproof.xml").is_file()


def test_a_trace_is_shown(recorded: Away) -> None:
    assert "Hello, Casey!" in recorded.run("flowproof", "show", "greeting.trace.json")


@pytest.mark.parametrize("kind", ["text", "mermaid", "dot"], ids=str)
def test_a_graph_is_drawn_from_the_installed_pipelines(away: Away, kind: str) -> None:
    drawn = away.run("flowproof", "graph", away.spec.name, "--format", kind)
    assert "write_trace" in drawn
    assert "start_model_proxy" in drawn
