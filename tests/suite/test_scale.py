"""Many flows, many runs at once: planning that stays cheap, waiting that costs no task, state that
no run takes from another."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from flowproof.graph.task import GraphError
from flowproof.report.run_json import load
from flowproof.suite.last_failed import note_failed, read_failed
from flowproof.suite.picture import picture
from flowproof.suite.plan import PlannedFlow, PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.run_store import KEPT, keep
from flowproof.suite.state_lock import alone
from tests.suite.test_run import add, run


@dataclass(slots=True)
class Loading(Project):
    """Counts how often a flow is loaded."""

    loaded: int = 0

    def job(self, spec_path: Path) -> object:  # type: ignore[override]
        self.loaded += 1
        return Project.job(self, spec_path)


def test_a_plan_loads_only_specs_that_may_name_a_port(tmp_path: Path) -> None:
    plain = [add(tmp_path, name) for name in "abc"]
    ported = tmp_path / "d.flow.yaml"
    url = "{url: 'http://127.0.0.1:1/', \"proxy_p\\u006Frt\": 4646}"
    ported.write_text(f"name: d\nagent: {url}\nsteps: [{{prompt: go}}]\n", "utf-8")
    mcp = tmp_path / "e.flow.yaml"
    server = "{name: m, url: 'http://h/mcp', port: 4646}"
    mcp.write_text(
        f"name: e\nagent: {{command: x}}\nmcp: [{server}]\nsteps: [{{prompt: go}}]\n", "utf-8"
    )
    project = Loading(tmp_path, JobOptions("replay"))
    planned = plan([*plain, ported, mcp], project, PlanOptions())
    locks = [sorted(one.locks) for one in planned]
    assert locks == [[], [], [], ["port 4646"], ["port 4646"]]
    assert project.loaded == 2


def test_repetitions_that_may_record_take_turns(tmp_path: Path) -> None:
    project = Project(tmp_path, JobOptions("replay"))
    options = PlanOptions(repeat=2, record_missing=True)
    one, other = plan([add(tmp_path, "a")], project, options)
    assert one.locks == other.locks != frozenset()
    [alone_planned] = plan([tmp_path / "a.flow.yaml"], project, replace(options, repeat=1))
    assert alone_planned.locks == frozenset()


def test_a_picture_says_what_flows_have_to_themselves(tmp_path: Path) -> None:
    specs = [add(tmp_path, name) for name in "ab"]
    (tmp_path / "suite.yaml").write_text(
        "name: s\nenv_from: mint\nafter_each: clean\n"
        "flows: {b.flow.yaml: {needs: [a.flow.yaml], resources: [db]}}\n",
        "utf-8",
    )
    project = Project(tmp_path, JobOptions("replay"))
    drawn = picture(plan(specs, project, PlanOptions()), project)
    assert {id: node.note for id, node in drawn.tasks.items()} == {
        "env_from of s": "",
        "a.flow.yaml": "suite ., with after_each",
        "b.flow.yaml": "resource db, suite ., with after_each",
        "end of s": "",
    }
    assert drawn.tasks["b.flow.yaml"].needs == ("env_from of s", "a.flow.yaml")


def test_a_picture_of_flows_that_wait_for_each_other(tmp_path: Path) -> None:
    spec = add(tmp_path, "a")
    planned = [PlannedFlow("a", spec, needs=("b",)), PlannedFlow("b", spec, needs=("a",))]
    with pytest.raises(GraphError, match="a → b → a"):
        picture(planned, Project(tmp_path, JobOptions("replay")))


def test_runs_at_once_forget_nothing_of_each_other(tmp_path: Path) -> None:
    names = [f"{number:02}.flow.yaml" for number in range(40)]

    def note(name: str) -> None:
        note_failed(tmp_path, ran=[name], failed=[name])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(note, names))
    assert read_failed(tmp_path) == frozenset(names)


def test_runs_at_once_are_all_kept_whole(tmp_path: Path) -> None:
    record = run(tmp_path, add(tmp_path, "a"))
    records = [replace(record, id=f"20261130T0900{at:02}Z-0000aa") for at in range(30)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: keep(one, tmp_path), reversed(records)))
    kept = sorted((tmp_path / ".flowproof/runs").iterdir())
    assert len(kept) == KEPT
    for folder in kept:
        assert load((folder / "report.json").read_text("utf-8")).id == folder.name
    assert (tmp_path / ".flowproof/.gitignore").read_text("utf-8") == "*\n"


def test_who_holds_the_state_for_long_stops_no_run(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with alone(tmp_path, patience=0.05):
            pass
    finally:
        os.close(descriptor)
