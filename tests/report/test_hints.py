"""What a reader is told to do next, and what is only worth knowing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowproof.errors import ExitCode
from flowproof.model.outcome import (
    CANNOT_RECORD,
    NO_ANSWER,
    NOT_SERVED,
    REFUSED,
    Divergence,
    Verdict,
)
from flowproof.model.run_record import FlowRecord
from flowproof.model.served import none_served
from flowproof.model.traffic import ModelTraffic, Unserved
from flowproof.report.console import VERBOSE_LIMIT, flow_detail
from flowproof.report.html_flow import flow_shown
from flowproof.report.words import hints, notes
from tests.report.fixtures import agent_exit, diverged, flow_record

UPGRADE = Unserved("GET", "/v1/responses", 2, "upgrade")
RERANK = Unserved("POST", "/v2/rerank", 1)
VERTEX = Unserved("POST", "/", 1, "cloud")


def differs(kind: str) -> FlowRecord:
    return replace(diverged(), divergence=Divergence(kind, "it differs", 1))


@pytest.mark.parametrize(
    ("kind", "says", "never"),
    [
        pytest.param("tool call id", "cannot be replayed until `volatile:`", "meant", id="id"),
        pytest.param("item id", "recording again does not help", "meant", id="item"),
        pytest.param("tool result", "under `tools:`", "volatile", id="result"),
        pytest.param("system text", "agent.env", "volatile", id="text"),
        pytest.param("model", "if this change is meant, record it again", "volatile", id="model"),
    ],
)
def test_what_to_do_after_a_divergence(kind: str, says: str, never: str) -> None:
    told = "\n".join(hints(differs(kind)))
    assert says in told
    assert never not in told


def unserved(*found: Unserved, requests: int = 1, reason: str = "") -> FlowRecord:
    verdict, code = (
        (Verdict.FAIL, ExitCode.FLOW_FAILED) if reason else (Verdict.PASS, ExitCode.PASSED)
    )
    return replace(
        flow_record(),
        verdict=verdict,
        exit_code=code,
        reason=reason,
        traffic=ModelTraffic(requests=requests, unserved=found),
    )


def test_a_client_that_falls_back_from_a_websocket_is_noted_and_not_warned_of() -> None:
    flow = unserved(UPGRADE)
    note = (
        "the agent tried a WebSocket at /v1/responses 2 times, which was refused; what it asked "
        "over HTTP was served"
    )
    assert (hints(flow), notes(flow)) == ((), (note,))
    assert f"  note: {note}" in flow_detail(flow)
    assert "warning" not in flow_detail(flow)
    assert ("Note", note) in flow_shown(flow).facts
    assert notes(unserved(RERANK)) == notes(flow_record()) == ()


def test_what_the_reason_says_is_not_said_again() -> None:
    for found in (UPGRADE, RERANK, VERTEX):
        flow = unserved(found, requests=0, reason=none_served([found]))
        assert (hints(flow), notes(flow)) == ((), ())


def test_what_a_warning_says_is_not_said_again() -> None:
    flow = replace(unserved(RERANK), warnings=("not tested: POST /v2/rerank (1×)",))
    assert hints(flow) == ()
    assert hints(replace(flow, warnings=("POST /v2/rerank (2×)",))) != ()


def test_unserved_requests_beside_others_are_named_with_what_is_known_of_them() -> None:
    told = hints(unserved(RERANK, VERTEX, UPGRADE))
    assert told[0] == (
        "the agent asked for what flowproof does not serve: POST /v2/rerank (1×), POST / (1×)"
    )
    assert "Vertex AI and Bedrock" in told[1]
    assert len(told) == 2


@pytest.mark.parametrize("refusal", [REFUSED, CANNOT_RECORD, NO_ANSWER, NOT_SERVED], ids=str)
def test_a_traceback_that_repeats_a_refusal_is_left_out(refusal: str) -> None:
    trace = f"Traceback (most recent call last):\nBadRequestError: {refusal}: why\n"
    flow = replace(diverged(), phase="record", agent=agent_exit(1, stderr=trace))
    assert "its stderr repeats what it was refused with; -v shows it" in flow_detail(flow)
    assert "BadRequestError" not in flow_detail(flow)
    assert "BadRequestError" in flow_detail(flow, verbose=True)
    innocent = replace(flow, agent=agent_exit(1, stderr="KeyError: 'city'\n"))
    assert "  | KeyError: 'city'" in flow_detail(innocent)


def test_verbose_shows_all_that_the_agent_printed() -> None:
    flow = replace(
        diverged(), agent=agent_exit(0, stdout="".join(f"line {n}\n" for n in range(90)))
    )
    assert "its stdout ends:" in flow_detail(flow)
    assert "| line 69\n" not in flow_detail(flow)
    told = flow_detail(flow, verbose=True)
    assert "its stdout:" in told
    assert [line for line in told.splitlines() if "| line " in line] == [
        f"    | line {n}" for n in range(90)
    ]


def test_of_very_much_the_beginning_and_the_end_are_shown() -> None:
    many = "".join(f"line {n}\n" for n in range(50_000)) + "\x1b[2J" + "x" * 100_000
    told = flow_detail(replace(diverged(), agent=agent_exit(0, stdout=many)), verbose=True)
    lines = [line for line in told.splitlines() if "| " in line]
    assert len(lines) == VERBOSE_LIMIT + 1
    assert (lines[0].strip(), lines[500].strip()) == (
        "| line 0",
        f"| … {50_001 - VERBOSE_LIMIT} lines left out …",
    )
    assert max(map(len, lines)) < 600
    assert "\x1b" not in told
