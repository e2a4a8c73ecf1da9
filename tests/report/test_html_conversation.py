"""The trajectory on a page: turns by conversation, each call with its result, texts bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView
from flowproof.report.html_body import BODY_LIMIT, HEAD, Room
from flowproof.report.html_conversation import MOST_TURNS, MessageShown, TalksShown, talks_shown
from tests.report.fixtures import booking_trajectory, tool_call


def shown(*turns: TurnView, room: Room | None = None) -> TalksShown:
    return talks_shown(Trajectory(turns), room or Room(), {})


def messages(*turns: TurnView) -> list[list[MessageShown]]:
    return [list(turn.messages) for talk in shown(*turns).talks for turn in talk.turns]


def asks(*calls: ToolCall) -> Message:
    return Message("assistant", None, calls)


def answers(text: str, call_id: str | None = None, tool: str | None = None) -> Message:
    return Message("tool", text, call_id=call_id, tool=tool)


def turn(
    number: int, *added: Message, answer: Message | None = None, base: int | None = None
) -> TurnView:
    answered = () if answer is None else (answer,)
    return TurnView(
        number, "d", "m", "", base, 0, added, 0, (), 200, answered, continues=base is not None
    )


def results(turns: Sequence[TurnView]) -> list[tuple[str, str | None]]:
    """Every call on the page with the text of its result."""
    return [
        (call.id or call.name, call.result.body.text if call.result and call.result.body else None)
        for turn in messages(*turns)
        for message in turn
        for call in message.calls
    ]


def alone(turns: Sequence[TurnView]) -> list[str]:
    """The texts of results that stand by themselves."""
    return [
        message.result.body.text
        for turn in messages(*turns)
        for message in turn
        if message.result and message.result.body
    ]


def test_a_call_and_its_result_stand_together() -> None:
    [talk] = shown(*booking_trajectory().turns).talks
    first, second = talk.turns
    [call] = first.messages[-1].calls
    assert call.arguments.text.splitlines()[1] == '  "from": "NBO",'
    assert '"max": 1.10' in call.arguments.text
    assert call.result is not None
    assert call.result.mocked
    assert call.result.turn == 2
    assert call.result.body is not None
    assert '"price": 412.50' in call.result.body.text
    # The request that told the result says so, and repeats neither it nor the answer before.
    assert second.results_of == (1,)
    assert [message.label for message in second.messages] == ["Assistant"]


CALLS = asks(tool_call("a", 1, "c1"), tool_call("b", 2, "c2"))
NAMELESS = asks(*(replace(tool_call("a", n), id=None) for n in (1, 2)))


@pytest.mark.parametrize(
    ("turns", "paired", "single"),
    [
        pytest.param(
            (
                turn(1, answer=CALLS),
                turn(2, CALLS, answers("two", "c2"), answers("one", "c1"), base=1),
            ),
            [("c1", "one"), ("c2", "two")],
            [],
            id="by-id-in-any-order",
        ),
        pytest.param(
            (
                turn(1, answer=NAMELESS),
                turn(2, NAMELESS, answers("one", None, "a"), answers("two", None, "a"), base=1),
            ),
            [("a", "one"), ("a", "two")],
            [],
            id="by-name-in-order",
        ),
        pytest.param(
            (turn(1, Message("user", "go"), CALLS, answers("one", "c1")),),
            [("c1", "one"), ("c2", None)],
            [],
            id="told-in-the-first-request",
        ),
        pytest.param(
            (
                turn(1, answer=CALLS),
                turn(2, CALLS, answers("one", "c1"), base=1),
                turn(3, answers("two", "c2"), base=2),
            ),
            [("c1", "one"), ("c2", "two")],
            [],
            id="in-a-later-request",
        ),
        pytest.param(
            (
                turn(1, answer=CALLS),
                turn(2, CALLS, answers("one", "c1"), base=1),
                turn(3, CALLS, answers("other", "c1"), base=1),
            ),
            [("c1", "one"), ("c2", None)],
            ["other"],
            id="a-second-result-stands-alone",
        ),
        pytest.param(
            (turn(1, answer=CALLS), turn(2, answers("one", "c1"))),
            [("c1", None), ("c2", None)],
            ["one"],
            id="never-across-conversations",
        ),
    ],
)
def test_results_find_their_calls(
    turns: Sequence[TurnView], paired: list[tuple[str, str | None]], single: list[str]
) -> None:
    assert results(turns) == paired
    assert alone(turns) == single


def test_a_mock_is_marked_where_the_author_wrote_the_result() -> None:
    told = replace(turn(2, CALLS, answers("x", "c1", "a"), base=1), mocked=("a",))
    mocked = [
        call.result.mocked
        for message in messages(turn(1, answer=CALLS), told)[0]
        for call in message.calls
        if call.result
    ]
    assert mocked == [True]


def test_an_answer_that_the_agent_changed_is_shown_again() -> None:
    first, second = booking_trajectory().turns
    altered = asks(tool_call("search_flights", {"from": "LHR"}))
    [_, then] = messages(first, replace(second, added=(altered, *second.added[1:])))
    assert then[0].note == "sent by the agent"


def test_what_the_provider_ran_is_told_and_is_no_change_of_the_answer() -> None:
    first, second = booking_trajectory().turns
    served = replace(tool_call("google_search", {"q": "x"}), served=True)
    [answer] = first.answers
    first = replace(first, answers=(replace(answer, tool_calls=(served, *answer.tool_calls)),))
    [[*_, said], then] = messages(first, second)
    assert [(call.name, call.served) for call in said.calls] == [
        ("google_search", True),
        ("search_flights", False),
    ]
    assert [call.result is not None for call in said.calls] == [False, True]
    assert all(message.note != "sent by the agent" for message in then)
    untold = replace(served, text="", arguments=None, malformed=True)
    first = replace(first, answers=(asks(untold),))
    [[*_, said]] = messages(first)
    assert said.calls[0].problem == "these arguments are not told by the provider"


def test_a_system_text_outside_the_messages_is_shown_where_it_changes() -> None:
    first, second = booking_trajectory().turns
    first = replace(first, added=first.added[1:])
    same = messages(first, second)
    assert [[message.role for message in turn] for turn in same] == [
        ["system", "user", "assistant"],
        ["assistant"],
    ]
    [_, changed] = messages(first, replace(second, system="Be brief."))
    assert changed[0].body is not None
    assert changed[0].body.text == "Be brief."


def test_conversations_are_told_apart() -> None:
    first, second = booking_trajectory().turns
    title = turn(2, Message("user", "a title?"), answer=Message("assistant", "Flights"))
    view = shown(first, title, replace(second, number=3), replace(title, number=4, base=2))
    assert [[one.number for one in talk.turns] for talk in view.talks] == [[1, 3], [2], [4]]
    assert [talk.main for talk in view.talks] == [True, False, False]
    assert "has the instructions of turn 2" in view.talks[2].turns[0].facts
    [only] = shown(first, second).talks
    assert not only.main
    fork = replace(second, number=3)
    [talk] = shown(first, second, fork).talks
    assert "continues turn 1" in talk.turns[2].facts
    assert "continues turn 1" not in talk.turns[1].facts


def test_tokens_add_up_and_say_when_some_are_missing() -> None:
    first, second = booking_trajectory().turns
    assert shown(first, second).summary == "2 turns, 479 tokens in, 55 out"
    assert (
        shown(first, replace(second, tokens=None)).summary
        == "2 turns, 211 tokens in, 24 out, as 1 of them tell"
    )
    assert shown(replace(first, tokens=None)).summary == "1 turn"


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param(429, "The model’s API answered with status 429.", id="an-error"),
        pytest.param(200, "The answer cannot be read.", id="unreadable"),
    ],
)
def test_a_turn_without_an_answer_says_why(status: int, says: str) -> None:
    [talk] = shown(replace(turn(1), status=status)).talks
    assert talk.turns[0].problem == says


def test_long_texts_fold_and_very_long_ones_are_cut() -> None:
    def body(text: str) -> tuple[bool, str, int]:
        [[message]] = messages(turn(1, Message("user", text)))
        assert message.body is not None
        return message.body.folded, message.body.size, len(message.body.text)

    assert body("x" * 2_000) == (False, "", 2_000)
    assert body("x" * 2_001) == (True, "2,001 characters", 2_001)
    assert body("x\n" * 19 + "x") == (False, "", 39)
    assert body("x\n" * 20 + "x") == (True, "41 characters, 21 lines", 41)
    folded, size, length = body("x" * 1_000_000)
    assert (folded, size) == (True, "1,000,000 characters")
    assert length < BODY_LIMIT + 200


def test_where_a_page_has_no_room_texts_are_cut_to_their_heads() -> None:
    turns = [turn(n, Message("user", f'"{n}"' + "x" * 50_000)) for n in range(1, 300)]
    view = shown(*turns)
    texts = [one.messages[0].body for talk in view.talks for one in talk.turns]
    lengths = [len(body.text) for body in texts if body]
    assert lengths[0] > 50_000
    assert lengths[-1] < HEAD + 100
    assert sum(lengths) < 8_100_000
    last = texts[-1]
    assert last is not None
    assert "characters more; the run record has the whole text …]" in last.text
    # A page of quotation marks is five times as long in HTML.
    room = Room(text=10_000)
    assert len(room.prose('"' * 3_000).text) < HEAD + 100
    assert room.prose("short").text == "short"


def test_turns_and_messages_without_room_are_counted() -> None:
    many = [turn(n) for n in range(1, MOST_TURNS + 4)]
    assert shown(*many).left_out == 3
    crowded = turn(1, *(Message("user", "hi") for _ in range(30_000)))
    [talk] = shown(crowded).talks
    assert len(talk.turns[0].messages) + talk.turns[0].left_out == 30_000
    assert talk.turns[0].left_out == 10_000
    wide = turn(1, answer=asks(*(tool_call("a", n, f"c{n}") for n in range(30_000))))
    [talk] = shown(wide).talks
    assert talk.turns[0].left_out == 1


def test_turns_of_a_record_that_was_made_up_do_no_harm() -> None:
    view = shown(turn(1, base=7), turn(1, base=1), turn(-5, base=-5))
    anchors = [one.anchor for talk in view.talks for one in talk.turns]
    assert sorted(anchors) == ["", "turn--5", "turn-1"]
