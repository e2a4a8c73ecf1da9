"""What crossed the boundary to an MCP server decides a flow as what crossed the model's does."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.flow.boundary import Lanes
from flowproof.flow.judge import judge
from flowproof.flow.mcp import McpOutcome
from flowproof.model.flow_spec import Agent
from flowproof.model.mcp import Lane, McpCall, Result
from flowproof.model.outcome import AssertionResult, Divergence, Passed
from flowproof.model.phase import Phase
from flowproof.model.traffic import ModelTraffic
from tests.flow.support import ended

HELD = AssertionResult("assert: reply contains Hello", 5, Passed())
CALL = McpCall(1, None, "tools/call", {"name": "read"}, Result({}), 0, 1)
DIVERGED = Divergence("argument", "argument `$.params.arguments.path` changed", request=2)
NEVER = "the agent never {} for `files`: have its MCP configuration take the {} of that server from"


def outcome(**facts: Any) -> McpOutcome:
    """A server that was asked one thing."""
    usual: dict[str, Any] = {
        "server": "files",
        "transport": "stdio",
        "variable": "FLOWPROOF_MCP_SERVER_files",
        "lane": Lane("files", (CALL,)),
        "contacted": True,
    }
    return McpOutcome(**usual | facts)


def judged(
    *servers: McpOutcome, phase: Phase = "replay", status: int = 0, **lanes: Any
) -> tuple[str, int, str]:
    crossed = {"traffic": ModelTraffic(requests=1, served=1, recorded=1), **lanes}
    found = judge(
        Agent(command="a"),
        phase,
        ended(status),
        Lanes(turns=(), mcp=servers, **crossed),
        [HELD],
        answered=True,
        asserted=True,
        strict=False,
    )
    return found.verdict.value, int(found.exit_code), found.reason


def test_a_server_that_saw_what_it_should_is_no_finding() -> None:
    assert judged(outcome(notes=("noise",), stderr="up"), outcome(server="web")) == ("pass", 0, "")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param({"divergence": DIVERGED}, ("fail", 1, DIVERGED.message), id="diverged"),
        pytest.param({"problems": ("it crashed",)}, ("error", 4, "it crashed"), id="crashed"),
        pytest.param(
            {"faults": ("no such command",), "problems": ("no answer",)},
            ("error", 2, "cannot record: no such command"),
            id="no command",
        ),
        pytest.param(
            {"unconsumed": ("call 2: tools/call write",)},
            (
                "fail",
                1,
                "the agent made fewer calls to the MCP server `files` than recorded, 1 call of 2; "
                "never made: call 2: tools/call write",
            ),
            id="short",
        ),
        pytest.param(
            {"contacted": False, "unconsumed": ("call 1: initialize",)},
            (
                "fail",
                1,
                NEVER.format("spawned flowproof's MCP stand-in", "command")
                + " FLOWPROOF_MCP_SERVER_files",
            ),
            id="never spawned",
        ),
        pytest.param(
            {"contacted": False, "transport": "http", "variable": "FLOWPROOF_MCP_URL_files"},
            (
                "fail",
                1,
                NEVER.format("contacted flowproof's MCP listener", "url")
                + " FLOWPROOF_MCP_URL_files",
            ),
            id="never contacted",
        ),
    ],
)
@pytest.mark.parametrize("phase", ["record", "replay"])
def test_what_went_wrong_at_one_of_two_servers_decides(
    facts: dict[str, Any], expected: tuple[str, int, str], phase: Phase
) -> None:
    assert judged(outcome(server="web"), outcome(**facts), phase=phase) == expected


def test_a_divergence_at_a_server_explains_the_models() -> None:
    later = Divergence("message text", "message text changed", request=2)
    verdict, code, reason = judged(outcome(divergence=DIVERGED), divergence=later, status=3)
    assert (verdict, code) == ("fail", 1)
    assert reason.splitlines() == [DIVERGED.message, later.message]


def test_an_agent_that_asked_no_model_fails_however_many_tools_it_called() -> None:
    verdict, code, reason = judged(outcome(), traffic=ModelTraffic())
    assert (verdict, code) == ("fail", 1)
    assert "made no model call" in reason


def test_a_long_list_of_missing_calls_is_cut() -> None:
    left = tuple(f"call {number}: ping" for number in range(2, 40))
    _, _, reason = judged(outcome(unconsumed=left))
    assert reason.endswith("call 11: ping …")
