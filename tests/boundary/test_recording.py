"""What of a run's exchanges makes a recording: retries dropped, failures told, order kept."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from flowproof.boundary.recording import Exchange, Recording
from flowproof.model.jsonvalue import JsonObject, parse, write
from flowproof.model.turn import Response
from tests.boundary.tools import CHAT, chat_request, pinned

FAILED = "the connection was dropped before an answer"


def exchange(
    recording: Recording,
    content: str,
    status: int | None = 200,
    *,
    failure: str | None = None,
    broken: bool = False,
    left: bool = False,
) -> Exchange:
    """One request, already answered; with neither status nor failure it is in flight."""
    opened = recording.open(CHAT, pinned(chat_request(content)), (), False)
    if status is not None and failure is None:
        opened.response = Response(status, content)
        opened.broken = broken
        opened.left = left
    opened.failure = failure
    return opened


def asked(recording: Recording, *, keep_retries: bool = False) -> list[tuple[Any, int]]:
    """What each turn says and with which status."""
    turns = recording.finish(keep_retries=keep_retries).turns
    return [(turn.response.body, turn.response.status) for turn in turns]


TRANSIENT: list[dict[str, Any]] = [
    {"status": 429},
    {"status": 500},
    {"status": 503},
    {"status": 529},
    {"failure": FAILED},
    {"broken": True},
    {"left": True},
    {"left": True, "status": 400},
]


@pytest.mark.parametrize("how", TRANSIENT, ids=str)
def test_a_transient_failure_is_dropped_if_an_equal_request_later_succeeded(
    how: dict[str, Any],
) -> None:
    recording = Recording()
    exchange(recording, "a", **how)
    exchange(recording, "a", **how)
    exchange(recording, "a")
    recorded = recording.finish(keep_retries=False)
    assert asked(recording) == [("a", 200)]
    assert recorded.retries_dropped == 2
    assert recorded.problems == ()


@pytest.mark.parametrize("how", TRANSIENT, ids=str)
def test_a_transient_failure_stays_if_only_another_request_succeeded(how: dict[str, Any]) -> None:
    recording = Recording()
    exchange(recording, "a")
    exchange(recording, "a", **how)
    exchange(recording, "b")
    recorded = recording.finish(keep_retries=False)
    assert recorded.retries_dropped == 0
    assert len(recorded.turns) + len(recorded.problems) == 3
    if "failure" in how:
        assert recorded.problems == (f"model request 2 has no answer: {FAILED}",)


@pytest.mark.parametrize("status", [301, 400, 401, 404, 408, 409, 422])
def test_other_failures_are_turns(status: int) -> None:
    recording = Recording()
    exchange(recording, "a", status)
    exchange(recording, "a")
    assert asked(recording) == [("a", status), ("a", 200)]


@pytest.mark.parametrize("status", [302, 400, 401, 500])
def test_a_retry_that_did_not_succeed_excuses_nothing(status: int) -> None:
    recording = Recording()
    exchange(recording, "a", 429)
    exchange(recording, "a", status)
    recorded = recording.finish(keep_retries=False)
    assert recorded.retries_dropped == 0
    assert asked(recording) == [("a", 429), ("a", status)]


def test_keep_retries_keeps_every_complete_answer() -> None:
    recording = Recording()
    exchange(recording, "a", 429)
    exchange(recording, "a", failure=FAILED)
    exchange(recording, "a", broken=True)
    exchange(recording, "a")
    recorded = recording.finish(keep_retries=True)
    assert asked(recording, keep_retries=True) == [("a", 429), ("a", 200), ("a", 200)]
    assert recorded.retries_dropped == 1
    assert recorded.problems == ()


def test_what_is_still_in_flight_is_counted_and_named() -> None:
    recording = Recording()
    first = exchange(recording, "a", None)
    exchange(recording, "b", None)
    assert recording.in_flight == 2
    first.response = Response(200, "a")
    assert recording.in_flight == 1
    recorded = recording.finish(keep_retries=False)
    assert recorded.problems == (
        "model request 2 has no answer: it was still unanswered when the agent ended",
    )
    assert [turn.response.body for turn in recorded.turns] == ["a"]


def test_turns_stand_in_the_order_of_their_requests_not_of_their_answers() -> None:
    recording = Recording()
    opened = [exchange(recording, name, None) for name in "abc"]
    for one in reversed(opened):
        one.response = Response(200, one.number)
    assert [turn.response.body for turn in recording.finish(keep_retries=False).turns] == [1, 2, 3]


def test_a_turn_says_how_it_was_asked() -> None:
    recording = Recording()
    opened = recording.open(CHAT, pinned(chat_request()), ("search",), True)
    opened.response = Response(200, None)
    (turn,) = recording.finish(keep_retries=False).turns
    assert (turn.operation, turn.mocked, turn.streamed) == (CHAT, ("search",), True)
    assert turn.request == pinned(chat_request())


def conversation(name: str, messages: int, size: int) -> JsonObject:
    """A fresh copy of the n-th request of a conversation."""
    text = write(
        {
            "model": "m",
            "tools": [{"name": "t", "description": "d" * size}],
            "messages": [
                {"role": "user", "content": f"{name} {n} " + "x" * size} for n in range(messages)
            ],
        }
    )
    return pinned(parse(text))


@pytest.mark.parametrize("agents", [1, 4], ids=["one agent", "four agents taking turns"])
def test_memory_grows_with_the_conversation_not_with_its_square(agents: int) -> None:
    turns, size = 240 // agents, 1000
    tracemalloc.start()
    recording = Recording()
    for n in range(turns):
        for agent in range(agents):
            recording.open(CHAT, conversation(f"agent {agent}", n + 1, size), (), False)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Each message once would be 0.3 MB; every request on its own would be 30 MB and 7 MB.
    assert used < 2_000_000
    last = recording.exchanges[-1].request
    assert last == conversation(f"agent {agents - 1}", turns, size)


def test_sharing_never_changes_what_is_recorded() -> None:
    values: list[Any] = [1, 1.0, True, "1", None, [], {}, [1], [1.0], [True], {"a": 1}, {"a": True}]
    recording = Recording()
    for value in values:
        recording.open(CHAT, {"messages": [value], "seed": value}, (), False)
    kept = [write(one.request) for one in recording.exchanges]
    assert kept == [write({"messages": [value], "seed": value}) for value in values]
    assert recording.finish(keep_retries=False).retries_dropped == 0


def test_an_attempt_whose_client_had_left_is_no_success() -> None:
    recording = Recording()
    exchange(recording, "a", 429)
    exchange(recording, "a", left=True)
    assert asked(recording) == [("a", 429), ("a", 200)]
    exchange(recording, "a")
    assert recording.finish(keep_retries=False).retries_dropped == 2
    assert asked(recording, keep_retries=True) == [("a", 429), ("a", 200), ("a", 200)]


@pytest.mark.parametrize("keep", [False, True], ids=["drop", "keep"])
def test_what_is_not_understood_is_a_problem_whatever_came_later(keep: bool) -> None:
    recording = Recording()
    exchange(recording, "a", 500).unread = "it is odd"
    exchange(recording, "a")
    recorded = recording.finish(keep_retries=keep)
    assert recorded.problems == ("model request 1 cannot be recorded: it is odd",)
    assert (len(recorded.turns), recorded.retries_dropped) == (1, 0)
