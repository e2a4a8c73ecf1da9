"""What `flowproof show` prints of a recorded conversation."""

from __future__ import annotations

from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView
from flowproof.report.trajectory_text import trajectory_text

SYSTEM = Message("system", "Be brief.")
CALL = ToolCall("call_1", "look", '{"at":"Oslo"}', {"at": "Oslo"})


def turn(number: int, *added: Message, base: int | None = None, **more: object) -> TurnView:
    values: dict[str, object] = {
        "number": number,
        "dialect": "openai.chat",
        "model": "m",
        "system": "Be brief.",
        "base": base,
        "kept": 0,
        "added": added,
        "request_text": 0,
        "tools": ("look",),
        "status": 200,
        "answers": (Message("assistant", "Fine."),),
    }
    return TurnView(**{**values, **more})  # type: ignore[arg-type]


def test_a_conversation_reads_from_top_to_bottom() -> None:
    asks = turn(
        1, SYSTEM, Message("user", "Weather?"), answers=(Message("assistant", None, (CALL,)),)
    )
    told = Message("tool", "rain", call_id="call_1", tool="look")
    goes_on = turn(2, told, base=1, kept=3, continues=True, tools=("book",), mocked=("look",))
    assert trajectory_text(Trajectory((asks, goes_on))).splitlines() == [
        "turn 1  (openai.chat; m)",
        "  offers look",
        "  system: Be brief.",
        "  user: Weather?",
        "  assistant:",
        '    → look({"at":"Oslo"})',
        "",
        "turn 2  (openai.chat; m; mocked: look)",
        "  continues turn 1 after 3 messages",
        "  offers book",
        "  no longer offers look",
        "  tool (look): rain",
        "  assistant: Fine.",
    ]


def test_other_conversations_and_repeats_are_told_apart() -> None:
    first = turn(1, SYSTEM, Message("user", "a"))
    other = turn(2, Message("user", "b"), base=1, kept=1)
    again = turn(3, base=1, kept=2, continues=True)
    text = trajectory_text(Trajectory((first, other, again)))
    assert "  has the instructions of turn 1\n  user: b" in text
    assert "  repeats the request of turn 1 (2 messages)" in text


def test_errors_and_unreadable_answers_are_marked() -> None:
    refused = turn(1, SYSTEM, status=429, answers=())
    broken = turn(2, SYSTEM, answers=())
    text = trajectory_text(Trajectory((refused, broken)))
    assert "status 429" in text
    assert text.count("an answer that cannot be read") == 1


def test_hostile_texts_cannot_drive_a_terminal() -> None:
    text = trajectory_text(Trajectory((turn(1, Message("user", "a\x1b[31m\u202e\rb")),)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\r" not in text


def test_what_the_provider_runs_is_told_apart() -> None:
    ran = ToolCall("ws_1", "web_search", '{"query":"q"}', {"query": "q"}, served=True)
    both = Message("assistant", "4 degrees.", (ran, CALL))
    offers = turn(1, tools=("look", "web_search"), served=("web_search",), answers=(both,))
    fewer = turn(2, base=1, kept=0, tools=("look",))
    lines = trajectory_text(Trajectory((offers, fewer))).splitlines()
    assert lines[1] == "  offers look, web_search (run by the provider)"
    assert lines[3:5] == [
        '    → web_search({"query":"q"}) (run by the provider)',
        '    → look({"at":"Oslo"})',
    ]
    assert "  no longer offers web_search (run by the provider)" in lines
