"""However a run is ended, no process, no half-written file and no damaged trace is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.model import NEVER, model, saying
from tests.e2e.project import Project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")

ASK = {"do": "ask", "say": "hello"}
READY = {"do": "touch", "file": "ready"}
BUSY = [ASK, {"do": "grandchild"}, READY, {"do": "sleep", "seconds": 300}]
WAITING = [{"do": "grandchild"}, READY, ASK]


def eventually(holds: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def running(
    project: Project, *arguments: str, plan: object, upstream: str | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A `flowproof` whose agent is busy; in the end nothing of it may be left."""
    env = {"FLOWPROOF_AGENT_UPSTREAM": upstream} if upstream else {}
    with project.start(*arguments, plan=plan, env=env) as process:
        try:
            assert eventually((project.folder / "ready").exists)
            tree = psutil.Process(process.pid).children(recursive=True)
            assert len(tree) == 4, "the guard with its server, the agent, its grandchild"
            yield process
            assert eventually(lambda: project.left_running() == [], 10)
            assert eventually(lambda: not any(map(psutil.Process.is_running, tree)), 10)
        finally:
            for left in project.left_running():
                left.kill()


def files(folder: Path) -> dict[str, bytes]:
    """All files of a project by name, but for the mark that the agent left."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "ready"
    }


@pytest.mark.parametrize(
    ("plan", "silent"),
    [
        pytest.param(BUSY, False, id="between two requests"),
        pytest.param(WAITING, True, id="during a request"),
    ],
)
def test_kill_9_while_recording(
    project: Project, traced: Path, plan: list[object], silent: bool
) -> None:
    project.add(traced, "a.flow.yaml")
    before = files(project.folder)
    with (
        model(NEVER if silent else saying("Hello.")) as upstream,
        running(project, "record", "a.flow.yaml", plan=plan, upstream=upstream.url) as process,
    ):
        assert eventually(lambda: len(upstream.received) == 1)
        process.kill()
        assert process.wait(5) == -signal.SIGKILL
    assert files(project.folder) == before


def test_kill_9_while_replaying(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    before = files(project.folder)
    with running(project, "run", "a.flow.yaml", plan=BUSY) as process:
        process.kill()
        assert process.wait(5) == -signal.SIGKILL
    assert files(project.folder) == before


def interrupt(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Ctrl-C reaches the whole foreground group; SIGTERM one process."""
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)


def record_of(process: subprocess.Popen[str], seconds: float) -> dict[str, Any]:
    stdout, _ = process.communicate(timeout=seconds)
    record = json.loads(stdout)
    assert isinstance(record, dict)
    return record


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_replay_is_interrupted_in_order(
    project: Project, traced: Path, number: signal.Signals
) -> None:
    project.add(traced, "a.flow.yaml")
    project.add(traced, "b.flow.yaml")
    with running(project, "suite", "run", "-j", "1", "--json", plan=BUSY) as process:
        interrupt(process, number)
        record = record_of(process, 10)
        assert process.returncode == 130
        # At once, and not only after a while: the tree is gone before flowproof is.
        assert project.left_running() == []
    assert record["exit_code"] == 130
    first, second = record["flows"]
    assert (first["name"], first["verdict"]) == ("a.flow.yaml", "error")
    assert "interrupted" in first["reason"]
    # What it had come to is there.
    assert first["started"] and first["duration"] > 0
    assert first["agent"]["status"] == -signal.SIGTERM
    states = {task["id"]: task["state"] for task in first["tasks"]}
    assert (states["launch_agent"], states["check"]) == ("cancelled", "not-run")
    assert (second["name"], second["verdict"]) == ("b.flow.yaml", "skipped")
    assert "interrupted" in second["reason"]
    [kept] = project.folder.glob(".flowproof/runs/*/report.json")
    assert json.loads(kept.read_text("utf-8")) == record
    assert (project.folder / "reports/TEST-flowproof.xml").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_recording_keeps_the_previous_trace(
    project: Project, traced: Path, number: signal.Signals
) -> None:
    project.add(traced, "a.flow.yaml")
    with (
        model(NEVER) as upstream,
        running(
            project, "record", "a.flow.yaml", "--json", plan=WAITING, upstream=upstream.url
        ) as process,
    ):
        interrupt(process, number)
        record = record_of(process, 10)
        assert process.returncode == record["exit_code"] == 130
    assert project.trace("a.flow.yaml").read_bytes() == traced.read_bytes()
    assert not list(project.folder.rglob("*.tmp"))


def test_a_second_interrupt_does_not_wait(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    # An agent that ignores SIGTERM is given some time after the first.
    plan = [{"do": "ignore terminate"}, *BUSY]
    with running(project, "run", "a.flow.yaml", "--json", plan=plan) as process:
        for _ in range(50):
            interrupt(process, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
                break
        # Ended by the signal, and not by itself with 130 once the agent had used its time.
        assert process.wait(5) == -signal.SIGINT
        assert record_of(process, 5) == {"error": "interrupted", "exit_code": 130}
