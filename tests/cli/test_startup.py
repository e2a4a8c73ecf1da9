"""What each command imports: nobody waits for a library that their command does not use.

Each command runs as a process and writes down, at its exit, which modules it had loaded.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.upstream import FakeUpstream, chat, completion

HEAVY = {"aiohttp", "jinja2", "junit_xml", "networkx", "pydantic", "rich"}
ENGINE = {"anyio", "asyncio", "yaml", "h11", "ssl"}

LISTED = """\
import atexit, sys
atexit.register(lambda: open({file!r}, "w").write("\\n".join(sys.modules)))
from flowproof.__main__ import main
main()
"""
AGENT = """\
import json, os, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"}))
"""
STEPS = """\
steps:
  - prompt: Greet
  - assert: reply contains Hello
  - assert_no_tool_call: issue_refund
"""


class Shell:
    """Runs the command line in a folder and tells which modules it loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(AGENT, "utf-8")
        agent = shlex.join([sys.executable, "-S", "agent.py"])
        spec = f"name: Greeting\nagent:\n  command: {agent}\n{STEPS}"
        (folder / "greeting.flow.yaml").write_text(spec, "utf-8")

    def loaded(self, *arguments: str, status: int = 0, **env: str) -> set[str]:
        file = self.folder / "modules"
        done = subprocess.run(
            [sys.executable, "-c", LISTED.format(file=str(file)), *arguments],
            cwd=self.folder,
            env={"PATH": os.defpath, "HOME": str(self.folder), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return set(file.read_text("utf-8").split("\n"))

    def record(self) -> set[str]:
        with FakeUpstream(chat(completion("Hello!"))) as upstream:
            return self.loaded(
                "record", "greeting.flow.yaml", FLOWPROOF_AGENT_UPSTREAM=upstream.url
            )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "flowproof"}


def test_the_version_is_told_before_anything_else_is_loaded(shell: Shell) -> None:
    modules = shell.loaded("--version")
    assert ours(modules) == {
        "flowproof",
        "flowproof.__main__",
        "flowproof.cli",
        "flowproof.cli.streams",
        "flowproof.version",
    }
    assert not modules & (HEAVY | ENGINE | {"click", "typing", "dataclasses", "pathlib", "json"})


def test_help_loads_no_command(shell: Shell) -> None:
    modules = shell.loaded("--help")
    assert "click" in modules
    assert not modules & (HEAVY | ENGINE)
    assert {name for name in ours(modules) if name.startswith("flowproof.cli.")} == {
        "flowproof.cli.main",
        "flowproof.cli.streams",
    }


@pytest.mark.parametrize("command", ["record", "run", "check", "graph", "show", "schema"], ids=str)
def test_the_help_of_a_command_loads_that_command_only(shell: Shell, command: str) -> None:
    modules = shell.loaded(command, "--help")
    module = {"run": "replay"}.get(command, command)
    found = {name.removeprefix("flowproof.cli.") for name in modules if ".cli." in name}
    assert found - {"main", "options", "streams"} == {module}
    assert not modules & (HEAVY | ENGINE)


def test_a_misspelt_command_loads_no_command(shell: Shell) -> None:
    modules = shell.loaded("recrod", status=2)
    assert not modules & (HEAVY | ENGINE)
    assert "flowproof.cli.record" not in modules


def test_a_replay_loads_no_http_client_and_nothing_that_draws(shell: Shell) -> None:
    shell.record()
    modules = shell.loaded("run", "greeting.flow.yaml")
    assert {"anyio", "yaml", "flowproof.boundary.replaying_proxy"} <= modules
    assert not modules & HEAVY
    assert "re2" not in modules, "no pattern is matched here"
    assert not {name for name in modules if "boundary.mcp" in name}, "no server is declared"
    assert not modules & {"brotli", "brotlicffi", "backports.zstd", "compression.zstd"}
    assert not {name for name in ours(modules) if "record" in name.rpartition(".")[2]} - {
        "flowproof.model.mcp_record",
        "flowproof.model.run_record",
        "flowproof.spec.records",
        "flowproof.suite.records",
    }


def test_a_recording_loads_an_http_client_and_nothing_that_draws(shell: Shell) -> None:
    modules = shell.record()
    assert modules & HEAVY == {"aiohttp"}


def test_a_suite_loads_what_its_reports_are_made_with(shell: Shell) -> None:
    shell.record()
    assert {"jinja2", "junit_xml"} <= shell.loaded("suite", "run")
    assert not shell.loaded("suite", "run", "--no-reports") & HEAVY


def test_check_runs_nothing_and_loads_nothing_that_runs(shell: Shell) -> None:
    modules = shell.loaded("check", ".")
    assert "yaml" in modules
    assert not modules & (HEAVY | {"anyio", "asyncio", "h11", "ssl"})


def test_the_package_itself_loads_nothing() -> None:
    script = "import sys; import flowproof; print(*(n for n in sys.modules if 'flowproof' in n))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60
    )
    names = {name for name in done.stdout.split() if not name.startswith("__editable__")}
    assert names == {"flowproof", "flowproof.version"}
