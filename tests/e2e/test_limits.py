"""Where the machine has nothing left, nobody else is blamed, and no run is green by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.project import Project, Ran

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

PLAN = [{"do": "ask", "say": "hello"}]


def limited(project: Project, limit: str, *arguments: str, plan: object = PLAN) -> Ran:
    """Run `flowproof` under a limit of the shell."""
    done = subprocess.run(
        ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *project.command(arguments)],
        cwd=project.folder,
        # A module that is compiled under such a limit would be left half written.
        env=project.environment(plan, {"PYTHONDONTWRITEBYTECODE": "1"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_out_of_descriptors(project: Project, traced: Path) -> None:
    for at in range(24):
        project.add(traced, f"flow{at:02}.flow.yaml")
    ran = limited(project, "-n 40", "suite", "run", "-j", "24", "--no-reports", "--json")
    assert ran.code == 4 == ran.record["exit_code"]
    flows = ran.record["flows"]
    assert {flow["verdict"] for flow in flows} <= {"pass", "error"}
    lacking = [flow for flow in flows if flow["verdict"] == "error"]
    assert len(lacking) > 10
    for flow in lacking:
        assert flow["exit_code"] == 4
        assert "Too many open files" in flow["reason"] or "did not come up" in flow["reason"]
        assert "ulimit -n" in flow["reason"]
    # With what it says to do, all pass.
    again = limited(project, "-n 40", "suite", "run", "-j", "1", "--no-reports")
    assert (again.code, project.left_running()) == (0, [])


def test_far_too_few_descriptors(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    ran = limited(project, "-n 8", "suite", "run", "--no-reports")
    assert ran.code == 4
    assert "ulimit -n" in ran.stderr and "Traceback" not in ran.stderr


def test_a_command_that_does_not_exist_is_still_the_authors(project: Project) -> None:
    project.write(
        "a.flow.yaml", "name: a\nagent: {command: no-such-agent}\nsteps: [{prompt: go}]\n"
    )
    ran = project.flowproof("suite", "run", "--strict", "--no-reports")
    assert ran.code == 2 and "ulimit" not in ran.stderr


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        pytest.param(PLAN, 4, id="a green run"),
        pytest.param([], 1, id="a red run"),
    ],
)
def test_no_room_for_a_report(
    project: Project, traced: Path, plan: list[object], code: int
) -> None:
    project.add(traced, "a.flow.yaml")
    assert project.flowproof("suite", "run", plan=PLAN).code == 0
    # Files of 8 blocks of 512 bytes: the pages do not fit, others do.
    wanted = "suite", "run", "--json", "--report", "html", "--report", "junit"
    done = limited(project, "-f 8", *wanted, plan=plan)
    record = done.record
    assert (done.code, record["exit_code"]) == (code, code), done.stderr
    assert record["flows"][0]["verdict"] == ("pass" if code == 4 else "fail")
    [error] = record["errors"]
    assert error.startswith("cannot write a report to reports/flows/a.html: File too large; ")
    assert f"error: {error}" in done.stderr
    assert ("The flow passed" if code == 4 else "The flow failed") in done.stderr
    ET.parse(project.folder / "reports/TEST-flowproof.xml")
    # Nor those of the run before, which was green.
    assert not list((project.folder / "reports").rglob("*.html"))
    assert not (project.folder / "reports/SHA256SUMS").exists()
    assert not list(project.folder.rglob("*.tmp"))


def test_a_folder_that_cannot_be_used_is_the_authors(project: Project, traced: Path) -> None:
    project.add(traced, "a.flow.yaml")
    (project.folder / "reports").mkdir()
    (project.folder / "reports/flows").symlink_to(project.folder / "home")
    ran = project.flowproof("suite", "run", "--json", plan=PLAN)
    assert (ran.code, ran.record["exit_code"]) == (2, 2)
    assert "is a symbolic link" in ran.record["errors"][0]
    assert "exit 2" in ran.stderr and "The flow passed" in ran.stderr
