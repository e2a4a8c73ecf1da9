"""Flows one after another: what one of them meets stops no other, and all are in the record."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from flowproof.drivers.interface import Driver, Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.suite.plan import PlanOptions, plan
from flowproof.suite.project import JobOptions, Project
from flowproof.suite.run import Interrupt, RunOptions, run_flows
from flowproof.suite.run_store import new_run_id
from flowproof.trace.file import write_trace
from tests.flow.support import asking, asks, ended, saying, trace, turn, world

HELLO = asking("Say hello")


@dataclass(slots=True)
class Heard:
    """What a listener was told; `on_start` happens as a flow begins."""

    lines: list[str] = field(default_factory=list)
    on_start: Callable[[str], None] = lambda name: None
    slots: list[int] = field(default_factory=list)

    def engine_opened(self, slots: int) -> None:
        self.slots.append(slots)

    def flow_started(self, name: str, path: str) -> None:
        self.lines.append(f"+ {name}")
        self.on_start(name)

    def flow_ended(self, record: FlowRecord) -> None:
        self.lines.append(f"- {record.name} {record.verdict}")


def add(
    folder: Path, name: str, *, recorded: bool = True, reply: str = "Hello", more: str = ""
) -> Path:
    path = folder / f"{name}.flow.yaml"
    path.write_text(
        f"name: flow {name}\n{more}agent: {{command: greet}}\nsteps:\n  - prompt: Say hello\n"
        f"  - assert: reply contains {reply}\n",
        "utf-8",
    )
    if recorded:
        write_trace(folder / f"{name}.trace.json", trace(turn(HELLO, saying("Hello"))))
    return path


def run(
    folder: Path,
    *specs: Path,
    driver: Driver | None = None,
    heard: Heard | None = None,
    interrupt: Interrupt | None = None,
    phase: Phase = "replay",
    strict: bool = False,
    skip_untraced: bool = False,
    allow_empty: bool = False,
    planned: PlanOptions | None = None,
    **more: Any,
) -> RunRecord:
    options = RunOptions(
        "suite run",
        "s",
        b"\x01\x02\x03",
        skip_untraced=skip_untraced,
        allow_empty=allow_empty,
        **more,
    )
    project = Project(folder, JobOptions(phase, strict=strict))
    call = functools.partial(
        run_flows,
        plan(specs, project, planned or PlanOptions()),
        project,
        world(driver or asks(HELLO)),
        options,
        heard or Heard(),
        interrupt or Interrupt(),
    )
    return anyio.run(call)


def verdicts(record: RunRecord) -> list[str]:
    return [str(flow.verdict) for flow in record.flows]


def test_all_flows_of_a_run(tmp_path: Path) -> None:
    heard = Heard()
    record = run(tmp_path, add(tmp_path, "b"), add(tmp_path, "a"), heard=heard)
    assert verdicts(record) == ["pass", "pass"]
    assert [flow.path for flow in record.flows] == ["b.flow.yaml", "a.flow.yaml"]
    assert heard.lines == ["+ flow b", "- flow b pass", "+ flow a", "- flow a pass"]
    assert (record.exit_code, record.id) == (ExitCode.PASSED, "20261130T090000Z-010203")
    assert (record.started, record.suite, record.command) == (
        "2026-11-30T09:00:00Z",
        "s",
        "suite run",
    )
    assert not record.partial


def test_a_spec_that_does_not_parse_stops_no_other(tmp_path: Path) -> None:
    broken = add(tmp_path, "a")
    broken.write_text("nmae: x\n", "utf-8")
    heard = Heard()
    record = run(tmp_path, broken, add(tmp_path, "b"), heard=heard)
    assert verdicts(record) == ["error", "pass"]
    assert (record.flows[0].name, record.flows[0].path) == ("a", "a.flow.yaml")
    assert record.flows[0].reason.startswith("a.flow.yaml:1:")
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    assert heard.lines[0] == "- a error"


def test_a_suite_that_cannot_be_used_is_an_error_of_its_flows_only(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/suite.yaml").write_text("secrets: [A]\n")
    record = run(tmp_path, add(tmp_path / "in", "a"), add(tmp_path, "b"))
    assert verdicts(record) == ["capability-error", "pass"]
    assert record.exit_code is ExitCode.WORLD_ERROR


def test_a_broken_suite_is_told_in_full_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/suite.yaml").write_text("nmae: x\njobs: many\n")
    record = run(tmp_path, *(add(tmp_path / "in", name) for name in "abc"), add(tmp_path, "d"))
    assert verdicts(record) == ["error", "error", "error", "pass"]
    # The author is to blame, and not the world.
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    [whole] = record.errors
    first, *rest = whole.splitlines()
    assert first.startswith("in/suite.yaml:1:1: ") and "in/suite.yaml:2:" in "\n".join(rest)
    for flow in record.flows[:3]:
        assert flow.exit_code is ExitCode.AUTHOR_ERROR
        assert flow.reason == f"{first}\nall of it is told once, beside the flows"


def test_a_broken_spec_is_told_at_its_flow(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("name: s\n")
    broken = add(tmp_path, "a")
    broken.write_text("nmae: x\n", "utf-8")
    record = run(tmp_path, broken, add(tmp_path, "b"))
    assert record.errors == ()
    assert "\n" in record.flows[0].reason and "beside" not in record.flows[0].reason


def test_the_worst_flow_decides(tmp_path: Path) -> None:
    record = run(tmp_path, add(tmp_path, "a"), add(tmp_path, "b", reply="Bye"))
    assert (verdicts(record), record.exit_code) == (["pass", "fail"], ExitCode.FLOW_FAILED)


@pytest.mark.parametrize(
    ("skip", "strict", "allow", "verdict", "code"),
    [
        pytest.param(True, False, False, "skipped", ExitCode.NOTHING_RAN, id="suite"),
        pytest.param(True, False, True, "skipped", ExitCode.PASSED, id="suite, empty allowed"),
        pytest.param(True, True, False, "error", ExitCode.AUTHOR_ERROR, id="suite, strict"),
        pytest.param(True, True, True, "error", ExitCode.AUTHOR_ERROR, id="allowed hides no error"),
        pytest.param(False, False, False, "error", ExitCode.AUTHOR_ERROR, id="named one by one"),
    ],
)
def test_a_flow_without_a_trace(
    tmp_path: Path, skip: bool, strict: bool, allow: bool, verdict: str, code: ExitCode
) -> None:
    spec = add(tmp_path, "a", recorded=False, more="tags: [x]\n")
    record = run(tmp_path, spec, skip_untraced=skip, strict=strict, allow_empty=allow)
    assert (verdicts(record), record.exit_code) == ([verdict], code)
    [flow] = record.flows
    assert (flow.name, flow.tags) == ("flow a", ("x",))
    assert "no trace at a.trace.json" in flow.reason


def test_a_skipped_flow_beside_one_that_ran_changes_nothing(tmp_path: Path) -> None:
    specs = add(tmp_path, "a"), add(tmp_path, "b", recorded=False)
    record = run(tmp_path, *specs, skip_untraced=True)
    assert (verdicts(record), record.exit_code) == (["pass", "skipped"], ExitCode.PASSED)


def test_a_flow_that_asks_to_be_skipped_stays_so_when_strict(tmp_path: Path) -> None:
    spec = add(tmp_path, "a", recorded=False, more="skip_unless_env: [NIGHTLY]\n")
    [flow] = run(tmp_path, spec, skip_untraced=True, strict=True).flows
    assert (flow.verdict, flow.reason) == ("skipped", "skip_unless_env: NIGHTLY is not set")


@pytest.mark.parametrize("allow", [False, True])
def test_no_flows(tmp_path: Path, allow: bool) -> None:
    record = run(tmp_path, allow_empty=allow)
    assert record.exit_code is (ExitCode.PASSED if allow else ExitCode.NOTHING_RAN)


class Endless:
    """An agent that asks for something as it starts, and ends only if it is cancelled."""

    def __init__(self, ask: Callable[[], None]) -> None:
        self._ask = ask
        self.ended = 0

    async def run(self, launch: Launch) -> AgentExit:
        self._ask()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended += 1
        return ended()


def test_an_interrupt_ends_what_runs_and_skips_the_rest(tmp_path: Path) -> None:
    interrupt, heard = Interrupt(), Heard()
    driver = Endless(interrupt.request)
    specs = [add(tmp_path, name) for name in "abc"]
    record = run(tmp_path, *specs, driver=driver, heard=heard, interrupt=interrupt)
    assert record.exit_code is ExitCode.INTERRUPTED
    assert verdicts(record) == ["error", "skipped", "skipped"]
    assert record.flows[0].exit_code is ExitCode.INTERRUPTED
    assert [flow.name for flow in record.flows] == ["flow a", "flow b", "flow c"]
    assert [flow.reason for flow in record.flows] == [
        "interrupted while it ran",
        "the run was interrupted before it began",
        "the run was interrupted before it began",
    ]
    assert heard.lines == ["+ flow a", "- flow a error", "- flow b skipped", "- flow c skipped"]
    assert driver.ended == 1


def test_an_interrupt_keeps_what_had_ended(tmp_path: Path) -> None:
    interrupt = Interrupt()

    def stop(name: str) -> None:
        if name == "flow b":
            interrupt.request()

    specs = [add(tmp_path, name) for name in "abc"]
    record = run(tmp_path, *specs, heard=Heard(on_start=stop), interrupt=interrupt)
    assert verdicts(record) == ["pass", "error", "skipped"]
    assert record.exit_code is ExitCode.INTERRUPTED


def test_an_interrupt_before_the_run_begins(tmp_path: Path) -> None:
    interrupt = Interrupt()
    interrupt.request()
    broken = add(tmp_path, "b")
    broken.write_text("name: [")
    record = run(tmp_path, add(tmp_path, "a"), broken, interrupt=interrupt)
    assert record.exit_code is ExitCode.INTERRUPTED
    assert [flow.name for flow in record.flows] == ["flow a", "b"]
    assert not [flow for flow in record.flows if flow.verdict == "pass"]


def test_ids_sort_by_time() -> None:
    first = new_run_id(datetime(2026, 11, 30, 9, 0, 0, tzinfo=UTC), b"\xff\xff\xff")
    second = new_run_id(datetime(2026, 11, 30, 9, 0, 1, tzinfo=UTC), b"\x00\x00\x00")
    assert (first, second) == ("20261130T090000Z-ffffff", "20261130T090001Z-000000")
    assert first < second
