"""Flows with MCP servers as the tests of reports need them."""

from __future__ import annotations

from dataclasses import replace

from flowproof.errors import ExitCode
from flowproof.model.mcp_record import McpCallRecord, McpEventRecord, McpRecord
from flowproof.model.outcome import AssertionResult, Divergence, Excerpt, Failed, Verdict
from flowproof.model.run_record import FlowRecord
from tests.report.fixtures import flow_record

SEARCHED = McpCallRecord(
    number=3,
    connection=1,
    method="tools/call",
    tool="search_flights",
    arguments='{\n  "from": "NBO"\n}',
    outcome="result",
    answer='{\n  "content": []\n}',
    asked=1,
)


def lane() -> McpRecord:
    """A server that listed its tools, ran one, failed at another and mocked a third."""
    calls = (
        McpCallRecord(
            1, 1, "initialize", "", '{\n  "protocolVersion": "2025-11-25"\n}', "result", "{}"
        ),
        McpCallRecord(2, 1, "tools/list", "", "", "result", '{\n  "tools": []\n}'),
        SEARCHED,
        replace(
            SEARCHED, number=4, tool="hold_seat", outcome="tool error", answer='"full"', asked=0
        ),
        replace(SEARCHED, number=5, tool="wipe", outcome="result", mocked=True, asked=0),
    )
    told = McpEventRecord(1, "server", "notifications/progress", False, '{"progress": 1}', "", 3)
    asked = McpEventRecord(1, "server", "elicitation/create", True, "{}", '{"action": "accept"}', 3)
    return McpRecord(
        server="flights",
        transport="stdio",
        variable="FLOWPROOF_MCP_SERVER_flights",
        contacted=True,
        connections=1,
        made=5,
        mocked=1,
        notifications=1,
        requests=1,
        calls=calls,
        events=(told, asked),
    )


def with_servers() -> FlowRecord:
    """A flow that passed, with two servers."""
    web = replace(
        lane(),
        server="web-2",
        transport="http",
        connections=2,
        calls=(replace(SEARCHED, asked=0),),
        made=1,
    )
    return replace(
        flow_record(), mcp=(lane(), replace(web, mocked=0, notifications=0, requests=0, events=()))
    )


def diverged_at_server() -> FlowRecord:
    """A flow whose agent asked a server for something else than when it was recorded."""
    return replace(
        with_servers(),
        verdict=Verdict.FAIL,
        exit_code=ExitCode.FLOW_FAILED,
        reason="call 5 to the MCP server flights differs: the argument from changed",
        divergence=Divergence(
            "arguments",
            "call 5 to the MCP server flights differs: the argument from changed",
            request=5,
            turn=3,
            path="$.params.arguments.from",
            excerpt=(Excerpt("-", "NBO"), Excerpt("+", "MBA")),
            server="flights",
        ),
        assertions=(
            AssertionResult(
                "assert_no_tool_call: flights/wipe",
                14,
                Failed("`flights/wipe` was called in call 5 to flights with {}"),
            ),
        ),
    )
