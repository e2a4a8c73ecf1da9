"""Starting agents in tests, and finding what they left by a mark in their environment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from flowproof.drivers.command import CommandDriver, OnOutput
from flowproof.drivers.interface import Launch
from flowproof.drivers.tree import Trees
from flowproof.model.agent_exit import AgentExit
from flowproof.model.clock import SystemClock

MARK = "TEST_MARK"
REPOSITORY = Path(__file__).resolve().parents[2]

Names = Mapping[str, str]


class Kit:
    """Drivers and launches over one implementation of process trees."""

    def __init__(self, new_trees: Callable[[], Trees], folder: Path) -> None:
        self.new_trees = new_trees
        self.folder = folder
        self.mark = str(folder)
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", MARK: self.mark}

    def driver(self, *, grace: float = 0.3, on_output: OnOutput | None = None) -> CommandDriver:
        return CommandDriver(
            clock=SystemClock(), grace=grace, on_output=on_output, new_trees=self.new_trees
        )

    def launch(self, *argv: str, timeout: float = 30, env: Names | None = None) -> Launch:
        return Launch(argv, str(self.folder), self.env if env is None else env, timeout)

    def shell(self, script: str, *, timeout: float = 30) -> Launch:
        return self.launch("/bin/sh", "-c", script, timeout=timeout)

    def python(self, script: str, *, timeout: float = 30) -> Launch:
        return self.launch(sys.executable, "-I", "-S", "-c", script, timeout=timeout)

    async def run(self, launch: Launch, *, grace: float = 0.3) -> AgentExit:
        return await self.driver(grace=grace).run(launch)


def marked(mark: str) -> list[psutil.Process]:
    """Every living process whose environment holds the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def eventually(holds: Callable[[], bool], seconds: float = 8) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def descriptors() -> list[tuple[int, str]]:
    """The descriptors of this process that lead to a pipe or a socket."""
    found = []
    for entry in Path("/dev/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if target.startswith(("pipe:", "socket:")):
            found.append((int(entry.name), target))
    return sorted(found)
