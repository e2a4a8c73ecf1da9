"""Which conversation a flow is about, and what its reply is."""

from __future__ import annotations

from itertools import permutations

import pytest

from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView

CALL = ToolCall("call_1", "search", "{}", {})


def said(text: str | None, *calls: ToolCall) -> Message:
    return Message("assistant", text, calls)


def turn(
    number: int, *answers: Message, system: str = "main", text: int = 10, status: int = 200
) -> TurnView:
    return TurnView(
        number=number,
        dialect="openai.chat",
        model="m",
        system=system,
        base=None,
        kept=0,
        added=(),
        request_text=text,
        tools=("search",),
        status=status,
        answers=answers,
    )


def test_without_turns_nothing_was_said() -> None:
    empty = Trajectory(())
    assert empty.conversation() == ()
    assert empty.reply() is None
    assert list(empty.calls()) == []


@pytest.mark.parametrize(
    ("answers", "status", "reply"),
    [
        pytest.param((said("done"),), 200, "done", id="a text"),
        pytest.param((said(""),), 200, "", id="an empty text"),
        pytest.param((said(None),), 200, None, id="no text"),
        pytest.param((said(None, CALL),), 200, None, id="a tool call"),
        pytest.param((said("I will look", CALL),), 200, None, id="a text beside a tool call"),
        pytest.param((), 500, None, id="an error"),
        pytest.param((said("first"), said("second")), 200, "first", id="several choices"),
    ],
)
def test_the_reply_is_the_last_answer(
    answers: tuple[Message, ...], status: int, reply: str | None
) -> None:
    trajectory = Trajectory((turn(1, said("earlier")), turn(2, *answers, status=status)))
    assert trajectory.reply() == reply


def test_the_conversation_with_the_most_turns_counts() -> None:
    title = turn(3, said("A title"), system="titles", text=10_000)
    main = (turn(1, said(None, CALL)), turn(2, said("Booked.")))
    assert Trajectory((*main, title)).reply() == "Booked."
    assert Trajectory((*main, title)).conversation() == main


def test_then_the_one_with_the_most_text() -> None:
    short = turn(1, said("A title"), system="titles", text=9)
    long = turn(2, said("Booked."), text=10)
    assert Trajectory((short, long)).reply() == "Booked."
    assert Trajectory((long, short)).reply() == "Booked."


def test_the_order_of_arrival_never_decides() -> None:
    turns = (
        turn(1, said("a"), system="a"),
        turn(2, said("b"), system="b"),
        turn(3, said("c"), system=""),
    )
    assert {Trajectory(order).reply() for order in permutations(turns)} == {"b"}


def test_calls_of_all_conversations_and_choices_are_listed_in_order() -> None:
    other = ToolCall("call_2", "book", "{}", {})
    trajectory = Trajectory(
        (turn(1, said(None, CALL), said(None, other)), turn(2, said(None, CALL), system="b"))
    )
    assert [(placed.turn, placed.call.name) for placed in trajectory.calls()] == [
        (1, "search"),
        (1, "book"),
        (2, "search"),
    ]
    assert trajectory.offered_tools() == {"search"}
