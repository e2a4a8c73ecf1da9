"""An agent is answered from a lane with no server, and told where it leaves it."""

from __future__ import annotations

import pytest

from flowproof.boundary.mcp.interface import Hang, ToAgent
from flowproof.boundary.mcp.recording import RecordingBoundary
from flowproof.boundary.mcp.replaying import ReplayingBoundary
from flowproof.model.jsonvalue import JsonObject, JsonValue
from tests.boundary.mcp.talk import (
    INITIALIZE,
    INITIALIZED,
    Talk,
    call,
    error,
    notification,
    one_after_another,
    recording,
    replaying,
    request,
    result,
    text,
    told,
)


def contacted(boundary: ReplayingBoundary) -> bool:
    return boundary.contacted


def test_the_same_again_with_other_ids() -> None:
    boundary = replaying(one_after_another("a", "b"))
    talk = Talk(boundary)
    assert contacted(boundary) is False
    changed = {**INITIALIZE, "id": "x"}
    changed["params"] = {"clientInfo": {"name": "b"}, "protocolVersion": "2025-11-25"}
    assert told(talk.agent(changed)) == [{**INITIALIZED, "id": "x"}]
    assert contacted(boundary)
    assert boundary.unconsumed() == ("call 2: tools/call a", "call 3: tools/call b")
    assert talk.agent(call(1, "a", {"other": 1}, path="a")) == [
        ToAgent(result(1, text("a")), answers=1)
    ]
    assert told(talk.agent(call("1", "b", path="a"))) == [result("1", text("b"))]
    assert boundary.unconsumed() == ()
    assert boundary.divergence is None
    assert [one.tool for one in boundary.lane().calls] == [None, "a", "b"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(error(1, -32000, "no"), id="an error"),
        pytest.param(result(1, {"isError": True, "content": []}), id="a failed tool"),
        pytest.param(result(1, None), id="null"),
    ],
)
def test_what_failed_fails_in_the_same_way(answer: JsonObject) -> None:
    recorded = recording()
    Talk(recorded).ask(call(1, "a"), answer)
    assert told(Talk(replaying(recorded)).agent(call(1, "a"))) == [answer]


def test_a_broken_transport_breaks_again() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.agent(call(1, "a"))
    list(talk.session.server_broke(1, 404, "gone"))
    talk.ask(call(2, "b"), result(2, {}))
    replayed = Talk(replaying(recorded))
    assert replayed.agent(call("i", "a")) == [Hang("i", 404, "gone")]
    assert told(replayed.agent(call(2, "b"))) == [result(2, {})]


def test_what_was_never_answered_is_not_answered() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.agent(call(1, "a"))
    talk.agent(notification("notifications/cancelled", {"requestId": 1}))
    talk.ask(call(2, "b"), result(2, {}))
    boundary = replaying(recorded)
    replayed = Talk(boundary)
    assert replayed.agent(call(1, "a")) == []
    assert replayed.agent(notification("notifications/cancelled", {"requestId": 1})) == []
    assert told(replayed.agent(call(2, "b"))) == [result(2, {})]
    assert boundary.unconsumed() == ()


def test_a_notification_comes_where_it_came_with_the_token_of_today() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.ask(INITIALIZE, notification("notifications/message", {"data": "early"}), INITIALIZED)
    progress = notification("notifications/progress", {"progressToken": 1, "progress": 1})
    talk.ask(call(1, "a", {"progressToken": 1}), progress, result(1, {}))
    changed = notification("notifications/tools/list_changed")
    talk.server(changed)
    replayed = Talk(replaying(recorded))
    first = replayed.agent({**INITIALIZE, "id": 5})
    assert [one.get("method") for one in told(first)] == ["notifications/message", None]
    assert first[0] == ToAgent(notification("notifications/message", {"data": "early"}), within=5)
    second = replayed.agent(call(6, "a", {"progressToken": "t"}))
    live = notification("notifications/progress", {"progressToken": "t", "progress": 1})
    assert second == [ToAgent(live, within=6), ToAgent(result(6, {}), answers=6), ToAgent(changed)]


def test_progress_that_nobody_asks_for_is_not_told() -> None:
    recorded = recording()
    progress = notification("notifications/progress", {"progressToken": 1, "progress": 1})
    Talk(recorded).ask(call(1, "a", {"progressToken": 1}), progress, result(1, {}))
    assert told(Talk(replaying(recorded)).agent(call(1, "a"))) == [result(1, {})]


def test_progress_comes_before_its_answer_whatever_comes_first() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.agent(call(1, "a", {"progressToken": 1}))
    talk.agent(call(2, "b"))
    talk.server(notification("notifications/message", {"data": 1}))
    talk.server(notification("notifications/progress", {"progressToken": 1, "progress": 1}))
    talk.server(result(2, {}))
    talk.server(result(1, {}))
    replayed = Talk(replaying(recorded))
    first = told(replayed.agent(call(1, "a", {"progressToken": "t"})))
    assert [one.get("method") for one in first] == ["notifications/progress", None]
    second = told(replayed.agent(call(2, "b")))
    assert [one.get("method") for one in second] == ["notifications/message", None]


def test_a_subscription_is_told_of_under_its_id_of_today() -> None:
    key = "io.modelcontextprotocol/subscriptionId"

    def about(request_id: JsonValue) -> JsonObject:
        return {"_meta": {key: request_id}, "notifications": {}}

    recorded = recording()
    talk = Talk(recorded)
    acknowledged = "notifications/subscriptions/acknowledged"
    talk.ask(request("l", "subscriptions/listen"), notification(acknowledged, about("l")))
    talk.ask(call(1, "a"), result(1, {}), notification("notifications/changed", about("l")))
    talk.server(result("l", about("l")))
    boundary = replaying(recorded)
    replayed = Talk(boundary)
    first = replayed.agent(request(77, "subscriptions/listen"))
    assert first == [ToAgent(notification(acknowledged, about(77)), within=77)]
    assert replayed.agent(call(1, "a")) == [
        ToAgent(result(1, {}), answers=1),
        ToAgent(notification("notifications/changed", about(77)), within=77),
        ToAgent(result(77, about(77)), answers=77),
    ]
    unsubscribed = replaying(recorded)
    assert told(Talk(unsubscribed).agent(call(1, "a"))) == [result(1, {})]
    assert unsubscribed.unconsumed() == ()


def test_a_subscription_that_comes_later_this_time_is_told_all_the_same() -> None:
    key = "io.modelcontextprotocol/subscriptionId"
    acknowledged = notification("acknowledged", {"_meta": {key: "l"}})
    recorded = recording()
    talk = Talk(recorded)
    talk.ask(request("l", "subscriptions/listen"), acknowledged)
    talk.ask(call(1, "a"), result(1, {}))
    replayed = Talk(replaying(recorded))
    assert told(replayed.agent(call(1, "a"))) == [result(1, {})]
    assert told(replayed.agent(request("l", "subscriptions/listen"))) == [acknowledged]


def sampled() -> RecordingBoundary:
    """A call in the course of which the server asks, and another call comes and is answered."""
    recorded = recording()
    talk = Talk(recorded)
    talk.ask(call(1, "ask"), request("s", "sampling/createMessage", {"n": 1}))
    talk.ask(call(2, "other"), result(2, {}))
    talk.agent(result("s", {"role": "assistant", "text": "yes"}))
    talk.server(result(1, text("thanks")))
    return recorded


def test_a_call_waits_for_what_the_server_asked() -> None:
    boundary = replaying(sampled())
    talk = Talk(boundary)
    asked = request("s", "sampling/createMessage", {"n": 1})
    assert talk.agent(call(1, "ask")) == [ToAgent(asked, within=1)]
    assert told(talk.agent(call(2, "other"))) == [result(2, {})]
    assert boundary.unconsumed() == (
        "the answer to request 1 of the server: sampling/createMessage",
    )
    answer: JsonObject = {"role": "assistant", "text": "yes", "_meta": {"took": 1}}
    assert told(talk.agent(result("s", answer))) == [result(1, text("thanks"))]
    assert boundary.unconsumed() == ()
    assert boundary.divergence is None


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        pytest.param(result("s", {"role": "assistant", "text": "no"}), "$.result.text", id="text"),
        pytest.param(error("s", -32601, "no"), "$.result", id="an error"),
    ],
)
def test_another_answer_diverges(answer: JsonObject, path: str) -> None:
    boundary = replaying(sampled())
    talk = Talk(boundary)
    talk.agent(call(1, "ask"))
    (refused,) = told(talk.agent(answer))
    assert refused["id"] == 1
    assert "replay diverged" in str(refused["error"])
    assert boundary.divergence is not None
    assert (boundary.divergence.kind, boundary.divergence.path) == ("answer", path)
    assert "asked for sampling/createMessage (its request 1)" in boundary.divergence.message


def test_a_request_that_nobody_had_answered_keeps_nobody_waiting() -> None:
    recorded = recording()
    Talk(recorded).ask(call(1, "a"), request(1, "ping"), result(1, {}))
    boundary = replaying(recorded)
    talk = Talk(boundary)
    assert told(talk.agent(call(1, "a"))) == [request(1, "ping"), result(1, {})]
    assert talk.agent(result(1, {})) == []
    assert boundary.divergence is None


def test_overlapped_equal_calls_in_the_order_of_their_answers() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.agent(call(1, "a"))
    talk.agent(call(2, "a"))
    talk.server(result(2, "second"))
    talk.ask(call(3, "b"), result(3, {}))
    talk.server(result(1, "first"))
    replayed = Talk(replaying(recorded))
    assert told(replayed.agent(call(1, "a"))) == [result(1, "second")]
    assert told(replayed.agent(call(3, "b"))) == [result(3, {})]
    assert told(replayed.agent(call(2, "a"))) == [result(2, "first")]


def test_of_equal_calls_any_counts_as_the_one_answered_first() -> None:
    recorded = recording()
    talk = Talk(recorded)
    talk.agent(call(1, "a"))
    talk.agent(call(2, "b"))
    talk.server(result(1, {}))
    talk.ask(call(3, "b"), result(3, {}))
    talk.agent(call(4, "c"))  # an answer to `a` and one to `b` were there
    talk.server(result(2, {}))
    boundary = replaying(recorded)
    replayed = Talk(boundary)
    for number, tool in enumerate("bac", 1):
        replayed.agent(call(number, tool))
    assert boundary.divergence is None
    assert boundary.unconsumed() == ("call 3: tools/call b",)
    # One answer to `b` alone was not enough.
    guilty = replaying(recorded)
    alone = Talk(guilty)
    alone.agent(call(1, "b"))
    alone.agent(call(2, "c"))
    assert guilty.divergence is not None


def test_each_connection_has_its_calls() -> None:
    recorded = recording()
    for tool in "ab":
        Talk(recorded).ask(call(1, tool), result(1, tool))
    boundary = replaying(recorded)
    Talk(boundary).session.closed()
    first, second = Talk(boundary), Talk(boundary)
    assert told(first.agent(call(1, "a"))) == [result(1, "a")]
    assert boundary.unconsumed() == ("call 2: tools/call b (connection 2)",)
    assert told(second.agent(call(1, "b"))) == [result(1, "b")]
    third = told(Talk(boundary).agent(call(1, "b")))
    assert "the recording holds no call of this connection" in str(third)
