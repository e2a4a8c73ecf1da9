"""A trace survives its file, the file grows linearly, and each defect of it is named."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.errors import TraceCorrupt, TraceTooLarge
from flowproof.model import rawtext
from flowproof.model.jsonvalue import JsonValue, parse, same, write
from flowproof.model.turn import Operation, Response, Turn
from flowproof.trace.decode import MAX_TURNS, decode
from flowproof.trace.document import RecordedMock
from flowproof.trace.encode import encode
from tests.trace.samples import CHAT, conversation, trace_of, turns, values, with_request

OK = Response(200, {})


@given(st.lists(turns, max_size=5))
def test_a_trace_survives_its_file(recorded: list[Turn]) -> None:
    trace = trace_of(*recorded)
    data = encode(trace)
    back = decode(data, "x")
    assert dataclasses.replace(back, turns=()) == dataclasses.replace(trace, turns=())
    for before, after in zip(recorded, back.turns, strict=True):
        assert same(before.request, after.request)
        assert write(before.response.body) == write(after.response.body)
        assert dataclasses.replace(before, request=None) == dataclasses.replace(after, request=None)
    assert encode(back) == data or recorded != list(back.turns)
    assert data.endswith(b"}\n") and b"\r" not in data


@given(st.binary(max_size=30))
def test_bytes_survive_as_text(data: bytes) -> None:
    assert rawtext.to_bytes(rawtext.from_bytes(data)) == data


def test_bytes_that_are_no_text_survive() -> None:
    frames = (b"data: \xff\xfe\n\n", "data: é\n\n".encode())
    response = Response(
        200, None, rawtext.from_bytes(b"\x80"), "text/plain", tuple(map(rawtext.from_bytes, frames))
    )
    data = encode(trace_of(Turn(CHAT, {}, response, streamed=True)))
    assert "data: é".encode() in data
    (turn,) = decode(data, "x").turns
    assert turn.response == response
    assert [rawtext.to_bytes(event) for event in turn.response.events or ()] == list(frames)


def test_a_turn_shows_what_it_adds() -> None:
    document = json.loads(encode(trace_of(*conversation(3))))
    assert [list(turn["request"]) for turn in document["turns"]] == [
        ["body"],
        ["base", "patch"],
        ["base", "patch"],
    ]
    patch = document["turns"][2]["request"]["patch"]
    assert [(op["op"], op["path"]) for op in patch] == [("add", "/messages/-")] * 2
    assert [op["value"]["role"] for op in patch] == ["assistant", "tool"]


def test_interleaved_conversations_build_on_their_own() -> None:
    def asked(who: str, length: int) -> Turn:
        messages: list[JsonValue] = [f"{who} says a good deal here: {n}" for n in range(length)]
        return Turn(CHAT, {"messages": messages}, OK)

    recorded = [asked(who, length) for length in (2, 3, 4) for who in "abc"]
    stored = [t["request"] for t in json.loads(encode(trace_of(*recorded)))["turns"]]
    assert [request.get("base") for request in stored] == [None, None, None, 1, 2, 3, 4, 5, 6]


def test_another_operation_is_no_base() -> None:
    other = Turn(Operation("openai.embeddings", "/embeddings"), {"a": "x" * 99}, OK)
    document = json.loads(encode(trace_of(other, Turn(CHAT, {"a": "x" * 99}, OK))))
    assert "body" in document["turns"][1]["request"]


@functools.cache
def _file_of(length: int) -> bytes:
    return encode(trace_of(*conversation(length)))


def test_the_file_grows_linearly() -> None:
    sizes = {length: len(_file_of(length)) for length in (50, 100, 200, 400)}
    for length in (50, 100, 200):
        assert sizes[2 * length] <= 2.1 * sizes[length]
    assert sizes[200] < 1_500_000


def test_reading_shares_what_turns_have_in_common() -> None:
    data = _file_of(400)
    tracemalloc.start()
    try:
        trace = decode(data, "x")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40_000_000
    first, last = (_messages(trace.turns[n]) for n in (0, -1))
    assert len(last) == 800
    assert first[1] is last[1]


def _messages(turn: Turn) -> list[JsonValue]:
    assert isinstance(turn.request, dict)
    messages = turn.request["messages"]
    assert isinstance(messages, list)
    return messages


def test_bodies_as_deep_as_a_request_may_be_are_kept() -> None:
    deep = ['{"a":' * depth + leaf + "}" * depth for depth, leaf in ((200, "1"), (200, "2"))]
    recorded = [Turn(CHAT, parse(text), Response(200, parse(text))) for text in deep]
    back = decode(encode(trace_of(*recorded)), "x")
    assert [write(turn.request) for turn in back.turns] == deep


def test_more_turns_than_are_read_are_not_written() -> None:
    turn = Turn(CHAT, {}, OK)
    with pytest.raises(TraceTooLarge, match="split the flow"):
        encode(trace_of(*[turn] * (MAX_TURNS + 1)))


def test_mocks_are_compared_as_json() -> None:
    mock = RecordedMock((1, {"a": None}), False)
    assert mock.matches(RecordedMock((1, {"a": None}), False))
    assert not mock.matches(RecordedMock((True, {"a": None}), False))
    assert not mock.matches(RecordedMock((1, {"a": None}), True))


VALID = encode(trace_of(*conversation(2), Turn(CHAT, {}, Response(500, None, "no"), True, ("a",))))


def _without(key: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.pop(key)


def _set(value: object, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


_TURN = ("turns", 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(_set("har", "format"), "not a flowproof trace", id="format"),
        pytest.param(_without("format"), "not a flowproof trace", id="no format"),
        pytest.param(_set(2, "version"), "version 2 .* update flowproof", id="newer"),
        pytest.param(_set(0, "version"), "version 0 .* record it again", id="older"),
        pytest.param(_set(True, "version"), r"\$\.version: .* found true", id="odd version"),
        pytest.param(_without("version"), r"\$: the key `version`", id="no version"),
        pytest.param(_without("turns"), r"\$: the key `turns` is missing", id="no turns"),
        pytest.param(_set(1, "extra"), "unknown key `extra`; known are format", id="unknown"),
        pytest.param(_set(3, "spec"), r"\$\.spec: expected an object", id="spec"),
        pytest.param(_set(None, "spec", "name"), r"\$\.spec\.name: .* null", id="name"),
        pytest.param(_set(-1, "retries_dropped"), "at least 0, found the number -1", id="count"),
        pytest.param(_set(1.0, "retries_dropped"), "another number", id="real"),
        pytest.param(_set({}, "turns"), r"\$\.turns: expected a list", id="turns"),
        pytest.param(_set([0] * 10_001, "turns"), "more than 10000 turns", id="many"),
        pytest.param(_set(1, *_TURN, "turn"), "this one is number 2", id="order"),
        pytest.param(_set(2, *_TURN, "request", "base"), "turn 2 builds on turn 2", id="itself"),
        pytest.param(_set(0, *_TURN, "request", "base"), "not come before it", id="base 0"),
        pytest.param(_set([0], *_TURN, "request", "patch"), "does not fit turn 1", id="patch"),
        pytest.param(_set([0] * 10_001, *_TURN, "request", "patch"), "10000 op", id="patches"),
        pytest.param(_set({}, *_TURN, "request"), "the key `body`", id="no request"),
        pytest.param(_set(99, *_TURN, "response", "status"), r"status: 99 is not", id="status"),
        pytest.param(_set(101, *_TURN, "response", "status"), "101 is not", id="no answer"),
        pytest.param(_set(600, *_TURN, "response", "status"), "600 is not", id="status 600"),
        pytest.param(
            _set("a\nb: c", *_TURN, "response", "content_type"),
            r"\$\.turns\[1\]\.response\.content_type: no header",
            id="a header in a header",
        ),
        pytest.param(_set(" a", *_TURN, "response", "content_type"), "no header", id="a blank"),
        pytest.param(_set("a\0", *_TURN, "response", "content_type"), "no header", id="NUL"),
        pytest.param(
            _set("\ud800", *_TURN, "response", "content_type"), r"U\+D800 in it", id="half a letter"
        ),
        pytest.param(
            _set({"status": 200, "text": "\ud800"}, *_TURN, "response"),
            r"\$\.turns\[1\]\.response\.text: the surrogate U\+D800",
            id="text of no bytes",
        ),
        pytest.param(
            _set(["", "a\udfff"], *_TURN, "response", "events"),
            r"\$\.turns\[1\]\.response\.events\[1\]: the surrogate U\+DFFF",
            id="an event of no bytes",
        ),
        pytest.param(_set(1, *_TURN, "response", "text"), "unknown key `body`", id="both"),
        pytest.param(_set({"status": 200, "text": 1}, *_TURN, "response"), "object", id="text"),
        pytest.param(
            _set({"status": 200, "text": {"base64": "é"}}, *_TURN, "response"),
            r"text\.base64: not base64",
            id="base64",
        ),
        pytest.param(_set("yes", *_TURN, "streamed"), "true or false, found a string", id="flag"),
        pytest.param(_set([1], *_TURN, "mocked"), r"mocked\[0\]: expected a string", id="mocked"),
        pytest.param(_set([], "mocks", "search"), r"\$\.mocks\.search: expected", id="mock"),
    ],
)
def test_each_defect_is_named(change: Callable[[dict[str, Any]], None], reason: str) -> None:
    decode(VALID, "x.trace.json")
    document = json.loads(VALID)
    change(document)
    with pytest.raises(TraceCorrupt, match=reason) as caught:
        decode(json.dumps(document).encode(), "x.trace.json")
    assert str(caught.value).startswith("x.trace.json: not a usable trace: ")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"\n \n", "it is empty", id="blank"),
        pytest.param(VALID[: len(VALID) // 2], r"cut off or not JSON: .* line \d+", id="half"),
        pytest.param(VALID[:-1] + b"\n}\n", "is not JSON: .* record it again", id="too much"),
        pytest.param(
            VALID.replace(b'  "driver"', b'<<<<<<< HEAD\n  "driver"'),
            r"merge conflict \(line 11\)",
            id="conflict",
        ),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull", id="lfs"),
        pytest.param(b"[" * 100_000, "nested", id="deep"),
        pytest.param(b"[" * 250 + b"]" * 250, "nested", id="a little deep"),
        pytest.param(b"\xff\xfe{}", "not UTF-8", id="not text"),
        pytest.param(b"[]", r"\$: expected an object, found a list", id="list"),
        pytest.param(b"NaN", "NaN", id="constant"),
    ],
)
def test_what_is_no_json_says_so(data: bytes, reason: str) -> None:
    with pytest.raises(TraceCorrupt, match=reason):
        decode(data, "x.trace.json")


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("text/plain;\tcharset=utf-8", "\udc80", id="a tab, a byte"),
        pytest.param("application/é", "é", id="beyond ASCII"),
    ],
)
def test_what_can_be_sent_is_kept(content_type: str, text: str) -> None:
    response = Response(599, None, text, content_type, (text,))
    (turn,) = decode(encode(trace_of(Turn(CHAT, {}, response))), "x").turns
    assert turn.response == response


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        pytest.param(b'"turns": [', b'"turns": [], "turns": [', "turns", id="turns"),
        pytest.param(b'"status": 200', b'"status": 500, "status": 200', "status", id="inside"),
        pytest.param(b'"turn": 1', b'"\\u0074urn": 1, "turn": 1', "turn", id="spelt otherwise"),
    ],
)
def test_a_key_that_stands_twice_is_named(before: bytes, after: bytes, key: str) -> None:
    assert before in VALID
    with pytest.raises(TraceCorrupt, match=f'the key "{key}" stands twice'):
        decode(VALID.replace(before, after, 1), "x")


def test_the_same_key_in_two_objects_is_none_twice() -> None:
    request: JsonValue = {"a": {"a": [{"a": 1}, {"a": 2}]}}
    (turn,) = decode(encode(trace_of(Turn(CHAT, request, OK))), "x").turns
    assert turn.request == request


def test_patches_cannot_pile_up_depth() -> None:
    deeper = [{"op": "add", "path": "/a" * 150, "value": json.loads('{"a":' * 60 + "1" + "}" * 60)}]
    document = json.loads(VALID)
    document["turns"][0]["request"] = {"body": json.loads('{"a":' * 150 + "1" + "}" * 150)}
    document["turns"][1]["request"]["patch"] = deeper
    with pytest.raises(TraceCorrupt, match="deeper than 200"):
        decode(json.dumps(document).encode(), "x")


def test_line_ends_and_a_mark_of_other_editors_do_no_harm() -> None:
    windows = b"\xef\xbb\xbf" + VALID.replace(b"\n", b"\r\n")
    assert decode(windows, "x") == decode(VALID, "x")


@given(st.data())
@settings(max_examples=150)
def test_no_change_of_the_file_breaks_the_reader(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(VALID)))
    end = data.draw(st.integers(start, min(len(VALID), start + 40)))
    broken = VALID[:start] + data.draw(st.binary(max_size=8)) + VALID[end:]
    _reads_or_says_why(broken)


@given(st.data(), values)
@settings(max_examples=150)
def test_no_other_value_breaks_the_reader(data: st.DataObject, value: JsonValue) -> None:
    document: JsonValue = parse(VALID)
    holder, keys = document, _keys(document)
    key = data.draw(st.sampled_from(keys))
    while data.draw(st.booleans()) and (inside := _keys(_child(holder, key))):
        holder, key = _child(holder, key), data.draw(st.sampled_from(inside))
    holder[key] = value  # type: ignore[index]
    _reads_or_says_why(write(document).encode())


def _keys(value: JsonValue) -> list[str | int]:
    if isinstance(value, dict):
        return list(value)
    return list(range(len(value))) if isinstance(value, list) else []


def _child(value: JsonValue, key: str | int) -> JsonValue:
    return value[key]  # type: ignore[index]


def _reads_or_says_why(data: bytes) -> None:
    try:
        trace = decode(data, "x")
    except TraceCorrupt as error:
        assert error.reason
    else:
        encode(trace)


def test_nothing_but_what_was_given_is_in_the_file() -> None:
    text = encode(trace_of(*conversation(1))).decode()
    assert not re.search(r"/(?:home|root|tmp|work|Users)/", text)
    assert "uthorization" not in text


def test_two_equal_requests_cost_next_to_nothing() -> None:
    turn = conversation(2)[1]
    document = json.loads(encode(trace_of(turn, with_request(turn, parse(write(turn.request))))))
    assert document["turns"][1]["request"] == {"base": 1, "patch": []}
