"""Whatever an agent and a server said to each other is replayed out of its trace, in any order in
which it could have been said, and any other call is told of."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.boundary.mcp.interface import Command, Hang, ToAgent
from flowproof.boundary.mcp.jsonrpc import key
from flowproof.boundary.mcp.replaying import ReplayingBoundary
from flowproof.model.jsonvalue import JsonObject, JsonValue, canonical
from flowproof.model.mcp import Broken, Lane, McpCall, Result, RpcError, Unanswered
from tests.boundary.mcp.talk import (
    Talk,
    bytes_of,
    call,
    error,
    notification,
    recording,
    request,
    result,
    text,
    through_a_trace,
)

Draw = st.DrawFn
MEMBERS = ["id", "method", "params", "result", "error", "_meta", "name", "progressToken"]
ACTS = ["call", "call", "answer", "answer", "answer", "say", "ask", "reply", "note"]


@dataclass
class Said:
    """What an agent did on one connection, in order: calls (by place among the calls), answers to
    requests of the server (by id) and notifications."""

    acts: list[tuple[str, JsonValue]] = field(default_factory=list)
    calls: list[JsonObject] = field(default_factory=list)


@st.composite
def scripts(draw: Draw) -> tuple[Lane, list[Said]]:
    """A recording, and what its agent did on each connection."""
    boundary = recording()
    talks = [Talk(boundary) for _ in range(draw(st.integers(1, 2)))]
    said = [Said() for _ in talks]
    opened: list[dict[str, JsonObject]] = [{} for _ in talks]
    asked: list[list[int]] = [[] for _ in talks]
    for number, talk in enumerate(talks):
        _calls(talk, said[number], opened[number], request(0, "initialize", {}))
    for counter in range(1, draw(st.integers(1, 25))):
        at = draw(st.integers(0, len(talks) - 1))
        talk, script, waiting = talks[at], said[at], opened[at]
        match draw(st.sampled_from(ACTS)):
            case "call":
                ids: list[JsonValue] = [counter, f"i{counter}"]
                request_id: JsonValue = draw(st.sampled_from(ids))
                tool, where = draw(st.sampled_from("ab")), draw(st.integers(0, 1))
                # Which of equal calls comes first is open, so all or none of them ask.
                meta: JsonValue = {"progressToken": f"t{counter}"} if where else None
                _calls(talk, script, waiting, call(request_id, tool, meta, where=where))
            case "answer" if waiting:
                _answers(draw, talk, waiting, counter)
            case "say":
                talk.server(_pushed(draw, waiting, counter))
            case "ask":
                talk.server(request(counter, "elicitation/create", {"n": counter}))
                asked[at].append(counter)
            case "reply" if asked[at]:
                request_id = asked[at].pop(draw(st.integers(0, len(asked[at]) - 1)))
                talk.agent(result(request_id, {"was": request_id}))
                script.acts.append(("reply", request_id))
            case "note":
                talk.agent(notification("notifications/roots/list_changed"))
                script.acts.append(("note", None))
    assert boundary.problems == ()
    return boundary.lane(), said


def _calls(talk: Talk, said: Said, waiting: dict[str, JsonObject], message: JsonObject) -> None:
    talk.agent(message)
    waiting[key(message["id"])] = message
    said.acts.append(("call", len(said.calls)))
    said.calls.append(message)


def _answers(draw: Draw, talk: Talk, waiting: dict[str, JsonObject], number: int) -> None:
    known = draw(st.sampled_from(sorted(waiting)))
    request_id = waiting.pop(known)["id"]
    match draw(st.sampled_from(["result", "error", "http"])):
        case "result":
            talk.server(result(request_id, text(f"answer {number}")))
        case "error":
            talk.server(error(request_id, -32602, f"error {number}"))
        case _:
            talk.session.server_broke(request_id, 500, f"status {number}")


def _pushed(draw: Draw, waiting: dict[str, JsonObject], number: int) -> JsonObject:
    params = [message["params"] for message in waiting.values()]
    metas = [one.get("_meta") for one in params if isinstance(one, dict)]
    tokens = [meta["progressToken"] for meta in metas if isinstance(meta, dict)]
    tells = draw(st.booleans())
    if tokens and tells:
        token: JsonValue = draw(st.sampled_from(tokens))
        return notification("notifications/progress", {"progressToken": token, "progress": number})
    return notification("notifications/message", {"data": number})


class Replay:
    """An agent that does the same things again, with other ids and tokens."""

    def __init__(self, boundary: ReplayingBoundary, lane: Lane, number: int, said: Said) -> None:
        self.calls = [one for one in lane.calls if one.connection == number]
        self.events = [
            one for one in lane.events if one.connection == number and one.sender == "server"
        ]
        self.said = said
        self.talk = Talk(boundary)
        self.asked: set[str] = set()
        self.replied: set[str] = set()
        self.outcomes: dict[str, Result | RpcError | Broken] = {}
        self.progress: Counter[str] = Counter()
        self.said_else = 0
        self.made: set[int] = set()

    def do(self, act: str, value: JsonValue) -> None:
        match act, value:
            case "call", int(place):
                self.made.add(place)
                self.take(self.talk.agent(self.renamed(place)))
            case "reply", _:
                assert key(value) in self.asked
                self.replied.add(key(value))
                self.take(self.talk.agent(result(value, {"was": value, "_meta": {"x": 1}})))
            case _:
                self.take(self.talk.agent(notification("notifications/initialized")))

    def renamed(self, place: int) -> JsonObject:
        message = self.said.calls[place]
        params = message["params"]
        assert isinstance(params, dict)
        if isinstance(params.get("_meta"), dict):
            params = {**params, "_meta": {"progressToken": f"token {place}"}}
        return {**message, "id": f"call {place}", "params": params}

    def take(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case ToAgent(message, None) if "id" in message:
                    self.asked.add(key(message["id"]))
                case ToAgent({"method": "notifications/progress", "params": dict(params)}):
                    self.progress[str(params["progressToken"])] += 1
                case ToAgent(_, None):
                    self.said_else += 1
                case ToAgent({"result": value}, answers):
                    self.outcomes[str(answers)] = Result(value)
                case ToAgent({"error": value}, answers):
                    self.outcomes[str(answers)] = RpcError(value)
                case Hang(answers, status, said):
                    self.outcomes[str(answers)] = Broken(status, said)
                case other:
                    raise AssertionError(other)

    def may_call(self, place: int) -> bool:
        """Whether as many calls are answered now, of each kind, as when this one came first."""
        after = self.calls[place].after
        before = Counter(_known(one) for one in self.calls if 0 < one.answered <= after)
        now = [one for at, one in enumerate(self.calls) if f"call {at}" in self.outcomes]
        return before <= Counter(map(_known, now))

    def check(self) -> None:
        """Everything that was said is said again."""
        again, first = Counter[str](), Counter[str]()
        for place, one in enumerate(self.calls):
            found: object = self.outcomes.get(f"call {place}", Unanswered())
            again[f"{_known(one)} {_text(found)}"] += 1
            first[f"{_known(one)} {_text(one.outcome)}"] += 1
        assert again == first
        asked = {key(one.message["id"]) for one in self.events if "id" in one.message}
        assert self.asked == asked
        told = [one for one in self.events if one.message["method"] == "notifications/message"]
        assert self.said_else == len(told)


def _known(one: McpCall) -> str:
    return canonical([one.method, one.params])


def _diverged(boundary: ReplayingBoundary) -> bool:
    return boundary.divergence is not None


def _text(outcome: object) -> str:
    return repr(outcome)


@given(scripts())
@settings(max_examples=150)
def test_a_lane_survives_the_file(script: tuple[Lane, list[Said]]) -> None:
    lane, _ = script
    assert through_a_trace(lane) == lane


@given(scripts())
@settings(max_examples=150)
def test_the_same_again(script: tuple[Lane, list[Said]]) -> None:
    lane, said = script
    boundary = ReplayingBoundary(through_a_trace(lane), {})
    replays = [Replay(boundary, lane, number, one) for number, one in enumerate(said, 1)]
    for replay in replays:
        for act, value in replay.said.acts:
            replay.do(act, value)
    assert boundary.divergence is None
    assert boundary.unconsumed() == ()
    assert Counter(map(_known, boundary.lane().calls)) == Counter(map(_known, lane.calls))
    for replay in replays:
        replay.check()
        progress = [one for one in replay.events if "progress" in str(one.message["method"])]
        assert sum(replay.progress.values()) == len(progress)
        assert all(token.startswith("token ") for token in replay.progress)


@given(scripts(), st.data())
@settings(max_examples=200)
def test_calls_that_overlapped_come_in_any_order(
    script: tuple[Lane, list[Said]], data: st.DataObject
) -> None:
    lane, said = script
    boundary = ReplayingBoundary(lane, {})
    replays = [Replay(boundary, lane, number, one) for number, one in enumerate(said, 1)]
    for replay in replays:
        replay.do("call", 0)
    while True:
        possible: list[tuple[Replay, str, JsonValue]] = []
        for replay in replays:
            for act, value in replay.said.acts:
                match act, value:
                    case "call", int(place):
                        if place not in replay.made and replay.may_call(place):
                            possible.append((replay, act, value))
                    case "reply", _:
                        if key(value) in replay.asked - replay.replied:
                            possible.append((replay, act, value))
        if not possible:
            break
        replay, act, value = data.draw(st.sampled_from(possible))
        replay.do(act, value)
        assert boundary.divergence is None
    assert boundary.unconsumed() == ()
    for replay in replays:
        replay.check()


@given(scripts(), st.data())
@settings(max_examples=100)
def test_any_other_call_is_told_of(script: tuple[Lane, list[Said]], data: st.DataObject) -> None:
    lane, said = script
    boundary = ReplayingBoundary(lane, {})
    replay = Replay(boundary, lane, 1, said[0])
    stop = data.draw(st.integers(0, len(said[0].acts)))
    acts = deque(said[0].acts[:stop])
    while acts:
        replay.do(*acts.popleft())
    assert not _diverged(boundary)
    (command,) = [
        one
        for one in replay.talk.agent(call("odd", "a", where=7))
        if isinstance(one, ToAgent) and one.answers == "odd"
    ]
    assert "replay diverged" in str(command.message["error"])
    assert _diverged(boundary)
    for place in range(len(replay.calls)):
        if place not in replay.made:
            replay.take(replay.talk.agent(replay.renamed(place)))
            assert "replay diverged" in str(replay.outcomes[f"call {place}"])


said_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=5)
    ),
)


@given(st.binary(max_size=60) | said_values.map(bytes_of))
@settings(max_examples=200)
def test_nothing_that_is_said_breaks_a_session(data: bytes) -> None:
    for boundary in (recording(), ReplayingBoundary(Lane("files"), {})):
        session = boundary.open()
        list(session.from_agent(data))
        list(session.from_server(data))
        list(session.server_broke(None, None, "gone"))
        session.closed()
        boundary.lane()


@pytest.mark.timeout(20)
def test_many_calls_that_all_overlapped_take_no_longer() -> None:
    boundary = recording()
    talk = Talk(boundary)
    for number in range(6_000):
        talk.agent(call(number, "a", where=number))
    for number in reversed(range(6_000)):
        talk.server(result(number, {}))
    replayed = Talk(ReplayingBoundary(boundary.lane(), {}))
    for number in reversed(range(6_000)):
        (answer,) = replayed.agent(call(number, "a", where=number))
        assert isinstance(answer, ToAgent)
        assert answer.message["result"] == {}
