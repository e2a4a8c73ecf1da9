"""Which recorded turn answers a request, and what happens once none does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowproof.boundary.cassette import Cassette, Taken
from flowproof.boundary.legacy_view import legacy_view
from flowproof.model.jsonvalue import JsonObject, NumberText, parse
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Operation, Response, Turn
from tests.boundary.tools import BY_NAME, CHAT, chat_request, pinned, turn


def cassette(*turns: Turn) -> Cassette:
    return Cassette(turns, BY_NAME)


def served(taken: Taken | Divergence) -> Any:
    assert isinstance(taken, Taken), taken
    return taken.turn.response.body


def refused(taken: Taken | Divergence) -> Divergence:
    assert isinstance(taken, Divergence), taken
    return taken


def text(request: str) -> JsonObject:
    """A request from its JSON text, for what Python's own values cannot say."""
    found = parse(request)
    assert isinstance(found, dict)
    return found


def test_the_earliest_unconsumed_equal_turn_wins() -> None:
    same = chat_request("again")
    tape = cassette(turn(same, 1), turn(chat_request("other"), 2), turn(same, 3))
    assert served(tape.take(CHAT, pinned(same))) == 1
    assert served(tape.take(CHAT, pinned(same))) == 3
    assert [*tape.unconsumed] == [2]
    assert served(tape.take(CHAT, pinned(chat_request("other")))) == 2
    assert [*tape.unconsumed] == []
    assert tape.divergence is None
    assert tape.requests == 3
    assert [one.response.body for one in tape.consumed] == [1, 2, 3]


def test_concurrent_calls_may_arrive_in_any_order() -> None:
    requests = [chat_request(f"task {n}") for n in range(8)]
    tape = cassette(*(turn(request, n) for n, request in enumerate(requests)))
    for n in (5, 0, 7, 3, 1, 6, 2, 4):
        assert served(tape.take(CHAT, pinned(requests[n]))) == n
    assert [one.response.body for one in tape.consumed] == list(range(8))


def test_after_a_divergence_every_call_gets_the_same_one() -> None:
    known = chat_request("known")
    tape = cassette(turn(known), turn(known))
    first = refused(tape.take(CHAT, pinned(chat_request("unknown"))))
    assert refused(tape.take(CHAT, pinned(known))) is first
    assert refused(tape.reject("request body", "not JSON")) is first
    assert tape.divergence is first
    assert tape.requests == 3
    assert tape.unconsumed == (1, 2)


def test_a_request_that_cannot_be_matched_is_a_divergence_with_its_number() -> None:
    tape = cassette(turn(chat_request()))
    served(tape.take(CHAT, pinned(chat_request())))
    divergence = tape.reject("request body", "the request body is not JSON")
    assert (divergence.kind, divergence.request) == ("request body", 2)
    assert refused(tape.take(CHAT, pinned(chat_request()))) is divergence


def test_the_same_body_for_another_operation_is_no_match() -> None:
    tape = cassette(turn(chat_request()))
    divergence = refused(tape.take(Operation("openai.chat", "/other"), pinned(chat_request())))
    assert divergence.kind == "operation"
    assert "/other" in divergence.message
    assert "/chat/completions" in divergence.message


def test_key_order_is_no_change() -> None:
    tape = cassette(
        turn(chat_request("Hi", temperature=0, tools=[{"a": 1, "b": {"c": 2, "d": 3}}]))
    )
    other = text(
        '{"tools":[{"b":{"d":3,"c":2},"a":1}],"temperature":0,'
        '"messages":[{"content":"Hi","role":"user"}],"model":"gpt-4o"}'
    )
    served(tape.take(CHAT, other))


SPELLINGS = ["1", "1.0", "true", '"1"', "1e0", "1.00", "null", "-0", "0", "0.0", "-0.0", "[1]"]
SPELLINGS += ["10000000000000000000000", "1e22", "1E22", "false", '""', "[]", "{}", '"true"']


@pytest.mark.parametrize("recorded", SPELLINGS)
def test_each_spelling_matches_itself_and_no_other(recorded: str) -> None:
    request = text(f'{{"model":"m","messages":[],"seed":{recorded}}}')
    for sent in SPELLINGS:
        tape = cassette(Turn(CHAT, request, Response(200, None)))
        taken = tape.take(CHAT, text(f'{{"model":"m","messages":[],"seed":{sent}}}'))
        assert isinstance(taken, Taken) is (sent == recorded), sent
        if isinstance(taken, Divergence):
            left, right = taken.excerpt
            assert left.text != right.text
            assert taken.path is not None
            assert taken.path.startswith("$.seed")


def test_strings_are_compared_code_point_by_code_point() -> None:
    forms = ["\u00e9", "e\u0301", "\u00e9 ", "e", "\u0435", "\ud83d", "\U0001f600", "\u200be"]
    for recorded in forms:
        for sent in forms:
            tape = cassette(turn(chat_request(recorded)))
            taken = tape.take(CHAT, pinned(chat_request(sent)))
            assert isinstance(taken, Taken) is (sent == recorded)


def test_escapes_of_one_string_are_no_change() -> None:
    tape = cassette(turn(chat_request("é\n")))
    served(tape.take(CHAT, text(json.dumps(chat_request("é\n"), ensure_ascii=True))))


def test_a_number_kept_as_text_is_not_the_string_of_that_text() -> None:
    assert pinned({"a": 1}) != {"a": NumberText("1")}
    tape = cassette(Turn(CHAT, {"seed": NumberText("1.10")}, Response(200, None)))
    assert isinstance(tape.take(CHAT, {"seed": "1.10"}), Divergence)


def test_one_call_more_is_named() -> None:
    tape = cassette(turn(chat_request("a")))
    served(tape.take(CHAT, pinned(chat_request("a"))))
    divergence = refused(tape.take(CHAT, pinned(chat_request("b"))))
    assert divergence.kind == "extra call"
    assert "one model call more" in divergence.message
    assert "request 2" in divergence.message


def test_a_repeat_beyond_the_recording_is_named() -> None:
    tape = cassette(turn(chat_request("a")), turn(chat_request("a")), turn(chat_request("b")))
    for _ in range(2):
        served(tape.take(CHAT, pinned(chat_request("a"))))
    divergence = refused(tape.take(CHAT, pinned(chat_request("a"))))
    assert divergence.kind == "repeated call"
    assert divergence.turn == 1
    assert "recorded 2 times" in divergence.message
    assert "1 recorded turn is still unused" in divergence.message


def test_a_repeat_of_the_only_turn_is_an_extra_call() -> None:
    tape = cassette(turn(chat_request("a")))
    served(tape.take(CHAT, pinned(chat_request("a"))))
    divergence = refused(tape.take(CHAT, pinned(chat_request("a"))))
    assert divergence.kind == "extra call"
    assert "recorded once" in divergence.message
    assert "no recorded turn is left" in divergence.message


def test_an_empty_recording_refuses_everything() -> None:
    divergence = refused(cassette().take(CHAT, pinned(chat_request())))
    assert divergence.kind == "extra call"
    assert divergence.turn is None


def test_a_legacy_trace_pins_what_it_holds() -> None:
    held = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    sent = chat_request("Hi", temperature=0.5)
    tape = Cassette([turn(held)], BY_NAME, view=legacy_view)
    served(tape.take(CHAT, pinned(sent)))
    tape = Cassette([turn(held)], BY_NAME, view=legacy_view)
    divergence = refused(tape.take(CHAT, pinned(chat_request("Ho", temperature=0.5))))
    assert divergence.path == "$.messages[0].content"


MESSAGES = Operation("anthropic.messages", "/messages")
HELD: dict[str, Any] = {
    "model": "m",
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Book."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "So:"},
                {"type": "tool_use", "id": "c1", "name": "search", "input": {"to": "NBO"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "none"}],
        },
    ],
    "tools": ["search"],
}


def sent_now(**changes: Any) -> dict[str, Any]:
    """The same request as a client sends it today, with what such a trace does not hold."""
    body = json.loads(json.dumps(HELD))
    body["system"] = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "x"}}]
    body["messages"][0]["content"] = [{"type": "text", "text": "Book."}]
    body["messages"][2]["content"][0]["content"] = [{"type": "text", "text": "none"}]
    body["tools"] = [{"name": "search", "input_schema": {"type": "object"}}]
    return {**body, "max_tokens": 9, **changes}


def legacy_messages() -> Cassette:
    held = Turn(MESSAGES, pinned(HELD), Response(200, {}))
    return Cassette([held], BY_NAME, view=legacy_view)


def test_a_legacy_messages_trace_pins_what_it_holds() -> None:
    served(legacy_messages().take(MESSAGES, pinned(sent_now())))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        pytest.param(["system", 0, "text"], "Be long.", id="system"),
        pytest.param(["messages", 0, "content", 0, "text"], "Cook.", id="user text"),
        pytest.param(["messages", 1, "content", 0, "text"], "No:", id="assistant text"),
        pytest.param(["messages", 1, "content", 1, "input", "to"], "LHR", id="arguments"),
        pytest.param(["messages", 2, "content", 0, "content", 0, "text"], "one", id="result"),
        pytest.param(["tools", 0, "name"], "book", id="tool"),
        pytest.param(["model"], "n", id="model"),
    ],
)
def test_a_change_in_what_a_legacy_messages_trace_holds(place: list[Any], value: str) -> None:
    body: Any = sent_now()
    at = body
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    refused(legacy_messages().take(MESSAGES, pinned(body)))


def test_the_requests_given_are_left_as_they_are() -> None:
    request = pinned(chat_request("a"))
    before = json.dumps(request)
    tape = cassette(turn(chat_request("b")))
    tape.take(CHAT, request)
    assert json.dumps(request) == before
