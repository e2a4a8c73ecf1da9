"""A run in which everything that an agent or a model wrote is out to do harm."""

from __future__ import annotations

from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.model.mcp_record import McpCallRecord, McpEventRecord, McpRecord
from flowproof.model.outcome import AssertionResult, Divergence, Excerpt, Failed, Verdict
from flowproof.model.run_record import RunRecord
from flowproof.model.trajectory import Message, ToolCall, Trajectory
from tests.report.fixtures import agent_exit, flow_record, run_of

EVIL = (
    "</script></pre></title><img src=x onerror=alert(1)>\"'>{{ 7*7 }}]]>"
    "\x1b[2J\x1b]0;title\x07\x00\x07\x9b31m\u202e\u2066\u200b\ud800\uffff\r\n&amp;"
)
LONG_LINE = "x" * 1_000_000


def hostile_run() -> RunRecord:
    """One failed flow with `EVIL` in every text that comes from outside."""
    turn = flow_record().trajectory.turns[0]
    call = ToolCall(EVIL, EVIL, EVIL, None, malformed=True)
    turn = replace(
        turn,
        dialect=EVIL,
        model=EVIL,
        system=EVIL,
        added=(Message("tool", EVIL, call_id=EVIL, tool=EVIL, attachments=(EVIL,)),),
        answers=(Message("assistant", LONG_LINE, (call,)),),
        mocked=(EVIL,),
    )
    flow = replace(
        flow_record(EVIL),
        path=f"a/{EVIL}",
        verdict=Verdict.FAIL,
        exit_code=ExitCode.FLOW_FAILED,
        reason=EVIL,
        command=EVIL,
        description=EVIL,
        tags=(EVIL,),
        assertions=(AssertionResult(EVIL, 3, Failed(EVIL, EVIL, LONG_LINE)),),
        divergence=Divergence(EVIL, EVIL, 1, 1, EVIL, (Excerpt("-", EVIL), Excerpt("+", EVIL))),
        warnings=(EVIL,),
        agent=agent_exit(1, stdout=LONG_LINE, stderr=EVIL),
        trajectory=Trajectory((turn,)),
        environment=(EVIL,),
        mcp=(_evil_lane(),),
    )
    return replace(run_of(flow), suite=EVIL, host=EVIL, command=EVIL, warnings=(EVIL,))


def _evil_lane() -> McpRecord:
    call = McpCallRecord(1, 1, EVIL, EVIL, EVIL, "broken", EVIL, asked=1)
    return McpRecord(
        server=EVIL,
        transport="stdio",
        variable=EVIL,
        contacted=True,
        connections=1,
        made=1,
        notifications=1,
        calls=(call,),
        events=(McpEventRecord(1, "server", EVIL, True, EVIL, EVIL, 1),),
        missing=(EVIL,),
        problems=(EVIL,),
        stderr=EVIL,
    )
