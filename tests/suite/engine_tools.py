"""A project whose agents are real processes, and runs of its flows on an engine."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from flowproof.drivers.command import CommandDriver
from flowproof.flow.job import World
from flowproof.model.clock import SystemClock
from flowproof.model.run_record import RunRecord
from flowproof.suite.engines.dask import DaskOptions, open_dask
from flowproof.suite.engines.interface import OpenEngine
from flowproof.suite.plan import PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows
from flowproof.trace.file import write_trace
from tests.flow.support import asking, saying, trace, turn
from tests.suite.test_run import Heard

AGENT = """\
import json, os, pathlib, signal, sys, time, urllib.request

def ask(text):
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)).read()

def parent(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

def worker():
    guard = os.getppid()
    return parent(parent(guard))  # between them is what forks guards

what, *more = sys.argv[1:]
if what == "crash":
    sys.exit(3)
if what == "kill":
    mark = pathlib.Path(more[0])
    tries = len(mark.read_text()) if mark.exists() else 0
    if tries < int(more[1]):
        mark.write_text("x" * (tries + 1))
        os.kill(worker(), signal.SIGKILL)
        time.sleep(60)
if what == "hang":
    pathlib.Path(more[0]).write_text(str(os.getpid()))
    time.sleep(60)
if what == "tell":
    print(json.dumps({name: os.environ.get(name) for name in more}))
if what == "peek":
    places = (f"/proc/{one}/environ" for one in (worker(), parent(worker())))
    print(any("sk-the-real-key" in pathlib.Path(place).read_text() for place in places))
if what == "leave":
    pathlib.Path("left.txt").write_text("left")
ask("Say something else" if what == "stray" else "Say hello")
"""


@dataclass(frozen=True, slots=True)
class Flows:
    """A project in a folder; `environ` is added to the environment of its runs."""

    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def add(
        self, name: str, *words: str, reply: str = "Hello", more: str = "", traced: bool = True
    ) -> Path:
        """A flow whose agent does what the words say."""
        (self.folder / "agent.py").write_text(AGENT, "utf-8")
        (self.folder / "suite.yaml").touch()
        if not (self.folder / "suite.yaml").read_text("utf-8"):
            (self.folder / "suite.yaml").write_text("name: s\n", "utf-8")
        spec = self.folder / f"{name}.flow.yaml"
        command = f"{shlex.join([sys.executable, '-S', 'agent.py'])} {' '.join(words)}"
        spec.write_text(
            f"name: flow {name}\nagent:\n  command: {command}\n{more}"
            f"steps:\n  - prompt: Say hello\n  - assert: reply contains {reply}\n",
            "utf-8",
        )
        if traced:
            recorded = trace(turn(asking("Say hello"), saying("Hello")))
            write_trace(self.folder / f"{name}.trace.json", recorded)
        return spec

    def run(
        self,
        *specs: Path,
        engine: OpenEngine | None = None,
        interrupt: Interrupt | None = None,
        meanwhile: Callable[[Interrupt], Any] | None = None,
        planned: PlanOptions | None = None,
        **more: Any,
    ) -> RunRecord:
        """Run these flows."""
        return anyio.run(functools.partial(self._run, specs, engine, meanwhile, planned, more))

    async def _run(
        self,
        specs: Sequence[Path],
        engine: OpenEngine | None,
        meanwhile: Callable[[Interrupt], Any] | None,
        planned: PlanOptions | None,
        more: dict[str, Any],
    ) -> RunRecord:
        project = Project(self.folder, JobOptions("replay"))
        clock = SystemClock()
        world = World(clock, {**os.environ, **self.environ}, CommandDriver(clock=clock))
        options = RunOptions("suite run", "s", b"\1\2\3", **more)
        interrupt = Interrupt()
        wanted = plan(specs, project, planned or PlanOptions())
        async with anyio.create_task_group() as group:
            if meanwhile is not None:
                group.start_soon(meanwhile, interrupt)
            record = await run_flows(wanted, project, world, options, Heard(), interrupt, engine)
            group.cancel_scope.cancel()
        return record


def dask(workers: int = 1, scheduler: str | None = None, patience: float = 60.0) -> OpenEngine:
    """The engine with so many flows at once."""
    options = DaskOptions(scheduler, lambda available: workers, patience)
    return functools.partial(open_dask, options)
