"""The reply is the right message, and what is asserted of it fails and holds as it should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.model.flow_spec import AssertReply, Matcher
from flowproof.model.trajectory import Trajectory
from tests.checks.builders import call, failure, passed, reply, trajectory, turn

CONTAINS, EQUALS, MATCHES = Matcher.CONTAINS, Matcher.EQUALS, Matcher.MATCHES
SEEN = trajectory(call("book"), text="Your flight is booked: KQ311.")


@pytest.mark.parametrize(
    ("matcher", "text", "holds"),
    [
        pytest.param(CONTAINS, "booked", True, id="contains"),
        pytest.param(CONTAINS, "cancelled", False, id="contains-not"),
        pytest.param(EQUALS, "Your flight is booked: KQ311.", True, id="equals"),
        pytest.param(EQUALS, "Your flight is booked: KQ311", False, id="equals-not"),
        pytest.param(MATCHES, "[A-Z]{2}[0-9]{3}", True, id="matches"),
        pytest.param(MATCHES, "^[A-Z]{2}[0-9]{3}", False, id="matches-not"),
    ],
)
def test_each_form_and_its_negation_fail_and_hold(matcher: Matcher, text: str, holds: bool) -> None:
    assert passed(SEEN, reply(matcher, text)) == [holds]
    assert passed(SEEN, reply(matcher, text, negated=True)) == [not holds]


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(
            trajectory(call("book")), "it ends in a tool call to `book` in turn 1", id="call"
        ),
        pytest.param(Trajectory(()), "the agent asked the model nothing", id="nothing"),
        pytest.param(
            Trajectory((turn(1, status=500),)), "1, was answered with status 500", id="error"
        ),
        pytest.param(Trajectory((turn(1),)), "in turn 1, has no text", id="no-text"),
    ],
)
@pytest.mark.parametrize("matcher", [CONTAINS, EQUALS, MATCHES], ids=str)
@pytest.mark.parametrize("negated", [False, True], ids=["plain", "negated"])
def test_without_a_reply_nothing_holds(
    seen: Trajectory, reason: str, matcher: Matcher, negated: bool
) -> None:
    message = failure(seen, reply(matcher, "x", negated=negated)).message
    assert message.startswith("the trajectory has no reply") and reason in message


def test_an_empty_reply_is_a_reply() -> None:
    seen = trajectory(text="")
    assert passed(seen, reply(CONTAINS, "x"), reply(CONTAINS, "x", negated=True)) == [False, True]


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        pytest.param(
            reply(CONTAINS, "Booked"),
            'the reply does not contain "Booked": it is "Your flight is booked: KQ311."; '
            "only upper and lower case differ",
            id="contains",
        ),
        pytest.param(
            reply(MATCHES, "^KQ"),
            'the reply does not match "^KQ": it is "Your flight is booked: KQ311."',
            id="matches",
        ),
        pytest.param(
            reply(EQUALS, "Your flight is booked: KQ312."),
            'the reply is "Your flight is booked: KQ311.", not "Your flight is booked: KQ312."',
            id="equals",
        ),
        pytest.param(
            reply(EQUALS, "Your flight is\u00a0booked: KQ311."),
            'the reply is "Your flight is booked: KQ311.", not '
            '"Your flight is\\u00a0booked: KQ311." (character 15: U+0020 SPACE, not U+00A0 '
            "NO-BREAK SPACE)",
            id="equals-but-for-a-blank",
        ),
        pytest.param(
            reply(CONTAINS, "flight", negated=True),
            'the reply contains "flight": "Your flight is booked: KQ311."',
            id="does-not-contain",
        ),
        pytest.param(
            reply(MATCHES, "KQ", negated=True),
            'the reply matches "KQ": it is "Your flight is booked: KQ311."',
            id="does-not-match",
        ),
        pytest.param(
            reply(EQUALS, "Your flight is booked: KQ311.", negated=True),
            'the reply equals "Your flight is booked: KQ311."',
            id="does-not-equal",
        ),
    ],
)
def test_a_failure_shows_the_reply(assertion: AssertReply, message: str) -> None:
    assert failure(SEEN, assertion).message == message


def test_a_forbidden_text_is_shown_where_it_stands() -> None:
    seen = trajectory(text="x" * 5000 + " secret " + "y" * 5000)
    message = failure(seen, reply(CONTAINS, "secret", negated=True)).message
    assert "x secret y" in message and len(message) < 400


def test_a_side_conversation_has_no_say_in_either_order() -> None:
    main = (
        turn(1, call("book"), system="You book flights."),
        turn(3, text="booked", system="You book flights."),
    )
    title = turn(2, text="Flight to Nairobi", system="Name this session.")
    for turns in ((*main, title), (title, *main), (main[0], title, main[1])):
        assert passed(Trajectory(turns), reply(EQUALS, "booked")) == [True]


def test_of_two_conversations_as_long_the_one_with_more_text_is_meant() -> None:
    main = turn(1, text="booked", system="You book flights.", request_text=900)
    title = turn(2, text="Flight to Nairobi", system="Name this session.", request_text=80)
    for turns in ((main, title), (title, main)):
        assert passed(Trajectory(turns), reply(EQUALS, "booked")) == [True]


def test_two_conversations_alike_in_size_are_told_apart_the_same_way_in_either_order() -> None:
    one = turn(1, text="one", system="A")
    two = turn(2, text="two", system="B")
    assert Trajectory((one, two)).reply() == Trajectory((two, one)).reply()


ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT, ANY_TEXT.filter(bool), st.booleans())
def test_no_reply_makes_an_assertion_raise(said: str, wanted: str, negated: bool) -> None:
    seen = trajectory(text=said)
    assert passed(seen, reply(CONTAINS, wanted)) == [wanted in said]
    assert passed(seen, reply(EQUALS, wanted, negated=negated)) == [(wanted == said) is not negated]
    assert passed(seen, reply(MATCHES, wanted, negated=negated))[0] in (True, False)
