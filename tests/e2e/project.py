"""A folder of specs in which tests run the real command line as a process."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

AGENTS = Path(__file__).parent / "agents"
OPENAI_AGENT = shlex.join([sys.executable, str(AGENTS / "openai_agent.py")])
PLAIN_AGENT = shlex.join([sys.executable, "-S", str(AGENTS / "plain_agent.py")])

PLAIN_PLAN = [{"do": "ask", "say": "hello"}, {"do": "ask", "say": "good bye"}]
"""A conversation of two turns, for `PLAIN_AGENT`."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command line ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def record(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        value = json.loads(self.stdout)
        assert isinstance(value, dict)
        return value

    @property
    def flow(self) -> dict[str, Any]:
        """The only flow of the run record."""
        [flow] = self.record["flows"]
        assert isinstance(flow, dict)
        return flow

    def said(self) -> list[Any]:
        """What the agent printed, each line a JSON value."""
        return [json.loads(line) for line in self.flow["agent"]["stdout"]["text"].splitlines()]


def flow(command: str, *steps: object, **more: object) -> str:
    """The text of a spec: YAML is a superset of JSON. The agent is given AGENT_PLAN."""
    agent = {"command": command, "env": {"AGENT_PLAN": "${PLAN}"}, "timeout": 60}
    agent |= more.pop("agent", {})  # type: ignore[call-overload]
    value = {
        "name": more.pop("name", "Weather"),
        "app": "agent",
        "agent": agent,
        "steps": [{"prompt": "How warm is it in Oslo?"}, *steps],
        **more,
    }
    return json.dumps(value, indent=1) + "\n"


class Project:
    """One folder. Commands run in it, with a bare environment and PLAN for the agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        home = folder / "home"
        home.mkdir()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(home), "PLAN": "{}"}
        if "PYTHONPATH" in os.environ:  # where the flowproof under test is not the installed one
            self.env["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def add(self, trace: Path, spec: str, *steps: object, **more: object) -> None:
        """A flow of the standard-library agent that replays a copy of a trace."""
        judged = steps or ({"assert": "reply contains Hello"},)
        self.write(spec, flow(PLAIN_AGENT, *judged, **{"name": spec, **more}))
        shutil.copy(trace, self.trace(spec))

    def environment(
        self, plan: object = None, env: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        planned = {} if plan is None else {"PLAN": json.dumps(plan)}
        return {**self.env, **planned, **(env or {})}

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "flowproof", *arguments]

    def flowproof(
        self,
        *arguments: str,
        plan: object = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Ran:
        """Run `flowproof` to its end."""
        done = subprocess.run(
            self.command(arguments),
            cwd=self.folder,
            env=self.environment(plan, env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(
        self, *arguments: str, plan: object = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Run `flowproof` in a process group of its own, as a terminal does."""
        return subprocess.Popen(
            self.command(arguments),
            cwd=self.folder,
            env=self.environment(plan, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def record(self, spec: str, upstream: str, *, plan: object = None, **env: str) -> Ran:
        """`flowproof record --json` against an upstream."""
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream, "FLOWPROOF_AGENT_KEY": "sk-test-0001", **env}
        return self.flowproof("record", spec, "--json", plan=plan, env=env)

    def replay(self, spec: str, *, plan: object = None, **env: str) -> Ran:
        """`flowproof run --json`, with nothing that names an upstream."""
        return self.flowproof("run", spec, "--json", plan=plan, env=env)

    def agent_alone(self, command: str, base_url: str, plan: object) -> list[Any]:
        """What the agent prints without flowproof."""
        env = {**self.env, "AGENT_PLAN": json.dumps(plan), "OPENAI_BASE_URL": base_url}
        argv = shlex.split(command)
        done = subprocess.run(argv, env=env, check=True, capture_output=True, timeout=60)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def left_running(self) -> list[psutil.Process]:
        """Every living process that inherited our HOME: all but the guard of an agent."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get("HOME") == self.env["HOME"]
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def trace(self, spec: str) -> Path:
        return self.folder / spec.replace(".flow.yaml", ".trace.json")
