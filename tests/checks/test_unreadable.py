"""An answer that flowproof cannot read may hold anything: what that could change is not judged."""

from __future__ import annotations

import pytest

from flowproof.model.flow_spec import Assertion, Matcher
from flowproof.model.outcome import Failed, Outcome, Passed, Unjudged
from flowproof.model.trajectory import Trajectory, TurnView
from tests.checks.builders import (
    call,
    called,
    equals,
    exactly,
    never,
    outcomes,
    reply,
    turn,
)

BOOK = call("book", '{"flight": "KQ311"}')
CANNOT = "turn 2 holds an answer that flowproof cannot read, so it cannot be shown that "


def seen(second: TurnView) -> Trajectory:
    return Trajectory((turn(1, BOOK), second, turn(3, text="Booked.")))


UNREADABLE = seen(turn(2, readable=False))
READABLE = seen(turn(2, text="One moment."))
REFUSED = seen(turn(2, status=429))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        pytest.param(never("wipe"), "no call of wipe was made", id="guard"),
        pytest.param(
            never("book", equals("flight", "KQ9")),
            "no call of book where flight equals KQ9 was made",
            id="guard-with-arguments",
        ),
        pytest.param(exactly("book"), "no other tool was called", id="exact-list"),
        pytest.param(called("book", times=(1, 1)), "book was called once", id="once"),
        pytest.param(called("wipe", times=(0, 0)), "wipe was called never", id="never"),
        pytest.param(called("book", times=(0, 2)), "book was called at most twice", id="at-most"),
    ],
)
def test_what_more_calls_could_refute_is_not_shown(step: Assertion, reason: str) -> None:
    assert outcomes(UNREADABLE, step) == (Unjudged(CANNOT + reason),)
    assert outcomes(READABLE, step) == (Passed(),)
    assert outcomes(REFUSED, step) == (Passed(),)


def test_strict_does_not_hold_with_an_answer_that_cannot_be_read() -> None:
    *_, strict = outcomes(UNREADABLE, called("book"), strict=True)
    assert strict == Unjudged(CANNOT + "a step lists every call")
    *_, strict = outcomes(READABLE, called("book"), strict=True)
    assert strict == Passed()
    *_, strict = outcomes(UNREADABLE, strict=True)
    assert isinstance(strict, Failed)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(called("book"), Passed, id="a-call-elsewhere"),
        pytest.param(called("book", times=(1, None)), Passed, id="at-least"),
        pytest.param(reply(Matcher.CONTAINS, "Booked"), Passed, id="reply"),
        pytest.param(reply(Matcher.CONTAINS, "Sorry", negated=True), Passed, id="negated-reply"),
        pytest.param(never("book"), Failed, id="a-forbidden-call-elsewhere"),
        pytest.param(called("book", times=(0, 0)), Failed, id="too-often-already"),
        pytest.param(exactly("search"), Failed, id="another-call-already"),
        pytest.param(exactly(), Failed, id="one-call-too-many-already"),
        pytest.param(called("wipe"), Unjudged, id="a-call-it-may-hold"),
        pytest.param(called("book", times=(2, 2)), Unjudged, id="a-second-call-it-may-hold"),
        pytest.param(exactly("book", "wipe"), Unjudged, id="the-rest-of-a-list-it-may-hold"),
    ],
)
def test_what_more_calls_could_not_change_is_judged(
    step: Assertion, expected: type[Outcome]
) -> None:
    assert [type(outcome) for outcome in outcomes(UNREADABLE, step)] == [expected]


def test_a_call_that_is_missing_says_what_could_be_read() -> None:
    [outcome] = outcomes(UNREADABLE, called("wipe"))
    assert outcome == Unjudged(
        CANNOT + "a call of wipe is missing; as far as can be read, `wipe` was never called; "
        "called were `book`"
    )


@pytest.mark.parametrize("matcher", [Matcher.CONTAINS, Matcher.EQUALS, Matcher.MATCHES], ids=str)
@pytest.mark.parametrize("negated", [False, True], ids=["plain", "negated"])
def test_a_reply_that_cannot_be_read_is_said_to_be_so(matcher: Matcher, negated: bool) -> None:
    last = Trajectory((turn(1, BOOK), turn(2, readable=False)))
    assert outcomes(last, reply(matcher, "x", negated=negated)) == (
        Unjudged(
            "the reply is unreadable: turn 2 holds an answer that flowproof cannot read, and it is "
            "the conversation's last"
        ),
    )


def test_an_unreadable_turn_of_another_conversation_hides_calls_and_no_reply() -> None:
    title = turn(3, system="Name this.", readable=False)
    both = Trajectory((turn(1, BOOK), turn(2, text="Booked."), title))
    found = outcomes(both, reply(Matcher.CONTAINS, "Sorry", negated=True), never("wipe"))
    assert [type(outcome) for outcome in found] == [Passed, Unjudged]


def test_several_turns_are_all_named() -> None:
    turns = Trajectory((turn(1, readable=False), turn(2, text="x"), turn(3, readable=False)))
    [outcome] = outcomes(turns, never("wipe"))
    assert str(outcome).count("turns 1, 3 hold answers that flowproof cannot read") == 1
