"""Run records as the tests of reports need them: one of every verdict, and small ones."""

from __future__ import annotations

from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit, Captured
from flowproof.model.flow_spec import Control
from flowproof.model.jsonvalue import JsonValue, NumberText, write
from flowproof.model.origin import Recording
from flowproof.model.outcome import (
    AssertionResult,
    Divergence,
    Excerpt,
    Failed,
    Passed,
    Uncertifiable,
    Unjudged,
    Verdict,
)
from flowproof.model.run_record import (
    FileDigest,
    FlowRecord,
    RunRecord,
    TaskRecord,
    combined_exit_code,
)
from flowproof.model.task_state import TaskState
from flowproof.model.traffic import ModelTraffic, Unserved
from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView


def captured(text: str = "") -> Captured:
    """A stream that was kept whole."""
    return Captured(text, len(text.encode(errors="replace")))


def agent_exit(status: int | None = 0, stdout: str = "", stderr: str = "") -> AgentExit:
    """An agent that ran for 0.31 s."""
    return AgentExit(status, False, 0.31, captured(stdout), captured(stderr))


def tool_call(name: str, arguments: JsonValue, call_id: str = "call_1") -> ToolCall:
    """A well-formed call as a model makes it."""
    return ToolCall(call_id, name, write(arguments), arguments)


def booking_trajectory() -> Trajectory:
    """Two turns: the model searches for flights, then answers."""
    search = tool_call("search_flights", {"from": "NBO", "to": "LHR", "max": NumberText("1.10")})
    asked = Message("assistant", None, (search,))
    task = Message("user", "Book Casey on the morning flight from Nairobi to London.")
    system = "You book flights. Ask before you pay."
    result = '{"flights":[{"id":"KQ311","price":412.50}]}'
    first = TurnView(
        1,
        "openai.chat",
        "gpt-5.4-mini",
        system,
        None,
        0,
        (Message("system", system), task),
        96,
        ("search_flights", "create_booking"),
        200,
        (asked,),
        tokens=(211, 24),
    )
    second = TurnView(
        2,
        "openai.chat",
        "gpt-5.4-mini",
        system,
        1,
        2,
        (asked, Message("tool", result, call_id="call_1", tool="search_flights")),
        190,
        ("search_flights", "create_booking"),
        200,
        (Message("assistant", "Casey is booked on **KQ311**, departing 08:45."),),
        continues=True,
        mocked=("search_flights",),
        tokens=(268, 31),
    )
    return Trajectory((first, second))


def flow_record(name: str = "Booking assistant books a flight") -> FlowRecord:
    """A flow that was replayed and passed."""
    return FlowRecord(
        name=name,
        path="smoke/booking.flow.yaml",
        line=1,
        phase="replay",
        verdict=Verdict.PASS,
        exit_code=ExitCode.PASSED,
        duration=0.4213,
        started="2026-11-30T09:00:00Z",
        driver="command",
        command="python assistant.py",
        tags=("booking", "smoke"),
        control=Control("ac.bookings.create", "Bookings name their flight", None, ("SOC2:CC7.1",)),
        spec=FileDigest("smoke/booking.flow.yaml", "5f" * 32),
        trace=FileDigest("smoke/booking.trace.json", "a1" * 32),
        assertions=(
            AssertionResult("assert_tool_call: search_flights where to equals LHR", 14, Passed()),
            AssertionResult("assert: reply contains booked", 15, Passed()),
        ),
        traffic=ModelTraffic(requests=2, served=2, recorded=2),
        agent=agent_exit(stdout="Casey is booked on KQ311.\n"),
        trajectory=booking_trajectory(),
        tasks=(
            TaskRecord("resolve_env", TaskState.DONE, 0.0, 0.0004),
            TaskRecord("start_model_proxy", TaskState.DONE, 0.0006, 0.0121),
            TaskRecord("launch_agent", TaskState.DONE, 0.0131, 0.31),
            TaskRecord("check", TaskState.DONE, 0.3301, 0.0032),
        ),
        environment=("FLOWPROOF_LLM_PROXY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PATH"),
        recording=Recording("2026-11-02T10:15:00Z", "0.1.0", ("gpt-5.4-mini-2026-03-17",)),
    )


def diverged() -> FlowRecord:
    """A flow whose agent says something else to the model than it did when recorded."""
    return replace(
        flow_record("Refund asks for approval"),
        path="refunds/approval.flow.yaml",
        verdict=Verdict.FAIL,
        exit_code=ExitCode.FLOW_FAILED,
        reason="the text of message 2 (user) changed",
        control=None,
        spec=FileDigest("refunds/approval.flow.yaml", "0c" * 32),
        trace=FileDigest("refunds/approval.trace.json", "77" * 32),
        assertions=(
            AssertionResult(
                "assert_tool_call: issue_refund where amount equals 40",
                12,
                Failed(
                    "no call of issue_refund matches",
                    "amount equals 40",
                    'issue_refund {"amount": 400}, turn 1: amount is 400',
                ),
            ),
            AssertionResult("assert_no_tool_call: delete_account", 13, Passed()),
        ),
        divergence=Divergence(
            "message text",
            "the text of message 2 (user) changed",
            request=2,
            turn=2,
            path="$.messages[1].content",
            excerpt=(
                Excerpt(" ", "Refund order 1182,"),
                Excerpt("-", "the customer asked politely."),
                Excerpt("+", "the customer asked politely.·"),
            ),
        ),
        warnings=("`issue_refund` is forbidden here, and nothing intercepts it",),
        traffic=ModelTraffic(requests=2, served=1, recorded=2),
        agent=agent_exit(1, stderr="Traceback (most recent call last):\nopenai.BadRequestError\n"),
    )


def sample_run() -> RunRecord:
    """A run with one flow of each verdict but `flaky`, and two flows of one name."""
    passed = flow_record()
    bare = replace(
        passed, agent=None, trajectory=Trajectory(()), tasks=(), assertions=(), control=None
    )
    flows = (
        passed,
        replace(passed, path="smoke/booking_again.flow.yaml", duration=61.2),
        diverged(),
        replace(
            passed,
            name="Lookup without a key",
            path="lookup.flow.yaml",
            verdict=Verdict.ERROR,
            exit_code=ExitCode.WORLD_ERROR,
            reason="the agent sent no request to the model",
            assertions=(
                AssertionResult("assert: reply contains found", 9, Unjudged("there was no reply")),
            ),
            traffic=ModelTraffic(unserved=(Unserved("POST", "/v2/rerank", 3),)),
            agent=agent_exit(2, stderr="no key\n"),
            trajectory=Trajectory(()),
            tasks=(
                TaskRecord("launch_agent", TaskState.FAILED, 0.01, 0.2, "the agent exited with 2"),
                TaskRecord("check", TaskState.NOT_RUN, cause="launch_agent failed"),
            ),
        ),
        replace(
            bare,
            name="No egress but the calendar",
            path="calendar.flow.yaml",
            verdict=Verdict.CAPABILITY_ERROR,
            exit_code=ExitCode.WORLD_ERROR,
            duration=0.002,
            reason="this version cannot enforce egress",
            assertions=(
                AssertionResult("assert_no_egress", 7, Uncertifiable("egress is not watched")),
            ),
        ),
        replace(
            bare,
            name="Greets",
            path="greet.flow.yaml",
            verdict=Verdict.PASS_NOTHING_ASSERTED,
            duration=0.2,
            warnings=("nothing is asserted",),
        ),
        replace(
            bare,
            name="Payment in staging",
            path="payment.flow.yaml",
            verdict=Verdict.SKIPPED,
            duration=0.0,
            reason="STAGING is not set",
            recording=None,
        ),
    )
    return run_of(*flows)


def run_of(*flows: FlowRecord) -> RunRecord:
    """A run of these flows, with the exit code that they amount to."""
    return RunRecord(
        id="20261130-090000-4f2a",
        suite="support-bot",
        command="suite run",
        phase="replay",
        started="2026-11-30T09:00:00Z",
        duration=62.4,
        flowproof="0.1.0",
        python="3.12.4",
        platform="Linux 6.1 x86_64",
        host="builder-7",
        partial=False,
        exit_code=combined_exit_code(tuple(flow.exit_code for flow in flows)),
        flows=flows,
    )
