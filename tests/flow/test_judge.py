"""Which finding decides a flow, in which order, and what each makes the process return."""

from __future__ import annotations

from typing import Any

import pytest

from flowproof.errors import ExitCode
from flowproof.flow.boundary import Lanes
from flowproof.flow.judge import Judgement, judge
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Agent
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.outcome import (
    AssertionResult,
    Divergence,
    Failed,
    Outcome,
    Passed,
    Uncertifiable,
    Unjudged,
    Verdict,
)
from flowproof.model.phase import Phase
from flowproof.model.traffic import ModelTraffic, Unserved
from flowproof.model.turn import Operation, Response, SideCall, Turn
from tests.flow.support import ended

HELD = AssertionResult("assert: reply contains Hello", 5, Passed())
DIVERGED = Divergence("model", "model changed: a, was b", request=1)
FAULT = (Verdict.FAIL, ExitCode.FLOW_FAILED)
AUTHOR = (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
WORLD = (Verdict.ERROR, ExitCode.WORLD_ERROR)


def lanes(requests: int = 1, unserved: tuple[Unserved, ...] = (), **more: Any) -> Lanes:
    traffic = ModelTraffic(requests=requests, served=requests, recorded=2, unserved=unserved)
    return Lanes(turns=(), traffic=traffic, **more)


def beside(count: int, unserved: tuple[Unserved, ...] = ()) -> Lanes:
    """Side calls to one endpoint, and no model request."""
    call = SideCall(Operation("openai.embeddings", "/embeddings"), "POST", {}, Response(200, {}))
    traffic = ModelTraffic(side_calls=count, side_recorded=1, unserved=unserved)
    return Lanes(turns=(), traffic=traffic, side_calls=(call,))


def result(outcome: Outcome) -> AssertionResult:
    return AssertionResult("assert: x", 6, outcome)


def judged(
    exit: AgentExit | None = None,
    crossed: Lanes | None = None,
    *results: AssertionResult,
    phase: Phase = "replay",
    strict: bool = False,
    agent: Agent | None = None,
    answered: bool = True,
    asserted: bool = True,
) -> Judgement:
    return judge(
        agent or Agent(command="x"),
        phase,
        exit or ended(),
        crossed or lanes(),
        (results or (HELD,)) if asserted else (),
        answered=answered,
        asserted=asserted,
        strict=strict,
    )


@pytest.mark.parametrize(
    ("exit", "crossed", "expected", "reason"),
    [
        pytest.param(
            ended(None, error="no such program"),
            lanes(0),
            AUTHOR,
            "the agent could not be started: no such program",
            id="never started",
        ),
        pytest.param(
            ended(None, error="the guard is gone"), lanes(), WORLD, "the guard is gone", id="lost"
        ),
        pytest.param(ended(), lanes(divergence=DIVERGED), FAULT, "model changed", id="divergence"),
        pytest.param(
            ended(-15, timed_out=True),
            lanes(),
            FAULT,
            "the agent was still running after 300 s and was ended",
            id="timeout",
        ),
        pytest.param(
            ended(),
            lanes(refused_key="http://h answered 401"),
            AUTHOR,
            "the upstream refused the credentials: http://h answered 401",
            id="refused key",
        ),
        pytest.param(
            ended(), lanes(problems=("it broke off",)), WORLD, "it broke off", id="no whole answer"
        ),
        pytest.param(
            ended(1),
            lanes(no_upstream=("no upstream for x: set Y",), divergence=DIVERGED),
            AUTHOR,
            "cannot record: no upstream for x: set Y",
            id="no upstream",
        ),
        pytest.param(
            ended(),
            lanes(0),
            FAULT,
            "the agent made no model call; the recording has 2 turns\nIf",
            id="no request",
        ),
        pytest.param(
            ended(7),
            lanes(0),
            FAULT,
            "exited with status 7 before it sent any model request",
            id="no request and a crash",
        ),
        pytest.param(
            ended(-15, timed_out=True),
            lanes(0),
            FAULT,
            "no model request had reached",
            id="no request in time",
        ),
        pytest.param(
            ended(),
            lanes(0, (Unserved("POST", "/v1/responses", 3),)),
            FAULT,
            "POST /v1/responses (3×)",
            id="only unserved requests",
        ),
        pytest.param(
            ended(),
            beside(2),
            FAULT,
            "no model request arrived, only 2 side calls (openai.embeddings): ",
            id="only side calls",
        ),
        pytest.param(
            ended(),
            beside(1, (Unserved("POST", "/v2/rerank", 3),)),
            FAULT,
            "POST /v2/rerank (3×), and 1 side call (openai.embeddings).",
            id="side calls and unserved requests",
        ),
        pytest.param(
            ended(),
            lanes(side_missing=("1 (openai.embeddings)", "4 (openai.count_tokens)")),
            FAULT,
            "never requested: side calls 1 (openai.embeddings), 4 (openai.count_tokens)",
            id="fewer side calls",
        ),
        pytest.param(
            ended(),
            lanes(unconsumed=(2,)),
            FAULT,
            "1 of 2 turns were used; never requested: turn 2",
            id="fewer calls",
        ),
        pytest.param(ended(3), lanes(), FAULT, "the agent exited with status 3", id="status"),
        pytest.param(ended(-9), lanes(), FAULT, "was ended by signal 9", id="signal"),
    ],
)
def test_one_finding(
    exit: AgentExit, crossed: Lanes, expected: tuple[Verdict, ExitCode], reason: str
) -> None:
    found = judged(exit, crossed)
    assert (found.verdict, found.exit_code) == expected
    assert reason in found.reason


@pytest.mark.parametrize(
    ("outcome", "verdict", "code", "reason"),
    [
        pytest.param(
            Failed("no"),
            Verdict.FAIL,
            ExitCode.FLOW_FAILED,
            "1 of 2 assertions failed",
            id="failed",
        ),
        pytest.param(
            Unjudged("empty"),
            Verdict.ERROR,
            ExitCode.AUTHOR_ERROR,
            "1 of 2 assertions could not be judged",
            id="unjudged",
        ),
        pytest.param(
            Uncertifiable("not here"),
            Verdict.CAPABILITY_ERROR,
            ExitCode.WORLD_ERROR,
            "1 of 2 assertions could not be certified",
            id="uncertifiable",
        ),
    ],
)
def test_an_assertion_that_does_not_hold(
    outcome: Outcome, verdict: Verdict, code: ExitCode, reason: str
) -> None:
    found = judged(None, None, HELD, result(outcome))
    assert (found.verdict, found.exit_code) == (verdict, code)
    assert found.reason == f"{reason}: assert: x"


def test_all_that_holds_passes() -> None:
    assert judged() == Judgement(Verdict.PASS, ExitCode.PASSED)
    two = judged(None, None, HELD, HELD)
    assert two == Judgement(Verdict.PASS, ExitCode.PASSED)


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
def test_nothing_asserted(strict: bool) -> None:
    found = judged(strict=strict, asserted=False)
    if strict:
        assert (found.verdict, found.exit_code) == AUTHOR
    else:
        assert (found.verdict, found.exit_code) == (
            Verdict.PASS_NOTHING_ASSERTED,
            ExitCode.PASSED,
        )
    assert "nothing was asserted" in found.reason


def test_nothing_asserted_hides_no_failure() -> None:
    assert judged(ended(1), asserted=False).verdict is Verdict.FAIL


def refused(status: int) -> Lanes:
    said: JsonValue = {"error": {"message": "slow down"}}
    turn = Turn(Operation("openai.chat", "/chat/completions"), {}, Response(status, said))
    return Lanes(turns=(turn,), traffic=ModelTraffic(requests=1, served=1, recorded=1))


@pytest.mark.parametrize(("phase", "kind"), [("record", WORLD), ("replay", AUTHOR)])
def test_errors_alone_are_no_recording(phase: Phase, kind: tuple[Verdict, ExitCode]) -> None:
    found = judged(None, refused(429), phase=phase, answered=False)
    assert (found.verdict, found.exit_code) == kind
    assert "status 429" in found.reason and "slow down" in found.reason
    assert "keep_retries" in found.reason
    assert judged(None, refused(429), phase=phase, answered=True).verdict is Verdict.PASS


def test_a_flow_about_failures_may_hold_nothing_else() -> None:
    agent = Agent(command="x", keep_retries=True)
    assert judged(None, refused(429), agent=agent, answered=False).verdict is Verdict.PASS


def test_the_expected_status_passes_and_another_one_fails() -> None:
    agent = Agent(command="x", expect_exit=3)
    assert judged(ended(3), agent=agent).verdict is Verdict.PASS
    found = judged(ended(0), agent=agent)
    assert found.reason == "the agent exited with status 0, expected 3"


def test_the_first_finding_decides_and_all_are_told() -> None:
    found = judged(ended(1), lanes(unconsumed=(2,)), HELD, result(Failed("no")))
    assert found.verdict is Verdict.FAIL
    assert [line[:20] for line in found.reason.splitlines()] == [
        "the agent made fewer",
        "the agent exited wit",
        "1 of 2 assertions fa",
    ]
    mixed = judged(
        None, None, result(Uncertifiable("x")), result(Unjudged("x")), result(Failed(""))
    )
    assert mixed.verdict is Verdict.FAIL
    assert len(mixed.reason.splitlines()) == 3


def test_what_happened_after_a_divergence_says_nothing() -> None:
    crossed = lanes(0, divergence=DIVERGED, unconsumed=(1, 2))
    found = judged(ended(1, timed_out=True), crossed, result(Failed("no")))
    assert found.reason == DIVERGED.message


def test_a_world_that_failed_hides_what_the_agent_did_of_it() -> None:
    found = judged(ended(1), lanes(problems=("cut", "cut too")), result(Failed("no")))
    assert (found.verdict, found.exit_code) == WORLD
    assert found.reason == "cut\ncut too"


def test_a_timeout_is_no_wrong_status() -> None:
    found = judged(ended(-9, timed_out=True))
    assert len(found.reason.splitlines()) == 1


@pytest.mark.parametrize(
    ("phase", "first"),
    [
        ("record", "the agent made no model call, so nothing was recorded"),
        ("replay", "the agent made no model call; the recording has 2 turns"),
    ],
)
def test_what_no_request_means(phase: Phase, first: str) -> None:
    told, guessed = judged(None, lanes(0), phase=phase).reason.split("\n")
    assert told == first
    assert '"${flowproof.proxy_url}"' in guessed


def test_many_unused_turns_are_not_all_listed() -> None:
    reason = judged(None, lanes(unconsumed=tuple(range(1, 40)))).reason
    assert reason.endswith("turns 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …")
