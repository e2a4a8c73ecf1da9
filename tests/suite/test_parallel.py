"""Several flows at once: slots, locks, needs, order, retries, limits, and what is reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from flowproof.drivers.interface import Driver, Launch
from flowproof.errors import ExitCode, UsageError
from flowproof.graph.task import TaskNode
from flowproof.model.agent_exit import AgentExit, Captured
from flowproof.suite.attempts import KEPT
from flowproof.suite.gate import Claim, Gate
from flowproof.suite.jobs import parse_jobs
from flowproof.suite.plan import PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from tests.flow.support import asks, ended
from tests.suite.test_run import HELLO, Heard, add, run, verdicts


@dataclass
class Counted:
    """Runs another driver, and counts how many of its agents run at once. A flow is known by
    its command's last word."""

    inner: Driver = field(default_factory=lambda: asks(HELLO))
    before: Callable[[str], Awaitable[None]] | None = None
    running: list[str] = field(default_factory=list)
    most: int = 0
    together: set[frozenset[str]] = field(default_factory=set)
    began: list[str] = field(default_factory=list)

    async def run(self, launch: Launch) -> AgentExit:
        name = launch.argv[-1]
        self.began.append(name)
        self.running.append(name)
        self.most = max(self.most, len(self.running))
        self.together.add(frozenset(self.running))
        try:
            await anyio.sleep(0.05)
            if self.before is not None:
                await self.before(name)
            return await self.inner.run(launch)
        finally:
            self.running.remove(name)


def add_named(folder: Path, name: str, *, more: str = "", reply: str = "Hello") -> Path:
    spec = add(folder, name, more=more, reply=reply)
    spec.write_text(spec.read_text("utf-8").replace("command: greet", f"command: greet {name}"))
    return spec


def flows(folder: Path, names: str) -> list[Path]:
    return [add_named(folder, name) for name in names]


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_as_many_at_once_as_there_are_slots(tmp_path: Path, jobs: int) -> None:
    driver, heard = Counted(), Heard()
    record = run(tmp_path, *flows(tmp_path, "abcd"), driver=driver, jobs=jobs, heard=heard)
    assert verdicts(record) == ["pass"] * 4
    assert driver.most == jobs
    assert heard.slots == [jobs]
    assert {flow.slot for flow in record.flows} == set(range(1, jobs + 1))
    assert [flow.path[0] for flow in record.flows] == [*"abcd"]


def suite(folder: Path, text: str) -> None:
    (folder / "suite.yaml").write_text(text, "utf-8")


def test_flows_that_share_a_resource_never_run_at_once(tmp_path: Path) -> None:
    specs = flows(tmp_path, "abc")
    suite(tmp_path, "flows: {a.flow.yaml: {resources: [db]}, c.flow.yaml: {resources: [db, x]}}\n")
    driver = Counted()
    assert verdicts(run(tmp_path, *specs, driver=driver, jobs=3)) == ["pass"] * 3
    assert not any({"a", "c"} <= one for one in driver.together)
    assert any({"a", "b"} <= one for one in driver.together)


def test_fixed_ports_are_locks(tmp_path: Path) -> None:
    agents = {
        "a": "{url: 'http://127.0.0.1:1/', proxy_port: 4646}",
        "b": "{command: x}",
        "c": "{url: 'http://127.0.0.1:2/', proxy_port: 4646}",
    }
    specs = []
    for name, agent in agents.items():
        specs.append(tmp_path / f"{name}.flow.yaml")
        mcp = "mcp: [{name: m, url: 'http://h/mcp', port: 5000}]\n" if name == "b" else ""
        text = f"name: {name}\nagent: {agent}\n{mcp}steps: [{{prompt: go}}]\n"
        specs[-1].write_text(text, "utf-8")
    planned = plan(specs, Project(tmp_path, JobOptions("replay")), PlanOptions())
    assert [sorted(one.locks) for one in planned] == [["port 4646"], ["port 5000"], ["port 4646"]]


def test_a_flow_waits_for_what_it_needs(tmp_path: Path) -> None:
    specs = flows(tmp_path, "abc")
    suite(tmp_path, "flows: {a.flow.yaml: {needs: [c.flow.yaml]}}\n")
    driver = Counted()
    assert verdicts(run(tmp_path, *specs, driver=driver, jobs=3)) == ["pass"] * 3
    assert driver.began.index("c") < driver.began.index("a")
    assert not any({"a", "c"} <= one for one in driver.together)


def test_a_failed_need_skips_what_needs_it_and_nothing_else(tmp_path: Path) -> None:
    specs = [*flows(tmp_path, "ab"), add_named(tmp_path, "c", reply="Bye")]
    suite(tmp_path, "flows: {a.flow.yaml: {needs: [c.flow.yaml]}}\n")
    record = run(tmp_path, *specs, driver=Counted(), jobs=2)
    assert verdicts(record) == ["skipped", "pass", "fail"]
    assert record.flows[0].reason == "c.flow.yaml, which it needs, did not pass"
    assert record.exit_code is ExitCode.FLOW_FAILED


def test_an_order_holds_whatever_became_of_a_flow(tmp_path: Path) -> None:
    specs = [add_named(tmp_path, "a"), add_named(tmp_path, "b", reply="Bye")]
    suite(tmp_path, "order: [b.flow.yaml]\n")
    driver = Counted()
    assert verdicts(run(tmp_path, *specs, driver=driver, jobs=2)) == ["pass", "fail"]
    assert driver.began == ["b", "a"] and driver.most == 1


class Unsteady:
    """An agent that asks for something else in its first tries, each time for another thing
    unless it is `steady` in that."""

    def __init__(self, bad: int, *, steady: bool = False) -> None:
        self._bad = bad
        self._steady = steady
        self.tries = 0

    async def run(self, launch: Launch) -> AgentExit:
        self.tries += 1
        if self.tries > self._bad:
            return await asks(HELLO).run(launch)
        other = {**HELLO, "temperature": 1 if self._steady else self.tries}
        exit = await asks(other, status=1).run(launch)
        return replace(exit, stdout=Captured(f"try {self.tries}\n", 6))


def test_a_flow_that_passes_only_when_tried_again_is_flaky(tmp_path: Path) -> None:
    [spec] = flows(tmp_path, "a")
    record = run(tmp_path, spec, driver=Unsteady(2), planned=PlanOptions(retries=2))
    [flow] = record.flows
    assert (flow.verdict, record.exit_code) == ("flaky", ExitCode.PASSED)
    assert [one.verdict for one in flow.attempts] == ["fail", "fail"]
    agents = [one.agent for one in flow.attempts]
    assert [agent and (agent.status, agent.stdout.text) for agent in agents] == [
        (1, "try 1\n"),
        (1, "try 2\n"),
    ]
    assert flow.reason.startswith("it passed after 2 tries that did not: model request 1 differs")


def test_flaky_is_red_where_that_is_asked_for(tmp_path: Path) -> None:
    [spec] = flows(tmp_path, "a")
    options = PlanOptions(retries=1)
    record = run(tmp_path, spec, driver=Unsteady(1), planned=options, fail_on_flaky=True)
    assert record.exit_code is ExitCode.FLOW_FAILED
    steady = run(tmp_path, spec, planned=options, fail_on_flaky=True)
    assert (verdicts(steady), steady.exit_code) == (["pass"], ExitCode.PASSED)


def test_tries_come_to_an_end(tmp_path: Path) -> None:
    [spec] = flows(tmp_path, "a")
    [flow] = run(tmp_path, spec, driver=Unsteady(9), planned=PlanOptions(retries=2)).flows
    assert (flow.verdict, len(flow.attempts)) == ("fail", 2)
    assert "not tried again" not in flow.reason


def test_the_same_divergence_twice_in_a_row_ends_the_tries(tmp_path: Path) -> None:
    [spec] = flows(tmp_path, "a")
    driver = Unsteady(9, steady=True)
    [flow] = run(tmp_path, spec, driver=driver, planned=PlanOptions(retries=5)).flows
    assert (flow.verdict, len(flow.attempts), driver.tries) == ("fail", 1, 2)
    assert flow.reason.startswith("model request 1 differs")
    assert flow.reason.endswith("\nnot tried again: the same divergence came twice")
    # With a single retry nothing was left out.
    [flow] = run(
        tmp_path, spec, driver=Unsteady(9, steady=True), planned=PlanOptions(retries=1)
    ).flows
    assert len(flow.attempts) == 1 and "not tried again" not in flow.reason


@pytest.mark.parametrize(
    ("reply", "status"),
    [pytest.param("Bye", 0, id="assertion"), pytest.param("Hello", 3, id="crash")],
)
def test_what_may_be_chance_is_tried_as_often_as_asked(
    tmp_path: Path, reply: str, status: int
) -> None:
    spec = add_named(tmp_path, "a", reply=reply)
    driver = asks(HELLO, status=status)
    [flow] = run(tmp_path, spec, driver=driver, planned=PlanOptions(retries=3)).flows
    assert (flow.verdict, len(flow.attempts), len(driver.launches)) == ("fail", 3, 4)


def test_of_a_loud_try_the_end_is_kept(tmp_path: Path) -> None:
    class Loud:
        async def run(self, launch: Launch) -> AgentExit:
            exit = await asks(HELLO, status=1).run(launch)
            text = "é" * 50_000 + "the end"
            return replace(exit, stdout=Captured(text, 100_007), stderr=Captured("short", 5))

    [spec] = flows(tmp_path, "a")
    [flow] = run(tmp_path, spec, driver=Loud(), planned=PlanOptions(retries=1)).flows
    [first] = flow.attempts
    assert first.agent is not None and flow.agent is not None
    kept = first.agent.stdout
    assert kept.text.startswith("[… its beginning is left out …]\né")
    assert kept.text.endswith("éthe end") and kept.total == 100_007
    assert KEPT - 4 < len(kept.text.partition("\n")[2].encode()) <= KEPT
    assert first.agent.stderr.text == "short"
    assert len(flow.agent.stdout.text) > 50_000  # of the last try all is there


def test_what_an_author_got_wrong_is_not_tried_again(tmp_path: Path) -> None:
    spec = add(tmp_path, "a", recorded=False)
    [flow] = run(tmp_path, spec, planned=PlanOptions(retries=2)).flows
    assert (flow.verdict, flow.attempts) == ("error", ())


def test_retries_of_the_suite_and_of_a_flow(tmp_path: Path) -> None:
    specs = flows(tmp_path, "ab")
    suite(tmp_path, "retries: 1\nflows: {b.flow.yaml: {retries: 0}}\n")
    project = Project(tmp_path, JobOptions("replay"))
    assert [one.retries for one in plan(specs, project, PlanOptions())] == [1, 0]
    assert [one.retries for one in plan(specs, project, PlanOptions(retries=3))] == [3, 3]


def test_a_repeated_flow_has_a_name_for_each_time(tmp_path: Path) -> None:
    driver, heard = Counted(), Heard()
    record = run(
        tmp_path,
        *flows(tmp_path, "a"),
        driver=driver,
        heard=heard,
        planned=PlanOptions(repeat=3),
        jobs=3,
    )
    assert [flow.name for flow in record.flows] == [f"flow a [{n}/3]" for n in (1, 2, 3)]
    assert driver.most == 3
    assert {line for line in heard.lines if line[0] == "+"} == {
        f"+ flow a [{n}/3]" for n in (1, 2, 3)
    }


def test_after_enough_failures_nothing_more_begins(tmp_path: Path) -> None:
    specs = [add_named(tmp_path, name, reply="Bye" if name == "b" else "Hello") for name in "abcd"]
    record = run(tmp_path, *specs, driver=Counted(), max_failures=1)
    assert verdicts(record) == ["pass", "fail", "skipped", "skipped"]
    assert record.flows[2].reason == "it did not begin, since 1 flow had failed"
    assert record.partial and record.exit_code is ExitCode.FLOW_FAILED
    assert not run(tmp_path, *specs, driver=Counted(), max_failures=2).partial


def test_the_time_of_the_whole_run_ends(tmp_path: Path) -> None:
    async def hang(name: str) -> None:
        if name == "b":
            await anyio.sleep_forever()

    specs = flows(tmp_path, "abc")
    driver = Counted(before=hang)
    record = run(tmp_path, *specs, driver=driver, jobs=1, global_timeout=1.5)
    assert verdicts(record) == ["pass", "error", "skipped"]
    assert record.flows[1].reason == "cut off by the time limit of the whole run while it ran"
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert driver.running == []


def test_one_that_hangs_stops_no_other(tmp_path: Path) -> None:
    async def hang(name: str) -> None:
        if name == "a":
            await anyio.sleep_forever()

    specs = flows(tmp_path, "abcd")
    record = run(tmp_path, *specs, driver=Counted(before=hang), jobs=2, global_timeout=2.5)
    assert verdicts(record) == ["error", "pass", "pass", "pass"]


def test_the_longest_begin_first_and_the_unknown_before_them(tmp_path: Path) -> None:
    specs = flows(tmp_path, "abc")
    project = Project(tmp_path, JobOptions("replay"))
    driver = Counted()
    from flowproof.suite.run import Interrupt, RunOptions, run_flows
    from tests.flow.support import world

    async def main() -> None:
        planned = plan(specs, project, PlanOptions(), {specs[0]: 1.0, specs[1]: 9.0})
        options = RunOptions("suite run", "s", b"\1\2\3")
        await run_flows(planned, project, world(driver), options, Heard(), Interrupt())

    anyio.run(main)
    assert driver.began == ["c", "b", "a"]


def test_a_gate_lets_in_whoever_can_go() -> None:
    claims = {"b": "x", "a": "x", "c": "", "d": ""}
    order = {"a": 0, "b": 1, "c": 2, "d": 3}
    gate = Gate(2, {id: Claim((0.0, order[id]), frozenset(claims[id])) for id in claims})
    nodes = {id: TaskNode(id, "flow") for id in claims}
    for node in nodes.values():
        gate.offer(node)
    assert taken(gate) == ["a", "c"]
    assert (gate.slot("a"), gate.slot("c")) == (1, 2)
    gate.left(nodes["c"])
    assert taken(gate) == ["d"], "b waits for the lock of a"
    gate.left(nodes["a"])
    assert taken(gate) == ["b"]
    assert gate.slot("b") == 1


def test_what_claims_nothing_goes_in_at_once() -> None:
    gate = Gate(1, {"a": Claim((0.0, 0)), "b": Claim((0.0, 1))})
    for id in ("a", "b", "hook"):
        gate.offer(TaskNode(id, "flow"))
    assert taken(gate) == ["hook", "a"]


def taken(gate: Gate) -> list[str]:
    return [node.id for node in iter(gate.take, None)]


def test_many_flows_wait_without_a_task_each(tmp_path: Path) -> None:
    tasks: list[int] = []

    async def count(name: str) -> None:
        tasks.append(len(anyio.get_running_tasks()))

    specs = flows(tmp_path, "abcdefghijklmnop")
    record = run(tmp_path, *specs, driver=Counted(before=count), jobs=1)
    assert verdicts(record) == ["pass"] * len(specs)
    assert max(tasks) < 10, "one flow runs, and the others are no task yet"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("12", 12), ("auto", 8), ("50%", 4), ("1%", 1), ("100%", 8)],
)
def test_jobs(text: str, expected: int) -> None:
    assert parse_jobs(text, "-j", cores=8) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "0%", "101%", "many", "1.5", "10000"])
def test_jobs_refused(text: str) -> None:
    with pytest.raises(UsageError, match="-j"):
        parse_jobs(text, "-j", cores=8)


def test_an_agent_that_does_nothing_is_judged_as_ever(tmp_path: Path) -> None:
    class Idle:
        async def run(self, launch: Launch) -> AgentExit:
            return ended()

    record = run(tmp_path, *flows(tmp_path, "ab"), driver=Idle(), jobs=2)
    assert verdicts(record) == ["fail", "fail"]
