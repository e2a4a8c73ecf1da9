"""Suites of real processes: one that hangs, daemons, hooks, kill -9, Ctrl-C, 200 flows at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psutil
import pytest

from tests.e2e.project import AGENTS, Project
from tests.e2e.test_interruption import eventually, interrupt, record_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")

ASK = {"do": "ask", "say": "hello"}
SLEEP = {"do": "sleep", "seconds": 300}


def add(project: Project, trace: Path, name: str, *plan: object, **agent: object) -> str:
    """A flow whose agent does what this plan says."""
    own = {"env": {"AGENT_PLAN": json.dumps(plan)}, **agent}
    project.add(trace, f"{name}.flow.yaml", agent=own)
    return name


def verdicts(record: dict[str, Any]) -> dict[str, str]:
    return {flow["path"].removesuffix(".flow.yaml"): flow["verdict"] for flow in record["flows"]}


def test_one_that_hangs_keeps_no_other(project: Project, traced: Path) -> None:
    add(project, traced, "hangs", ASK, SLEEP, timeout=6)
    others = [add(project, traced, name, ASK) for name in "bcd"]
    done = project.flowproof("suite", "run", "-j", "2", "--json", "--no-reports")
    assert verdicts(done.record) == {"hangs": "fail", **dict.fromkeys(others, "pass")}
    assert done.code == 1
    hung = next(flow for flow in done.record["flows"] if flow["path"].startswith("hangs"))
    assert hung["agent"]["timed_out"]
    ended = [done.stderr.index(f"{name}.flow.yaml") for name in (*others, "hangs")]
    assert max(ended) == ended[-1], "the one that hangs was told of last"
    assert project.left_running() == []


def test_a_daemon_ends_with_its_flow(project: Project, traced: Path) -> None:
    add(project, traced, "forks", ASK, {"do": "grandchild"})
    add(project, traced, "plain", ASK)
    done = project.flowproof("suite", "run", "-j", "2", "--json", "--no-reports")
    forks, plain = done.record["flows"]
    assert (len(forks["agent"]["survivors"]), plain["agent"]["survivors"]) == (1, [])
    assert plain["verdict"] == "pass"
    assert project.left_running() == []


@pytest.mark.parametrize(
    ("hook", "expected", "code"),
    [
        pytest.param("before_each: 'case $FLOWPROOF_SPEC in */a.*) exit 3;; esac'", "epp", 4),
        pytest.param("after_each: 'case $FLOWPROOF_SPEC in */b.*) exit 3;; esac'", "pep", 4),
        pytest.param("before_all: 'exit 3'", "eee", 4),
        pytest.param("after_all: 'exit 3'", "ppp", 4),
        pytest.param("before_each: 'true'\nafter_each: 'true'", "ppp", 0),
    ],
    ids=["before_each", "after_each", "before_all", "after_all", "none fails"],
)
def test_a_hook_that_fails(
    project: Project, traced: Path, hook: str, expected: str, code: int
) -> None:
    for name in "abc":
        add(project, traced, name, ASK)
    project.write("suite.yaml", f"name: hooked\njobs: 3\n{hook}\n")
    done = project.flowproof("suite", "run", "--json")
    assert "".join(found[0] for found in verdicts(done.record).values()) == expected
    assert done.code == code
    assert ET.parse(project.folder / "reports/TEST-flowproof.xml").getroot().tag == "testsuites"


@contextmanager
def busy(
    project: Project, traced: Path, jobs: int, flows: int, *first: object
) -> Iterator[subprocess.Popen[str]]:
    """A suite, `jobs` agents of which are busy; in the end nothing of it may be left."""
    names = [f"f{number:02}" for number in range(flows)]
    for name in names:
        touch = {"do": "touch", "file": f"ready-{name}"}
        add(project, traced, name, *first, ASK, {"do": "grandchild"}, touch, SLEEP)
    with project.start("suite", "run", "-j", str(jobs), "--json") as process:
        try:
            assert eventually(lambda: len(list(project.folder.glob("ready-*"))) == jobs)
            tree = psutil.Process(process.pid).children(recursive=True)
            assert len(tree) == 1 + 3 * jobs, "a server; for each its guard, itself, a grandchild"
            yield process
            assert eventually(lambda: project.left_running() == [], 10)
            assert eventually(lambda: not any(map(psutil.Process.is_running, tree)), 10)
        finally:
            for left in project.left_running():
                left.kill()


def listening(connections: Iterable[Any]) -> set[int]:
    """The ports among these connections that somebody listens at."""
    return {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}


def test_kill_9_of_a_suite(project: Project, traced: Path) -> None:
    with busy(project, traced, 8, 10) as process:
        ports = listening(psutil.Process(process.pid).net_connections("tcp4"))
        assert len(ports) == 8
        process.kill()
        assert process.wait(5) == -signal.SIGKILL
    assert eventually(lambda: not ports & listening(psutil.net_connections("tcp4")), 10)
    assert not list(project.folder.rglob("*.tmp"))


def test_one_interrupt_ends_a_suite_in_order(project: Project, traced: Path) -> None:
    with busy(project, traced, 4, 6) as process:
        interrupt(process, signal.SIGINT)
        record = record_of(process, 15)
        assert process.returncode == record["exit_code"] == 130
        assert project.left_running() == []
    assert [flow["verdict"] for flow in record["flows"]] == ["error"] * 4 + ["skipped"] * 2
    reports = project.folder / "reports"
    assert json.loads((reports / "run.json").read_text("utf-8")) == record
    assert len(ET.parse(reports / "TEST-flowproof.xml").getroot().findall(".//testcase")) == 6
    assert (reports / "index.html").stat().st_size > 0


def test_the_second_interrupt_ends_a_suite_at_once(project: Project, traced: Path) -> None:
    with busy(project, traced, 3, 3, {"do": "ignore terminate"}) as process:
        for _ in range(50):
            interrupt(process, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
                break
        assert process.wait(5) == -signal.SIGINT


IN_PROCESS = """\
import json, os, psutil, sys
from flowproof import Suite

def held():
    return sorted(os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
                  if os.path.exists(f"/proc/self/fd/{name}"))

Suite("warm").run()
before = held()
result = Suite("many").run(jobs=48)
print(json.dumps({
    "exit": result.exit_code,
    "verdicts": [str(flow.verdict) for flow in result.flows],
    "slots": sorted({flow.slot for flow in result.flows}),
    "leaked": len(held()) - len(before),
    "children": len(psutil.Process().children(recursive=True)),
}))
"""


@pytest.mark.slow
def test_200_flows_at_once_leave_nothing(project: Project, traced: Path) -> None:
    command = f"{sys.executable} -I -S {AGENTS / 'tiny_agent.py'}"
    for number in range(200):
        project.add(traced, f"many/f{number:03}.flow.yaml", agent={"command": command})
    project.add(traced, "warm/f.flow.yaml", agent={"command": command})
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdicts"] == ["pass"] * 200
    assert found["exit"] == 0
    assert found["slots"] == list(range(1, 49))
    assert (found["leaked"], found["children"]) == (0, 0), "descriptors, and zombies among them"


def at_once(project: Project, arguments: Sequence[Sequence[str]]) -> list[int]:
    """Run several command lines at the same time; their exit codes."""
    started = [project.start("suite", "run", *one) for one in arguments]
    codes = []
    for process in started:
        with process:
            process.communicate(timeout=60)
            codes.append(process.returncode)
    return codes


def test_suites_at_once_in_one_folder(project: Project, traced: Path) -> None:
    for name in "ab":
        add(project, traced, name, ASK)
    add(project, traced, "c", {"do": "ask", "say": "something else"})
    add(project, traced, "d", {"do": "ask", "say": "something else"})
    assert at_once(project, [["-k", "a.flow"], ["-k", "c.flow"], ["-k", "d.flow"], []]) == [
        0,
        1,
        1,
        1,
    ]
    state = project.folder / ".flowproof"
    kept = [json.loads(file.read_text("utf-8")) for file in state.glob("runs/*/report.json")]
    assert sorted(len(record["flows"]) for record in kept) == [1, 1, 1, 4]
    failed = json.loads((state / "last-failed.json").read_text("utf-8"))
    assert failed == ["c.flow.yaml", "d.flow.yaml"]
    durations = json.loads((state / "durations.json").read_text("utf-8"))
    assert list(durations) == [f"{name}.flow.yaml" for name in "abcd"]
    assert (state / ".gitignore").read_text("utf-8") == "*\n"
    assert not list(project.folder.rglob("*.tmp"))
    ET.parse(project.folder / "reports/TEST-flowproof.xml")
