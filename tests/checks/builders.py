"""Builds trajectories and assertions for the tests of checks."""

from __future__ import annotations

from collections.abc import Sequence

from flowproof.checks.interface import Evidence
from flowproof.checks.registry import check_all
from flowproof.model.flow_spec import (
    Assertion,
    AssertNoToolCall,
    AssertReply,
    AssertToolCall,
    AssertToolCalls,
    Clause,
    Expected,
    Matcher,
    Position,
    Scalar,
    Times,
)
from flowproof.model.jsonvalue import JsonError, JsonValue, parse
from flowproof.model.outcome import Failed, Outcome, Passed
from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView

AT = Position("book.flow.yaml", 7, 5)


def bare(text: str) -> Scalar:
    """A value written without quotes."""
    return Scalar(text, quoted=False)


def quoted(text: str) -> Scalar:
    """A value written in quotes."""
    return Scalar(text, quoted=True)


def clause(path: str, matcher: Matcher, value: Expected | None = None) -> Clause:
    return Clause(tuple(path.split(".")), matcher, value)


def equals(path: str, text: str) -> Clause:
    return clause(path, Matcher.EQUALS, bare(text))


def called(
    tool: str,
    *clauses: Clause,
    exact: Expected | None = None,
    times: tuple[int, int | None] | None = None,
    server: str = "",
) -> AssertToolCall:
    bounds = None if times is None else Times(*times)
    return AssertToolCall(tool, clauses, AT, f"assert_tool_call: {tool}", exact, bounds, server)


def exactly(*tools: str) -> AssertToolCalls:
    return AssertToolCalls(tools, AT, "assert_tool_calls")


def never(tool: str, *clauses: Clause) -> AssertNoToolCall:
    return AssertNoToolCall(tool, clauses, AT, f"assert_no_tool_call: {tool}")


def reply(matcher: Matcher, text: str, *, negated: bool = False) -> AssertReply:
    return AssertReply(matcher, bare(text), negated, AT, "assert: reply")


def call(tool: str, text: str = "{}") -> ToolCall:
    """A call with its arguments as JSON text; anything else makes them malformed."""
    try:
        return ToolCall("c1", tool, text, parse(text))
    except JsonError:
        return ToolCall("c1", tool, text, None, malformed=True)


def turn(
    number: int,
    *calls: ToolCall,
    text: str | None = None,
    system: str = "",
    tools: Sequence[str] = (),
    status: int = 200,
    request_text: int = 10,
    readable: bool = True,
) -> TurnView:
    """One turn whose answer has these calls and this text; none if its status is over 299, or
    if it is not readable."""
    answers = (Message("assistant", text, tuple(calls)),) if readable and status < 300 else ()
    return TurnView(
        number=number,
        dialect="openai.chat",
        model="m",
        system=system,
        base=number - 1 or None,
        kept=0,
        added=(),
        request_text=request_text,
        tools=tuple(tools),
        status=status,
        answers=answers,
    )


def trajectory(*calls: ToolCall, text: str | None = None, tools: Sequence[str] = ()) -> Trajectory:
    """One turn per call, and one with the reply if there is a text."""
    turns = [turn(number, item, tools=tools) for number, item in enumerate(calls, start=1)]
    if text is not None:
        turns.append(turn(len(turns) + 1, text=text, tools=tools))
    return Trajectory(tuple(turns))


def outcomes(seen: Trajectory, *assertions: Assertion, strict: bool = False) -> tuple[Outcome, ...]:
    results = check_all(assertions, Evidence(seen, strict, line=3))
    return tuple(result.outcome for result in results)


def passed(seen: Trajectory, *assertions: Assertion, strict: bool = False) -> list[bool]:
    return [isinstance(outcome, Passed) for outcome in outcomes(seen, *assertions, strict=strict)]


def failure(seen: Trajectory, assertion: Assertion) -> Failed:
    """The failure of the only assertion."""
    (outcome,) = outcomes(seen, assertion)
    assert isinstance(outcome, Failed), outcome
    return outcome


def json(text: str) -> JsonValue:
    return parse(text)
