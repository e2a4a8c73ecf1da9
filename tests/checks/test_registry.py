"""Every assertion gets its own result, also those that cannot be judged here."""

from __future__ import annotations

from typing import assert_never

import pytest

from flowproof.checks.interface import Evidence
from flowproof.checks.registry import check_all
from flowproof.model.flow_spec import Assertion, AssertNoEgress, AssertNoSecretLeak, Matcher
from flowproof.model.outcome import Failed, Outcome, Passed, Uncertifiable, Unjudged
from tests.checks.builders import (
    AT,
    bare,
    call,
    called,
    clause,
    exactly,
    never,
    outcomes,
    reply,
    trajectory,
)

SEEN = trajectory(call("search"), text="done")


def kind(outcome: Outcome) -> str:
    match outcome:
        case Passed():
            return "passed"
        case Failed():
            return "failed"
        case Unjudged():
            return "unjudged"
        case Uncertifiable():
            return "uncertifiable"
        case _:
            assert_never(outcome)


def test_every_assertion_is_evaluated_and_listed_in_order() -> None:
    assertions: tuple[Assertion, ...] = (
        called("book"),
        reply(Matcher.CONTAINS, "booked"),
        AssertNoEgress(AT, "assert_no_egress"),
        never("search"),
        AssertNoSecretLeak((), AT, "assert_no_secret_leak"),
        called("search"),
        exactly("search"),
        reply(Matcher.CONTAINS, "done"),
    )
    results = check_all(assertions, Evidence(SEEN))
    assert [result.source for result in results] == [item.source for item in assertions]
    assert {result.line for result in results} == {7}
    assert [kind(result.outcome) for result in results] == [
        "failed",
        "failed",
        "uncertifiable",
        "failed",
        "uncertifiable",
        "passed",
        "passed",
        "passed",
    ]


def test_strict_adds_one_result_at_its_own_line() -> None:
    results = check_all([called("search")], Evidence(SEEN, strict=True, line=4))
    assert [(result.source, result.line, kind(result.outcome)) for result in results] == [
        ("assert_tool_call: search", 7, "passed"),
        ("strict: true", 4, "passed"),
    ]
    assert kind(check_all([], Evidence(SEEN, strict=True))[-1].outcome) == "failed"


def test_nothing_asserted_gives_nothing() -> None:
    assert check_all([], Evidence(SEEN)) == ()


@pytest.mark.parametrize(
    "assertion",
    [
        pytest.param(never("gone", clause("a", Matcher.MATCHES, bare("(?=a)"))), id="guard"),
        pytest.param(called("search", clause("a", Matcher.MATCHES, bare("["))), id="call"),
        pytest.param(reply(Matcher.MATCHES, "*"), id="reply"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_not_judged_even_where_nothing_is_searched(
    assertion: Assertion,
) -> None:
    (outcome,) = outcomes(SEEN, assertion)
    assert isinstance(outcome, Unjudged) and "the pattern cannot be used" in outcome.reason


@pytest.mark.parametrize(
    "assertion",
    [
        pytest.param(reply(Matcher.CONTAINS, ""), id="reply-contains"),
        pytest.param(reply(Matcher.MATCHES, ""), id="reply-matches"),
        pytest.param(called("search", clause("a", Matcher.CONTAINS, bare(""))), id="clause"),
        pytest.param(never("search", clause("a", Matcher.MATCHES, bare(""))), id="guard"),
    ],
)
def test_an_empty_text_proves_nothing(assertion: Assertion) -> None:
    (outcome,) = outcomes(SEEN, assertion)
    assert isinstance(outcome, Unjudged) and "empty text" in outcome.reason


def test_an_empty_text_can_be_equalled() -> None:
    seen = trajectory(call("search", '{"q": ""}'), text="")
    step = called("search", clause("q", Matcher.EQUALS, bare("")))
    assert [kind(item) for item in outcomes(seen, step, reply(Matcher.EQUALS, ""))] == [
        "passed",
        "passed",
    ]
