"""What the record of a run says beside verdicts: the plan of each flow, when it began, what the
commands of suites did, and where the run comes from."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest

from flowproof.drivers.interface import Driver, Launch
from flowproof.model.agent_exit import AgentExit
from flowproof.model.clock import SystemClock
from flowproof.model.origin import Population
from flowproof.model.run_record import FileDigest, FlowRecord, RunRecord, TaskRecord
from flowproof.report.run_json import dump, load
from flowproof.suite.plan import PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows
from tests.flow.support import asks, ended, world
from tests.suite.test_run import HELLO, Endless, Heard, add


class Hooked:
    """Runs hooks, of which some fail, and agents that ask once."""

    def __init__(self, **statuses: int) -> None:
        self._statuses = statuses
        self._agent = asks(HELLO)

    async def run(self, launch: Launch) -> AgentExit:
        if launch.argv[0] == "sh":
            await anyio.sleep(0.02)
            return ended(self._statuses.get(launch.argv[-1], 0))
        return await self._agent.run(launch)


def run(
    here: Path,
    *specs: Path,
    driver: Driver | None = None,
    environ: Mapping[str, str] | None = None,
    planned: PlanOptions | None = None,
    interrupt: Interrupt | None = None,
    seconds: Mapping[Path, float] | None = None,
    **more: Any,
) -> RunRecord:
    options = RunOptions("suite run", "s", b"\1\2\3", **more)
    project = Project(here, JobOptions("replay"))

    async def main() -> RunRecord:
        record = await run_flows(
            plan(specs, project, planned or PlanOptions(), seconds),
            project,
            replace(world(driver or asks(HELLO), environ), clock=SystemClock()),
            options,
            Heard(),
            interrupt or Interrupt(),
        )
        return replace(record, flows=tuple(record.flows))

    record = anyio.run(main)
    assert load(dump(record)) == record
    return record


def by_id(record: RunRecord) -> dict[str, FlowRecord]:
    return {flow.id: flow for flow in record.flows}


def suite(folder: Path, text: str) -> FileDigest:
    folder.mkdir(exist_ok=True)
    (folder / "suite.yaml").write_text(text, "utf-8")
    return FileDigest("suite.yaml", sha256(text.encode()).hexdigest())


PLANNED = """\
order: [a.flow.yaml]
flows:
  b.flow.yaml: {needs: [a.flow.yaml], resources: [ledger]}
  c.flow.yaml: {needs: [b.flow.yaml]}
"""


def test_every_flow_says_what_it_waited_for_and_kept_to_itself(tmp_path: Path) -> None:
    file = suite(tmp_path, PLANNED)
    specs = [add(tmp_path, "a", reply="nothing"), add(tmp_path, "b"), add(tmp_path, "c")]
    record = run(tmp_path, *specs, seconds={specs[1]: 1.5})
    flows = by_id(record)
    assert [*flows] == ["a.flow.yaml", "b.flow.yaml", "c.flow.yaml"]
    assert [flow.needs for flow in record.flows] == [(), ("a.flow.yaml",), ("b.flow.yaml",)]
    assert [flow.after for flow in record.flows] == [(), (), ("a.flow.yaml",)]
    assert [flow.locks for flow in record.flows] == [(), ("resource ledger",), ()]
    assert [flow.usual for flow in record.flows] == [None, 1.5, None]
    # b and c did not run: what they need failed.
    assert [flow.offset is None for flow in record.flows] == [False, True, True]
    assert [flow.inputs for flow in record.flows] == [(file,)] * 3
    assert record.slots == 1


def test_repetitions_are_told_apart(tmp_path: Path) -> None:
    suite(tmp_path, PLANNED.partition("  c.flow")[0])
    specs = [add(tmp_path, name) for name in "ab"]
    flows = by_id(run(tmp_path, *specs, planned=PlanOptions(repeat=2), jobs=2))
    assert [*flows] == [f"{name}.flow.yaml [{at}/2]" for name in "ab" for at in (1, 2)]
    first = ("a.flow.yaml [1/2]", "a.flow.yaml [2/2]")
    assert flows["b.flow.yaml [1/2]"].needs == flows["b.flow.yaml [2/2]"].needs == first


def test_locks_as_people_read_them(tmp_path: Path) -> None:
    suite(tmp_path / "in", "jobs: 1\nflows: {a.flow.yaml: {resources: [ledger]}}\n")
    spec = add(tmp_path / "in", "a", recorded=False)
    agent = "agent: {url: 'http://localhost:1/task', proxy_port: 4646}"
    text = spec.read_text("utf-8").replace("agent: {command: greet}", agent)
    spec.write_text(text, "utf-8")
    options = PlanOptions(repeat=2, record_missing=True)
    first, _ = run(tmp_path, spec, planned=options, skip_untraced=True).flows
    assert first.locks == ("port 4646", "resource ledger", "suite in", "trace in/a.trace.json")


def test_a_flow_whose_suite_cannot_be_read_names_no_file_of_it(tmp_path: Path) -> None:
    suite(tmp_path, "nmae: x\n")
    [flow] = run(tmp_path, add(tmp_path, "a")).flows
    assert (flow.verdict, flow.id, flow.inputs, flow.offset) == ("error", "a.flow.yaml", (), None)


class Slow:
    """Agents that take a while, so that one begins well after another."""

    def __init__(self) -> None:
        self._agent = asks(HELLO)

    async def run(self, launch: Launch) -> AgentExit:
        await anyio.sleep(0.1)
        return await self._agent.run(launch)


def test_offsets_are_from_the_start_of_the_run(tmp_path: Path) -> None:
    record = run(tmp_path, *(add(tmp_path, name) for name in "ab"), driver=Slow())
    first, second = (flow.offset for flow in record.flows)
    assert first is not None and second is not None
    assert 0 <= first < second - 0.1
    assert second + record.flows[1].duration <= record.duration


def test_the_offset_is_that_of_the_last_try(tmp_path: Path) -> None:
    [flow] = run(
        tmp_path, add(tmp_path, "a", reply="no"), driver=Slow(), planned=PlanOptions(retries=1)
    ).flows
    assert len(flow.attempts) == 1
    assert flow.offset is not None and flow.offset > 0.1


def test_a_skipped_flow_began_at_no_time(tmp_path: Path) -> None:
    specs = [
        add(tmp_path, "a", more="skip_unless_env: [NIGHTLY]\n"),
        add(tmp_path, "b", recorded=False),
    ]
    record = run(tmp_path, *specs, skip_untraced=True)
    assert [flow.verdict for flow in record.flows] == ["skipped", "skipped"]
    assert [flow.offset for flow in record.flows] == [None, None]
    assert [flow.slot for flow in record.flows] == [0, 0]
    ran = run(tmp_path, add(tmp_path, "c"), specs[1], skip_untraced=True)
    assert [flow.slot for flow in ran.flows] == [1, 0]


def test_a_flow_that_was_cut_off_says_when_it_began(tmp_path: Path) -> None:
    interrupt = Interrupt()
    specs = [add(tmp_path, name) for name in "ab"]
    record = run(tmp_path, *specs, driver=Endless(interrupt.request), interrupt=interrupt)
    assert [flow.offset is None for flow in record.flows] == [False, True]
    assert [flow.id for flow in record.flows] == ["a.flow.yaml", "b.flow.yaml"]


HOOKS = "env_from: mint\nbefore_all: seed\nafter_all: drop\n"


def states(tasks: Sequence[TaskRecord]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(task.id, task.state.value, task.needs) for task in tasks]


def test_commands_of_a_suite_are_tasks_of_the_run(tmp_path: Path) -> None:
    suite(tmp_path, HOOKS)
    record = run(tmp_path, add(tmp_path, "a"), driver=Hooked())
    assert states(record.tasks) == [
        ("env_from", "done", ()),
        ("before_all", "done", ("env_from",)),
        ("after_all", "done", ("before_all", "a.flow.yaml")),
    ]
    [minted, seeded, dropped] = record.tasks
    times = [(task.started or 0.0, task.duration or 0.0) for task in (minted, seeded, dropped)]
    assert all(duration >= 0.02 for _, duration in times)
    assert times[0][0] + times[0][1] <= times[1][0]
    offset = record.flows[0].offset
    assert offset is not None
    assert times[1][0] + times[1][1] <= offset <= times[2][0] <= record.duration


def test_suites_below_are_told_by_their_folder(tmp_path: Path) -> None:
    suite(tmp_path, "after_all: drop\n")
    suite(tmp_path / "in", "before_all: seed\n")
    specs = add(tmp_path, "a"), add(tmp_path / "in", "b")
    assert states(run(tmp_path, *specs, driver=Hooked()).tasks) == [
        ("after_all", "done", ("a.flow.yaml",)),
        ("before_all in", "done", ()),
    ]


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        pytest.param("mint", ["failed", "not-run", "done"], id="env_from"),
        pytest.param("seed", ["done", "failed", "done"], id="before_all"),
        pytest.param("drop", ["done", "done", "failed"], id="after_all"),
    ],
)
def test_a_command_that_fails_says_why(tmp_path: Path, failing: str, expected: list[str]) -> None:
    suite(tmp_path, HOOKS)
    record = run(tmp_path, add(tmp_path, "a"), driver=Hooked(**{failing: 3}))
    assert [task.state.value for task in record.tasks] == expected
    [cause] = [task.cause for task in record.tasks if task.state == "failed"]
    assert cause.endswith("exited with status 3")
    for task in record.tasks:
        assert (task.started is None) == (task.state == "not-run")
        assert bool(task.cause) == (task.state != "done")


class FirstHangs:
    """The first command asks for something and hangs, all others end at once."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self._hangs = [Endless(ask)]

    async def run(self, launch: Launch) -> AgentExit:
        return await self._hangs.pop().run(launch) if self._hangs else ended()


def test_commands_that_were_cut_off_or_never_ran(tmp_path: Path) -> None:
    suite(tmp_path, HOOKS)
    interrupt = Interrupt()
    driver = FirstHangs(interrupt.request)
    record = run(tmp_path, add(tmp_path, "a"), driver=driver, interrupt=interrupt)
    assert [task.state.value for task in record.tasks] == ["cancelled", "not-run", "done"]
    assert [bool(task.cause) for task in record.tasks] == [True, True, False]
    assert record.tasks[0].duration is not None


def test_nobody_looks_where_a_run_comes_from_unless_told(tmp_path: Path) -> None:
    record = run(tmp_path, add(tmp_path, "a"))
    assert (record.origin, record.source, record.population, record.inputs) == (None,) * 3 + ((),)
    assert record.tasks == ()


def test_where_a_run_comes_from(tmp_path: Path) -> None:
    folder = tmp_path / "repository/flows"
    folder.mkdir(parents=True)
    spec = add(folder, "a")
    (tmp_path / "repository/uv.lock").write_text("x", "utf-8")
    for words in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@b.c commit -qm x"):
        subprocess.run(["git", *words.split()], cwd=folder.parent, check=True, timeout=60)
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "casey"}
    record = run(
        folder, spec, environ=environ, folder=folder, discovered=3, selection=(("-k", "a"),)
    )
    assert record.origin is not None and record.source is not None
    assert (record.origin.ci, record.origin.actor) == ("GitHub Actions", "casey")
    assert (record.source.branch, record.source.changed) == ("main", False)
    assert record.inputs == (FileDigest("../uv.lock", sha256(b"x").hexdigest()),)
    assert record.population == Population(3, 1, (("-k", "a"),))
    assert record.population.deselected == 2


def test_a_run_in_which_no_agent_starts_says_it_too(tmp_path: Path) -> None:
    record = run(tmp_path, folder=tmp_path, discovered=0)
    assert record.origin is not None and record.source is None
    assert record.population == Population(0, 0)


def test_flows_that_are_needed_from_elsewhere_are_counted(tmp_path: Path) -> None:
    specs = [add(tmp_path, name) for name in "ab"]
    record = run(tmp_path, *specs, discovered=1, planned=PlanOptions(repeat=3))
    assert record.population == Population(2, 2)


def test_flows_that_were_left_out_are_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    one, *others = [add(tmp_path, name) for name in ("b", "deep/z", "a")]
    record = run(tmp_path, one, discovered=3, left_out=others)
    assert record.population == Population(3, 1, left_out=("a.flow.yaml", "deep/z.flow.yaml"))
    assert load(dump(record)).population == record.population


def test_of_very_many_the_first_are_named(tmp_path: Path) -> None:
    left_out = [tmp_path / f"{at:04}.flow.yaml" for at in range(500)]
    record = run(tmp_path, add(tmp_path, "x"), discovered=501, left_out=left_out[::-1])
    assert record.population is not None
    assert record.population.left_out == tuple(path.name for path in left_out[:200])
    assert record.population.deselected == 500


def test_a_git_that_hangs_holds_no_interrupted_run_up(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "git").write_text("#!/bin/sh\nsleep 60\n", "utf-8")
    (tmp_path / "git").chmod(0o755)
    interrupt = Interrupt()

    class Waits(Endless):
        async def run(self, launch: Launch) -> AgentExit:
            await anyio.sleep(0.3)
            return await super().run(launch)

    begun = time.monotonic()
    record = run(
        tmp_path,
        add(tmp_path, "a"),
        driver=Waits(interrupt.request),
        environ={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        interrupt=interrupt,
        folder=tmp_path,
    )
    assert time.monotonic() - begun < 2.5, "it did not wait for git's own limit"
    assert record.source is None and record.origin is not None
