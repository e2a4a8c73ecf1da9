"""One flow through its whole graph, over real loopback HTTP, with an agent that is a thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.flow.job import FlowJob
from flowproof.flow.run import run_flow
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Verdict
from flowproof.trace.file import read_trace
from tests.flow.support import (
    SPEC,
    Agent,
    asking,
    asks,
    ended,
    job,
    run,
    saying,
    send,
    states,
    turn,
    world,
)
from tests.support.upstream import FakeUpstream, answer, chat, completion, refusing_url, scripted

HELLO = asking("Say hello")
TURN = turn(HELLO, saying("Hello"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_replay_that_passes(tmp_path: Path) -> None:
    agent = asks(HELLO)
    record = run(job(tmp_path, SPEC, TURN), agent)
    assert (record.verdict, record.exit_code, record.reason) == (Verdict.PASS, ExitCode.PASSED, "")
    assert states(record) == [
        ("resolve_env", "done"),
        ("read_trace", "done"),
        ("start_model_proxy", "done"),
        ("launch_agent", "done"),
        ("collect_lanes", "done"),
        ("check", "done"),
        ("report", "done"),
    ]
    assert record.started == "2026-11-30T09:00:00Z"
    assert record.trajectory.reply() == "Hello"
    assert (record.traffic.requests, record.traffic.served) == (1, 1)


def test_a_replay_serves_what_was_recorded(tmp_path: Path) -> None:
    heard: list[Any] = []

    def act(launch: Launch) -> AgentExit:
        heard.append(send(launch.env["OPENAI_BASE_URL"] + "/chat/completions", HELLO))
        return ended()

    run(job(tmp_path, SPEC, TURN), Agent(act))
    assert heard == [(200, saying("Hello"))]


def test_a_divergence_fails_and_is_explained(tmp_path: Path) -> None:
    record = run(job(tmp_path, SPEC, TURN), asks(asking("Say Hello"), HELLO, status=1))
    assert (record.verdict, record.exit_code) == (Verdict.FAIL, ExitCode.FLOW_FAILED)
    assert record.divergence is not None
    assert record.divergence.path == "$.messages[0].content"
    assert record.reason == record.divergence.message
    assert states(record)[-2:] == [("check", "failed"), ("report", "done")]


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        pytest.param(asks(), "the agent made no model call", id="no calls"),
        pytest.param(asks(status=3), "exited with status 3 before", id="a crash before any"),
        pytest.param(asks(HELLO, path="/nope"), "POST /v1/nope (1×)", id="only unserved ones"),
        pytest.param(asks(HELLO, status=2), "exited with status 2", id="a crash after all"),
    ],
)
def test_an_agent_that_goes_wrong(tmp_path: Path, agent: Agent, reason: str) -> None:
    record = run(job(tmp_path, SPEC, TURN), agent)
    assert (record.verdict, record.exit_code) == (Verdict.FAIL, ExitCode.FLOW_FAILED)
    assert reason in record.reason


def test_fewer_calls_than_recorded(tmp_path: Path) -> None:
    second = turn(asking("Say hello", "Hello", "again"), saying("Hello again"))
    record = run(job(tmp_path, SPEC, TURN, second), asks(HELLO))
    assert record.verdict is Verdict.FAIL
    assert "1 of 2 turns were used; never requested: turn 2" in record.reason


def broken(launch: Launch) -> AgentExit:
    raise ZeroDivisionError("the driver is broken")


def test_an_internal_error_is_told_without_a_traceback(tmp_path: Path) -> None:
    record = run(job(tmp_path, SPEC, TURN), Agent(broken))
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.INTERNAL)
    assert record.reason == (
        "internal error: ZeroDivisionError: the driver is broken (run again with --debug)"
    )
    assert ("collect_lanes", "cancelled") in states(record)


def test_an_internal_error_with_debug(tmp_path: Path) -> None:
    record = run(job(tmp_path, SPEC, TURN), Agent(broken), debug=True)
    assert record.exit_code is ExitCode.INTERNAL
    assert "Traceback" in record.reason


@pytest.mark.parametrize(
    ("spec", "environ", "code"),
    [
        pytest.param(SPEC.replace("Say hello", "${NOPE}"), {}, 2, id="an unset variable"),
        pytest.param(SPEC.replace("steps:", "redact: ['[0-9]']\nsteps:"), {}, 4, id="capability"),
        pytest.param(SPEC, {"FLOWPROOF_MAX_BODY": "much"}, 2, id="a setting"),
    ],
)
def test_what_is_wrong_beforehand_launches_nothing(
    tmp_path: Path, spec: str, environ: dict[str, str], code: int
) -> None:
    agent = asks(HELLO)
    record = run(job(tmp_path, spec, TURN), agent, environ)
    assert record.exit_code == code
    assert agent.launches == []


def test_the_names_of_all_variables_of_the_agent_are_told(tmp_path: Path) -> None:
    spec = SPEC.replace("{command: greet}", "{command: greet, env: {OWN: x, PATH: /bin}}")
    made = job(tmp_path, spec, TURN, suite_env={"TENANT": "acme-secret"})
    agent = asks(HELLO)
    record = run(made, agent, {"SHELL_ONE": "value-secret", "FLOWPROOF_UPSTREAM_OPENAI": "x"})
    assert record.environment == tuple(sorted(agent.launches[0].env))
    told = {"OWN", "PATH", "TENANT", "SHELL_ONE", "OPENAI_BASE_URL", "FLOWPROOF_PROMPT"}
    assert told < {*record.environment}
    assert "FLOWPROOF_UPSTREAM_OPENAI" not in record.environment
    assert "secret" not in str(record.environment)


def test_an_agent_that_was_not_started_had_no_variables(tmp_path: Path) -> None:
    spec = SPEC.replace("{command: greet}", "{command: greet, env: {OWN: x}}")
    assert run(job(tmp_path, spec), asks(HELLO)).environment == ()


def test_a_missing_trace_launches_nothing(tmp_path: Path) -> None:
    agent = asks(HELLO)
    record = run(job(tmp_path), agent)
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
    assert agent.launches == []


def test_a_flow_that_asks_to_be_skipped(tmp_path: Path) -> None:
    made = job(tmp_path, SPEC.replace("app: agent", "skip_unless_env: [A, B]"), TURN)
    agent = asks(HELLO)
    record = run(made, agent, {"A": "1", "B": ""})
    assert (record.verdict, record.reason) == (Verdict.SKIPPED, "skip_unless_env: B is not set")
    assert agent.launches == []
    assert run(made, agent, {"A": "1", "B": "1"}).verdict is Verdict.PASS


def test_strict_without_assertions(tmp_path: Path) -> None:
    spec = SPEC.replace("  - assert: reply contains Hello\n", "")
    lenient, strict = job(tmp_path, spec, TURN), job(tmp_path, spec, TURN, strict=True)
    assert run(lenient, asks(HELLO)).verdict is Verdict.PASS_NOTHING_ASSERTED
    assert run(strict, asks(HELLO)).verdict is Verdict.ERROR


def recording(made: FlowJob, agent: Agent, url: str) -> Any:
    return run(made, agent, {"FLOWPROOF_AGENT_UPSTREAM": url, "FLOWPROOF_AGENT_KEY": "sk-key-0001"})


def test_a_recording_is_written_and_can_be_replayed(tmp_path: Path) -> None:
    made = job(tmp_path, phase="record")
    with FakeUpstream(chat(completion("Hello"))) as upstream:
        record = recording(made, asks(HELLO), upstream.url)
    assert (record.verdict, record.exit_code) == (Verdict.PASS, ExitCode.PASSED)
    assert upstream.received[0].header("authorization") == "Bearer sk-key-0001"
    assert names(tmp_path) == ["a.flow.yaml", "a.trace.json"]
    assert "sk-key-0001" not in made.trace_path.read_text("utf-8")
    written = read_trace(made.trace_path, "", "")
    assert (written.spec_name, written.recorded) == ("Greeter", "2026-11-30T09:00:00Z")
    assert record.trace is not None
    assert run(job(tmp_path), asks(HELLO)).verdict is Verdict.PASS


def test_a_recording_with_a_mock_replays_under_it(tmp_path: Path) -> None:
    spec = SPEC.replace("steps:", "tools: [{name: look, result: {seen: '${WHAT}'}}]\nsteps:")
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    told = asking("Say hello")
    told["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "the real result"},
    ]
    with FakeUpstream(chat(completion("Hello"))) as upstream:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url, "WHAT": "a tree"}
        assert run(job(tmp_path, spec, phase="record"), asks(told), environ).verdict is Verdict.PASS
    assert upstream.received[0].json()["messages"][-1]["content"] == '{"seen":"a tree"}'
    told["messages"][-1]["content"] = "another real result"
    assert run(job(tmp_path, spec), asks(told), {"WHAT": "a tree"}).verdict is Verdict.PASS


FAILURES: list[Any] = [
    pytest.param(lambda: chat(completion("Bye")), asks(HELLO), 1, id="an assertion"),
    pytest.param(lambda: chat(completion("Hello")), asks(HELLO, status=1), 1, id="a crash"),
    pytest.param(lambda: chat(completion("Hello")), asks(), 1, id="no calls"),
    pytest.param(lambda: chat(completion("Hello")), Agent(broken), 3, id="ourselves"),
    pytest.param(lambda: scripted(answer({}, 401)), asks(HELLO), 2, id="a refused key"),
    pytest.param(lambda: chat(), asks(HELLO), 4, id="an error that nobody retried"),
]


@pytest.mark.parametrize(("respond", "agent", "code"), FAILURES)
def test_a_recording_that_fails_leaves_the_old_trace(
    tmp_path: Path, respond: Callable[[], Any], agent: Agent, code: int
) -> None:
    made = job(tmp_path, SPEC, TURN, phase="record")
    before = made.trace_path.read_bytes()
    with FakeUpstream(respond()) as upstream:
        record = recording(made, agent, upstream.url)
    assert record.exit_code == code
    assert record.trace is None
    assert made.trace_path.read_bytes() == before
    assert names(tmp_path) == ["a.flow.yaml", "a.trace.json"]


def test_an_upstream_that_is_not_there(tmp_path: Path) -> None:
    url = refusing_url()
    record = recording(job(tmp_path, phase="record"), asks(HELLO), url)
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.WORLD_ERROR)
    assert url in record.reason


def test_a_recording_without_an_upstream_launches_nothing(tmp_path: Path) -> None:
    agent = asks(HELLO)
    record = run(job(tmp_path, phase="record"), agent, {})
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    assert "FLOWPROOF_AGENT_UPSTREAM" in record.reason
    assert agent.launches == []


def test_a_trace_that_cannot_be_written_is_no_internal_error(tmp_path: Path) -> None:
    made = job(tmp_path, phase="record")
    asking_agent = asks(HELLO)

    def act(launch: Launch) -> AgentExit:
        made.trace_path.mkdir()
        return asking_agent.act(launch)

    with FakeUpstream(chat(completion("Hello"))) as upstream:
        record = recording(made, Agent(act), upstream.url)
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert "a.trace.json" in record.reason
    assert names(tmp_path) == ["a.flow.yaml", "a.trace.json"]
    assert list(made.trace_path.iterdir()) == []


class Endless:
    """An agent that never ends; it says whether it was cancelled."""

    cancelled = False

    async def run(self, launch: Launch) -> AgentExit:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        return ended()


def test_cancelling_a_flow_ends_its_agent(tmp_path: Path) -> None:
    driver = Endless()
    made = job(tmp_path, SPEC, TURN)

    async def main() -> bool:
        with anyio.move_on_after(0.3) as scope:
            await run_flow(made, world(driver))
        return scope.cancelled_caught

    assert anyio.run(main)
    assert driver.cancelled
