"""What is left of a flow that the end of its run cut off, with agents that are real processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import psutil
import pytest

from flowproof.errors import ExitCode
from flowproof.model.run_record import FlowRecord, RunRecord
from flowproof.report.console import flow_detail
from flowproof.report.github import workflow_commands
from flowproof.report.junit import render
from flowproof.suite.plan import PlanOptions
from flowproof.suite.run import Interrupt
from tests.suite.engine_tools import Flows

KEY = "sk-the-real-key-123456"


@pytest.fixture
def flows(tmp_path: Path) -> Flows:
    return Flows(tmp_path, {"OPENAI_API_KEY": KEY})


def telling(flows: Flows, name: str, then: str, *, more: str = "") -> Path:
    """A flow whose agent prints something to both streams before it goes on."""
    spec = flows.add(name, "fine")
    (flows.folder / f"{name}.py").write_text(
        "import os, pathlib, sys, time\n"
        f"print('hello from {name}', flush=True)\n"
        f"print('it sent {KEY}', file=sys.stderr, flush=True)\n"
        f"pathlib.Path('{name}.ready').touch()\n{then}\n",
        "utf-8",
    )
    text = spec.read_text("utf-8").replace("agent.py fine", f"{name}.py")
    # Two lines before the flow, so that its own is not the first.
    spec.write_text(f"# one\n# two\n{text}{more}", "utf-8")
    return spec


def stop_when(ready: Path) -> Callable[[Interrupt], object]:
    """Interrupts the run as soon as there is this file."""

    async def meanwhile(interrupt: Interrupt) -> None:
        while not ready.exists():  # noqa: ASYNC110, ASYNC240 (an agent makes it)
            await anyio.sleep(0.02)
        interrupt.request()

    return meanwhile


def check_cut(flow: FlowRecord) -> None:
    """It has all that is to be known of a flow whose agent was cut off."""
    assert flow.started.endswith("Z") and 0.005 < flow.duration < 30
    assert flow.slot == 1
    assert flow.agent is not None
    assert flow.agent.stdout.text == "hello from b\n"
    assert flow.agent.stderr.text == "it sent flowproof-placeholder-key\n"
    states = {task.id: task.state.value for task in flow.tasks}
    assert states["read_trace"] == states["start_model_proxy"] == "done"
    assert states["launch_agent"] == "cancelled"
    assert states["collect_lanes"] == states["check"] == "not-run"
    launched = next(task for task in flow.tasks if task.id == "launch_agent")
    assert launched.duration is not None and launched.duration > 0.005
    assert psutil.Process().children(recursive=True) == []


def check_told(record: RunRecord, flow: FlowRecord) -> None:
    """Console, annotations and JUnit say it too."""
    assert "hello from b" in flow_detail(flow)
    [(_, pieces)] = render(record)
    xml = "".join(pieces)
    assert "<system-out>hello from b" in xml
    assert f'time="{flow.duration:.3f}"' in xml and KEY not in xml
    [told] = [line for line in workflow_commands(record) if "b.flow.yaml" in line]
    assert "file=b.flow.yaml,line=3," in told and "hello from b" in told


def test_the_time_limit_of_the_run(flows: Flows) -> None:
    specs = [flows.add("a", "fine"), telling(flows, "b", "time.sleep(60)")]
    record = flows.run(*specs, jobs=1, global_timeout=3)
    done, cut = record.flows
    assert (done.verdict, cut.verdict, cut.exit_code) == ("pass", "error", ExitCode.WORLD_ERROR)
    assert cut.reason == "cut off by the time limit of the whole run while it ran"
    assert record.exit_code is ExitCode.WORLD_ERROR
    check_cut(cut)
    check_told(record, cut)


@pytest.mark.parametrize(
    ("asked", "turns", "diverged"),
    [
        pytest.param("Say hello", 1, False, id="as recorded"),
        pytest.param("Say goodbye", 0, True, id="otherwise"),
    ],
)
def test_what_it_said_to_the_model_by_then(
    flows: Flows, asked: str, turns: int, diverged: bool
) -> None:
    then = (
        "import json, urllib.error, urllib.request\n"
        "said = {'role': 'user', 'content': '" + asked + "'}\n"
        "body = json.dumps({'model': 'gpt-4o', 'messages': [said]}).encode()\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "headers = {'content-type': 'application/json'}\n"
        "try:\n    urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()\n"
        "except urllib.error.HTTPError:\n    pass\n"
        "pathlib.Path('asked').touch()\ntime.sleep(60)"
    )
    spec = telling(flows, "b", then)
    [flow] = flows.run(spec, meanwhile=stop_when(flows.folder / "asked")).flows
    assert flow.reason == "interrupted while it ran"
    assert (flow.traffic.requests, flow.traffic.served) == (1, turns)
    assert len(flow.trajectory.turns) == turns
    assert (flow.divergence is not None) is diverged
    check_cut(flow)


def test_an_interrupt(flows: Flows) -> None:
    spec = telling(flows, "b", "time.sleep(60)")
    record = flows.run(spec, meanwhile=stop_when(flows.folder / "b.ready"))
    [cut] = record.flows
    assert (cut.verdict, cut.exit_code) == ("error", ExitCode.INTERRUPTED)
    assert cut.reason == "interrupted while it ran"
    check_cut(cut)
    check_told(record, cut)


def test_a_flow_that_waits_has_nothing_of_it(flows: Flows) -> None:
    specs = telling(flows, "b", "time.sleep(60)"), flows.add("c", "fine")
    record = flows.run(*specs, jobs=1, meanwhile=stop_when(flows.folder / "b.ready"))
    waiting = record.flows[1]
    assert (waiting.verdict, waiting.agent, waiting.duration) == ("skipped", None, 0.0)
    assert (waiting.started, waiting.tasks, waiting.slot) == ("", (), 0)


def test_its_own_time_limit(flows: Flows) -> None:
    spec = telling(flows, "b", "time.sleep(60)")
    text = spec.read_text("utf-8").replace("agent:\n", "agent:\n  timeout: 0.7\n")
    spec.write_text(text, "utf-8")
    [flow] = flows.run(spec).flows
    assert (flow.verdict, flow.exit_code) == ("fail", ExitCode.FLOW_FAILED)
    assert flow.agent is not None and flow.agent.timed_out
    assert flow.agent.stdout.text == "hello from b\n"
    assert flow.agent.stderr.text == "it sent flowproof-placeholder-key\n"
    assert flow.duration > 0.7 and flow.started
    assert {task.state.value for task in flow.tasks} == {"done", "failed"}


def test_output_stays_bounded(flows: Flows) -> None:
    spec = telling(flows, "b", "print('x' * 3_000_000, flush=True)\ntime.sleep(60)")
    [flow] = flows.run(spec, global_timeout=2.5).flows
    assert flow.agent is not None and flow.agent.stdout.total > 3_000_000
    assert len(flow.agent.stdout.text) < 1_100_000
    assert "bytes left out" in flow.agent.stdout.text


def test_tries_before_the_one_that_was_cut_off(flows: Flows) -> None:
    # The first try fails, the second hangs.
    then = (
        "if not os.path.exists('tried'):\n"
        "    pathlib.Path('tried').touch()\n    sys.exit(4)\ntime.sleep(60)"
    )
    spec = telling(flows, "b", then)
    record = flows.run(spec, planned=PlanOptions(retries=2), global_timeout=2.5)
    [flow] = record.flows
    assert (flow.verdict, len(flow.attempts)) == ("error", 1)
    [first] = flow.attempts
    assert first.verdict == "fail" and "exited with status 4" in first.reason
    assert first.agent is not None and first.agent.status == 4
    assert first.agent.stdout.text == "hello from b\n"
    check_cut(flow)


def hooked(flows: Flows, suite: str) -> None:
    (flows.folder / "suite.yaml").write_text(f"name: s\n{suite}", "utf-8")


def test_a_flow_whose_preparation_was_cut_off(flows: Flows) -> None:
    spec = telling(flows, "b", "pass")
    hooked(flows, "before_each: touch hooked; sleep 60\n")
    record = flows.run(spec, meanwhile=stop_when(flows.folder / "hooked"))
    [flow] = record.flows
    assert (flow.verdict, flow.reason) == ("error", "interrupted while it ran")
    assert flow.started and flow.duration > 0
    assert (flow.agent, flow.tasks, flow.slot) == (None, (), 1)
    assert psutil.Process().children(recursive=True) == []


@pytest.mark.parametrize(
    ("words", "verdict", "reason"),
    [
        pytest.param("fine", "error", "interrupted while it ran", id="it had passed"),
        pytest.param("crash", "fail", "exited with status 3 before it sent", id="it had failed"),
    ],
)
def test_a_flow_whose_tidying_up_was_cut_off(
    flows: Flows, words: str, verdict: str, reason: str
) -> None:
    spec = flows.add("b", words)
    hooked(flows, "after_each: touch hooked; sleep 60\n")
    record = flows.run(spec, meanwhile=stop_when(flows.folder / "hooked"))
    [flow] = record.flows
    assert flow.verdict == verdict and reason in flow.reason
    assert flow.reason.endswith("interrupted while it ran")
    assert flow.agent is not None and flow.agent.status == (0 if words == "fine" else 3)
    assert record.exit_code is ExitCode.INTERRUPTED


def test_commands_after_a_cut_share_a_limit(flows: Flows) -> None:
    spec = telling(flows, "b", "time.sleep(60)")
    hooked(flows, "after_all: touch begun; sleep 60; touch ended\n")
    record = flows.run(spec, global_timeout=2, cleanup=1.5)
    assert (flows.folder / "begun").exists() and not (flows.folder / "ended").exists()
    assert record.errors[0] == (
        "suite s: after_all did not end: did not end within the 1.5 s left for cleanup"
    )
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert 2 < record.duration < 12
    assert psutil.Process().children(recursive=True) == []


def test_commands_after_a_cut_that_end_in_time(flows: Flows) -> None:
    spec = telling(flows, "b", "time.sleep(60)")
    hooked(flows, "after_all: touch ended\n")
    record = flows.run(spec, global_timeout=2, cleanup=10)
    assert (flows.folder / "ended").exists()
    assert record.errors == ("the time limit of the whole run passed (2 s)",)


def test_a_flow_that_ended_is_as_ever(flows: Flows) -> None:
    spec = flows.add("b", "fine")
    [free] = flows.run(spec).flows
    [bound] = flows.run(spec, global_timeout=60).flows

    def timeless(flow: FlowRecord) -> FlowRecord:
        return replace(flow, started="", duration=0.0, tasks=(), agent=None, offset=None)

    assert timeless(free) == timeless(bound)
    assert free.agent is not None and free.verdict == "pass"
