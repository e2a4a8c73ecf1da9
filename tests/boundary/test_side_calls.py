"""Recorded side calls, served and missed, without a socket."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.boundary.side_calls import SideCalls
from flowproof.boundary.side_lookup import Lookup
from flowproof.boundary.side_recording import SideRecorded, SideRecording
from flowproof.dialects.side_endpoints import SideRoute, route
from flowproof.model.jsonvalue import parse, same, write
from flowproof.model.outcome import Divergence
from flowproof.model.turn import Response, SideCall
from tests.boundary.tools import pinned
from tests.trace.samples import values

CUT = "the connection was dropped"


def at(method: str, path: str, query: str = "") -> SideRoute:
    found = route(method, path, query, ())
    assert found is not None
    return found


EMBED = at("POST", "/v1/embeddings")
MODELS = at("GET", "/v1/models")
SHOW = at("POST", "/api/show")


def body(text: Any = "a", **more: Any) -> Any:
    return pinned({"model": "small", "input": text, **more})


def call(where: SideRoute, asks: Any = None, answer: Any = 1, status: int = 200) -> SideCall:
    return SideCall(where.operation, where.endpoint.method, asks, Response(status, answer))


def missed(calls: SideCalls, where: SideRoute, asks: Any = None) -> Divergence:
    assert calls.find(where, asks) is None
    return calls.miss(where, asks)


def test_an_equal_request_is_served_again() -> None:
    calls = SideCalls([call(EMBED, body("a"), 1), call(EMBED, body("b"), 2)])
    for text, answer in (("b", 2), ("a", 1), ("b", 2)):
        found = calls.find(EMBED, body(text))
        assert found is not None
        assert found.response.body == answer
    assert (calls.requests, len(calls.served), calls.missing) == (3, 2, ())


def test_key_order_is_no_change_and_the_text_of_a_number_is() -> None:
    calls = SideCalls([call(EMBED, pinned({"a": 1, "b": 2}))])
    assert calls.find(EMBED, pinned({"b": 2, "a": 1})) is not None
    for other in (1.0, "1", True):
        assert calls.find(EMBED, pinned({"a": other, "b": 2})) is None


def test_a_pinned_call_that_is_never_made_is_named_and_a_free_one_is_not() -> None:
    calls = SideCalls([call(MODELS), call(EMBED, body("a")), call(SHOW, pinned({"model": "x"}))])
    assert calls.missing == ("2 (openai.embeddings)",)
    calls.find(EMBED, body("a"))
    assert not calls.missing


@pytest.mark.parametrize(
    ("sent", "kind", "path", "says"),
    [
        pytest.param(body("c"), "input", "$.input", '+ "c"', id="text"),
        pytest.param(body(["a", "b"]), "input", "$.input", "+ [", id="list"),
        pytest.param(body("a", dimensions=3), "dimensions", "$.dimensions", "+ 3", id="more"),
        pytest.param(pinned({"input": "a"}), "model", "$.model", "+ (absent)", id="less"),
        pytest.param(
            pinned({"model": "large", "input": "c"}),
            *("model", "$.model", "also different: $.input"),
            id="both",
        ),
    ],
)
def test_a_changed_request_names_its_path(sent: Any, kind: str, path: str, says: str) -> None:
    found = missed(SideCalls([call(MODELS), call(EMBED, body("a"))]), EMBED, sent)
    assert (found.kind, found.path, found.request, found.turn) == (kind, path, 1, None)
    assert "side call 1 (openai.embeddings) differs from recorded side call 2" in found.message
    assert says in str(found)


def test_a_place_inside_a_list_is_named() -> None:
    calls = SideCalls([call(EMBED, body(["a", "b", "c"]))])
    assert missed(calls, EMBED, body(["a", "x", "c"])).path == "$.input[1]"


def test_the_nearest_is_one_that_was_not_asked_for_yet() -> None:
    calls = SideCalls([call(EMBED, body("a")), call(EMBED, body("b"))])
    calls.find(EMBED, body("a"))
    found = missed(calls, EMBED, body("c"))
    assert "differs from recorded side call 2" in found.message
    assert (found.request, calls.requests) == (2, 2)


def test_of_several_the_most_similar_is_compared_and_their_number_said() -> None:
    texts = ("How is the weather in Oslo?", "Who wrote Faust?", "Invoice number 4711, paid late")
    calls = SideCalls([call(MODELS), *(call(EMBED, body(text)) for text in texts)])
    calls.find(EMBED, body(texts[1]))
    found = missed(calls, EMBED, body("Who wrote Hamlet?"))
    assert found.message == (
        "side call 2 (openai.embeddings) is not among the 3 recorded, and differs from recorded "
        "side call 3, the nearest, in its input, at $.input"
    )
    # What it differs in most of all comes first: another model is another call.
    other = missed(calls, EMBED, pinned({"model": "large", "input": texts[2]}))
    assert (other.kind, "recorded side call 4" in other.message) == ("model", True)


def test_the_nearest_of_very_many_is_found_soon() -> None:
    texts = [f"{'passage ' * 200}{at}" for at in range(2000)]
    calls = SideCalls([call(EMBED, body(text)) for text in texts])
    before = time.monotonic()
    assert "2000 recorded" in missed(calls, EMBED, body("else")).message
    assert time.monotonic() - before < 2.0


COUNT = at("POST", "/v1/messages/count_tokens")
COUNT_GOOGLE = at("POST", "/v1beta/models/g:countTokens")
COUNT_OPENAI = at("POST", "/v1/responses/input_tokens")
SAID: Any = {"role": "user", "content": "Hi"}
PARTS: Any = {"role": "user", "parts": [{"text": "Hi"}]}


@pytest.mark.parametrize(
    ("where", "recorded", "sent", "kind", "path"),
    [
        pytest.param(
            COUNT,
            {"model": "m", "system": "a", "messages": [SAID]},
            {"model": "m", "system": "b", "messages": [SAID]},
            *("system text", "$.system"),
            id="instructions",
        ),
        pytest.param(
            COUNT,
            {"model": "m", "messages": [SAID]},
            {"model": "n", "messages": [SAID]},
            *("model", "$.model"),
            id="model",
        ),
        pytest.param(
            COUNT_GOOGLE,
            {"contents": [PARTS]},
            {"contents": [PARTS | {"parts": [{"text": "Ho"}]}]},
            *("user text", "$.contents[0].parts[0].text"),
            id="Gemini text",
        ),
        pytest.param(
            COUNT_OPENAI,
            {"model": "m", "input": "a"},
            {"model": "m", "input": "b"},
            *("user text", "$.input"),
            id="Responses text",
        ),
        pytest.param(COUNT, None, {"messages": [SAID]}, "messages", "$", id="no body"),
    ],
)
def test_a_count_of_tokens_changes_as_a_turn_does(
    where: SideRoute, recorded: Any, sent: Any, kind: str, path: str
) -> None:
    found = missed(SideCalls([call(where, recorded)]), where, sent)
    assert (found.kind, found.path) == (kind, path)


def test_a_count_of_more_messages_says_how_many() -> None:
    calls = SideCalls([call(COUNT, {"model": "m", "messages": [SAID]})])
    found = missed(calls, COUNT, {"model": "m", "messages": [SAID, SAID, SAID]})
    assert "in its message roles, at $.messages[1] (1 message recorded, 3 sent)" in found.message


@pytest.mark.parametrize("name", ["gemini-2", "m"], ids=["a long name", "one that is in the path"])
def test_another_model_in_a_path_is_a_change_of_the_model(name: str) -> None:
    recorded = at("POST", f"/v1beta/models/{name}:embedContent")
    sent = at("POST", "/v1beta/models/other:embedContent")
    asks: Any = {"content": {"parts": [{"text": "a"}]}}
    found = missed(SideCalls([call(recorded, asks)]), sent, asks)
    assert (found.kind, found.path) == ("model", "the request path")
    assert [line.text for line in found.excerpt] == [f'"{name}"', '"other"']


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        pytest.param(
            at("GET", "/v1/models", "limit=20"),
            at("GET", "/v1/models", "limit=20&after=m"),
            id="another page",
        ),
        pytest.param(
            at("POST", "/v1beta/models/m:embedContent"),
            at("POST", "/v1beta/models/m:batchEmbedContents"),
            id="another method",
        ),
    ],
)
def test_any_other_change_of_a_path_is_one_of_the_path(
    recorded: SideRoute, sent: SideRoute
) -> None:
    found = missed(SideCalls([call(recorded)]), sent)
    assert (found.kind, found.path) == ("path", "the request path")
    assert any(mark in str(found) for mark in ("after=m", "batchEmbedContents"))


@pytest.mark.parametrize("where", [MODELS, EMBED, SHOW], ids=["get", "pinned", "free"])
def test_what_was_not_recorded_at_all_is_said_to_be_so(where: SideRoute) -> None:
    other = call(at("GET", "/api/tags"))
    asks = body() if where.endpoint.method == "POST" else None
    found = missed(SideCalls([other]), where, asks)
    assert found.kind == "side call"
    assert f"asks for {where.operation.path}" in found.message
    assert "holds no call of that kind" in found.message


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists), st.booleans())
def test_any_recorded_value_can_be_compared(value: Any, absent: bool) -> None:
    recorded = None if absent else {"input": value}
    calls = SideCalls([call(EMBED, recorded), call(EMBED, recorded)])
    missed(calls, EMBED, {"x": value})
    assert len(calls.missing) == 1


def ends(recording: SideRecording, where: SideRoute, asks: Any, *how: Any) -> SideRecorded:
    """Equal requests, one after another, each ended by a status or by no answer."""
    for number, end in enumerate(how):
        exchange = recording.open(where, asks)
        if isinstance(end, int):
            exchange.response = Response(end, number)
        else:
            exchange.failure = end
    return recording.finish()


# What equal requests ended in; then which answer is kept, and how many failures are dropped.
PINNED: dict[str, tuple[list[Any], int, int]] = {
    "one": ([200], 0, 0),
    "the first of two": ([200, 200], 0, 0),
    "after a limit": ([429, 500, 200], 2, 2),
    "after no answer": ([CUT, 200], 1, 1),
    "a refusal": ([404], 0, 0),
    "a refusal after a limit": ([429, 400], 1, 1),
    "the last limit": ([429, 503], 1, 0),
    "before a failure": ([200, 503], 0, 1),
}
FREE: dict[str, tuple[list[Any], int, int]] = {
    "the latest": ([200, 200], 1, 0),
    "the latest success": ([200, 404, 503, CUT], 0, 2),
    "a refusal": ([404, 404], 1, 0),
    "the last limit": ([503, 429], 1, 0),
    "after a refusal": ([404, 200], 1, 0),
}


@pytest.mark.parametrize(("how", "kept", "dropped"), PINNED.values(), ids=PINNED)
def test_which_answer_to_a_pinned_request_is_kept(how: list[Any], kept: int, dropped: int) -> None:
    recorded = ends(SideRecording(), EMBED, body(), *how)
    assert [one.response.body for one in recorded.calls] == [kept]
    assert (recorded.retries_dropped, recorded.problems) == (dropped, ())


@pytest.mark.parametrize(("how", "kept", "dropped"), FREE.values(), ids=FREE)
def test_which_answer_to_a_free_request_is_kept(how: list[Any], kept: int, dropped: int) -> None:
    recorded = ends(SideRecording(), MODELS, None, *how)
    assert [(one.request, one.response.body) for one in recorded.calls] == [(None, kept)]
    assert (recorded.retries_dropped, recorded.problems) == (dropped, ())


@pytest.mark.parametrize("how", [[CUT], [429, CUT], [None]], ids=["cut", "at last", "in flight"])
def test_a_request_without_an_answer_is_a_problem(how: list[Any]) -> None:
    recorded = ends(SideRecording(), EMBED, body(), *how)
    assert recorded.calls == ()
    (problem,) = recorded.problems
    assert "(openai.embeddings) has no answer: " in problem
    assert problem.endswith(how[-1] or "when the agent ended")


def test_only_a_pinned_request_that_was_answered_is_not_asked_again() -> None:
    recording = SideRecording()
    exchange = recording.open(EMBED, body())
    assert recording.answered(EMBED, body()) is None
    exchange.response = Response(503, 0)
    assert recording.answered(EMBED, body()) is None
    exchange.response = Response(200, 0)
    assert recording.answered(EMBED, body()) is exchange.response
    assert recording.answered(EMBED, body("b")) is None
    recording.open(MODELS, None).response = Response(200, 1)
    assert recording.answered(MODELS, None) is None
    assert (recording.requests, len(recording.exchanges), recording.in_flight) == (3, 2, 0)


def test_a_conversation_that_is_counted_again_and_again_is_held_once() -> None:
    count = at("POST", "/v1/messages/count_tokens")
    recording, said = SideRecording(), [{"role": "user", "content": f"{n}"} for n in range(50)]
    for length in range(1, 51):
        recording.open(count, pinned({"messages": said[:length]})).response = Response(200, 1)
    messages = [one.body["messages"] for one in recording.exchanges if one.body is not None]
    held = {id(message) for each in messages if isinstance(each, list) for message in each}
    assert len(held) == 50


@given(values, values)
def test_a_lookup_tells_json_values_apart(one: Any, other: Any) -> None:
    lookup: Lookup[int] = Lookup()
    lookup.add(EMBED.operation, one, 1)
    assert lookup.get(EMBED.operation, parse(write(one))) == 1
    assert lookup.get(MODELS.operation, one) is None
    assert (lookup.get(EMBED.operation, other) == 1) is same(one, other)


def test_a_long_conversation_that_is_counted_at_each_step_is_served_fast() -> None:
    count = at("POST", "/v1/messages/count_tokens")
    said: list[Any] = [{"role": "user", "content": f"{n} ".ljust(1000, "x")} for n in range(1000)]
    calls = SideCalls([call(count, {"messages": said[:length]}) for length in range(1000)])
    began = time.process_time()
    for length in range(1000):
        assert calls.find(count, {"messages": said[:length]}) is not None
    assert not calls.missing
    assert time.process_time() - began < 5
