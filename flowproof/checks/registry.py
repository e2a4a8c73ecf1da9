"""Evaluates every assertion of a flow. Pure: assertions and evidence in, results out.

Counterpart: the `check` task of a flow, which resolves `${VAR}` and gathers the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from flowproof.checks.interface import Evidence
from flowproof.checks.ledgers import Ledgers
from flowproof.checks.matching import conditions
from flowproof.checks.reply import judge_reply
from flowproof.model.flow_spec import (
    Assertion,
    AssertNoEgress,
    AssertNoSecretLeak,
    AssertNoToolCall,
    AssertReply,
    AssertToolCall,
    AssertToolCalls,
    Matcher,
    Scalar,
)
from flowproof.model.outcome import AssertionResult, Outcome, Uncertifiable, Unjudged
from flowproof.spec.pattern import PatternError, compile_pattern


def check_all(assertions: Sequence[Assertion], evidence: Evidence) -> tuple[AssertionResult, ...]:
    """The result of each assertion, in order, whatever became of those before it.

    `${VAR}` must be resolved. A strict flow gets one result more, for calls that no step lists.
    """
    ledgers = Ledgers(evidence.trajectory, evidence.lanes)
    results = [
        AssertionResult(item.source, item.position.line, _judge(item, evidence, ledgers))
        for item in assertions
    ]
    if evidence.strict:
        unlisted = ledgers.nothing_unlisted()
        results.append(AssertionResult("strict: true", evidence.line, unlisted))
    return tuple(results)


def _judge(item: Assertion, evidence: Evidence, ledgers: Ledgers) -> Outcome:
    reason = unusable(item)
    if reason:
        return Unjudged(reason)
    try:
        return _outcome(item, evidence, ledgers)
    except PatternError as error:
        return Unjudged(f"the pattern cannot be used: {error}")


def _outcome(item: Assertion, evidence: Evidence, ledgers: Ledgers) -> Outcome:
    match item:
        case AssertToolCall():
            return ledgers.of(item.server).called(item)
        case AssertToolCalls():
            return ledgers.of(item.server).called_exactly(item)
        case AssertNoToolCall():
            return ledgers.of(item.server).not_called(item)
        case AssertReply():
            return judge_reply(item, evidence.trajectory)
        case AssertNoEgress():
            return Uncertifiable("`assert_no_egress` is not built in this version")
        case AssertNoSecretLeak():
            return Uncertifiable("`assert_no_secret_leak` is not built in this version")
        case _:
            assert_never(item)


def unusable(item: Assertion) -> str:
    """Why a text or pattern cannot be looked for; empty if it can.

    Asked before any call is seen: a variable can hold nothing or no pattern at all, and a check
    that met no call to try it on would be green while proving nothing.
    """
    for matcher, text in _searches(item):
        if not text:
            return f"`{matcher}` looks for an empty text, which is in every text"
        if matcher is Matcher.MATCHES:
            try:
                compile_pattern(text)
            except PatternError as error:
                return f"the pattern cannot be used: {error}"
    return ""


def _searches(item: Assertion) -> list[tuple[Matcher, str]]:
    if isinstance(item, AssertReply):
        found = [(item.matcher, item.value)]
    elif isinstance(item, AssertToolCall | AssertNoToolCall):
        clauses = conditions(item)
        found = [(c.matcher, c.value) for c in clauses if isinstance(c.value, Scalar)]
    else:
        found = []
    return [(m, value.text) for m, value in found if m in {Matcher.CONTAINS, Matcher.MATCHES}]
