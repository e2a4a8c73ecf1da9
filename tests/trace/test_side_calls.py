"""Side calls survive the file, which stays as it was without any, and each defect is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowproof.errors import TraceCorrupt, TraceTooLarge
from flowproof.model.jsonvalue import JsonValue, same
from flowproof.model.turn import Operation, Response, SideCall
from flowproof.trace.decode import MAX_TURNS, decode
from flowproof.trace.document import Trace
from flowproof.trace.encode import encode
from tests.trace.samples import conversation, responses, trace_of, values

EMBED = Operation("openai.embeddings", "/embeddings")
COUNT = Operation("anthropic.count_tokens", "/messages/count_tokens")
MODELS = Operation("openai.models", "/models?limit=2")
OK = Response(200, {"data": []})
PLAIN = trace_of(*conversation(1))
LISTED = SideCall(MODELS, "GET", None, OK)

bodies = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
side_calls = st.builds(
    SideCall, st.sampled_from((EMBED, COUNT)), st.just("POST"), bodies, responses
)
side_calls |= st.builds(SideCall, st.just(MODELS), st.just("GET"), st.none(), responses)


def with_calls(*calls: SideCall) -> Trace:
    return replace(trace_of(*conversation(1)), side_calls=calls)


@given(st.lists(side_calls, max_size=5))
def test_side_calls_survive_the_file(recorded: list[SideCall]) -> None:
    back = decode(encode(with_calls(*recorded)), "x").side_calls
    assert len(back) == len(recorded)
    for before, after in zip(recorded, back, strict=True):
        assert (after.operation, after.method) == (before.operation, before.method)
        assert same(before.request, after.request)
        assert same(before.response.body, after.response.body)
        assert replace(after.response, body=None) == replace(before.response, body=None)


def test_a_trace_without_side_calls_has_no_key_for_them() -> None:
    document = json.loads(encode(trace_of(*conversation(1))))
    assert "side_calls" not in document
    assert decode(encode(trace_of(*conversation(1))), "x").side_calls == ()


def test_how_a_side_call_is_written() -> None:
    call = SideCall(EMBED, "POST", {"input": "a"}, Response(404, {"error": "no"}))
    assert json.loads(encode(with_calls(LISTED, call)))["side_calls"] == [
        {
            "endpoint": "openai.models",
            "method": "GET",
            "path": "/models?limit=2",
            "response": {"status": 200, "body": {"data": []}},
        },
        {
            "endpoint": "openai.embeddings",
            "method": "POST",
            "path": "/embeddings",
            "request": {"body": {"input": "a"}},
            "response": {"status": 404, "body": {"error": "no"}},
        },
    ]


def counted(length: int) -> Trace:
    said: list[JsonValue] = [f"{number} ".ljust(200, "x") for number in range(length)]
    return with_calls(
        *(SideCall(COUNT, "POST", {"messages": said[: n + 1]}, OK) for n in range(length))
    )


def test_the_file_grows_linearly_with_a_conversation_that_is_counted_each_time() -> None:
    sizes = {length: len(encode(counted(length))) for length in (50, 100, 200)}
    assert sizes[100] <= 2.1 * sizes[50]
    assert sizes[200] <= 2.1 * sizes[100]
    assert decode(encode(counted(50)), "x").side_calls == counted(50).side_calls


def test_more_side_calls_than_are_read_are_not_written() -> None:
    with pytest.raises(TraceTooLarge, match="10001 side calls"):
        encode(with_calls(*[LISTED] * (MAX_TURNS + 1)))


POSTED = SideCall(EMBED, "POST", {"input": "a"}, OK)


def _set(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        *way, last = ("side_calls", *path)
        for key in way:
            document = document[key]
        document[last] = value

    return change


DEFECTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "no list": (lambda d: d.update(side_calls={}), r"\$\.side_calls: expected a list"),
    "no object": (_set(1, 0), r"\$\.side_calls\[0\]: expected an object"),
    "no endpoint": (lambda d: d["side_calls"][0].pop("endpoint"), "the key `endpoint` is missing"),
    "no response": (lambda d: d["side_calls"][0].pop("response"), "the key `response` is missing"),
    "unknown key": (_set(1, 0, "turn"), "unknown key `turn`"),
    "another method": (_set("PUT", 0, "method"), r"\[0\]\.method: .* with GET or POST"),
    "a body for GET": (_set({"body": {}}, 0, "request"), "one with GET has none"),
    "no body for POST": (_set("POST", 0, "method"), "POST has an object as its request"),
    "no object for POST": (_set({"body": [1]}, 1, "request"), "POST has an object"),
    "a path that is a number": (_set(1, 0, "path"), r"\[0\]\.path: expected a string"),
    "an odd status": (_set(99, 0, "response", "status"), "99 is not the HTTP status"),
    "a later base": (
        _set({"base": 2, "patch": []}, 1, "request"),
        "side call 2 builds on side call 2, which does not come before it",
    ),
    "a base without a body": (
        _set({"base": 1, "patch": [{"op": "add", "path": "/a", "value": 1}]}, 1, "request"),
        "does not fit side call 1",
    ),
    "too many": (
        lambda d: d.update(side_calls=[{}] * (MAX_TURNS + 1)),
        "more than 10000 side calls",
    ),
}


@pytest.mark.parametrize(("change", "says"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_named(change: Callable[[Any], None], says: str) -> None:
    document = json.loads(encode(with_calls(LISTED, POSTED)))
    change(document)
    with pytest.raises(TraceCorrupt, match=says):
        decode((json.dumps(document) + "\n").encode(), "x")


def growing(add: Callable[[int], Any], first: JsonValue, count: int) -> bytes:
    """A trace of side calls each of which adds something to the one before."""
    call: dict[str, Any] = {"endpoint": EMBED.dialect, "method": "POST", "path": EMBED.path}
    call["response"] = {"status": 200, "body": 1}
    document = json.loads(encode(PLAIN))
    document["side_calls"] = [{**call, "request": {"body": first}}] + [
        {**call, "request": {"base": number, "patch": [add(number)]}} for number in range(1, count)
    ]
    return (json.dumps(document) + "\n").encode()


@pytest.mark.timeout(20)
def test_calls_that_grow_by_a_key_each_time_are_refused_at_once() -> None:
    data = growing(lambda at: {"op": "add", "path": f"/k{at}", "value": 1}, {}, 9000)
    with pytest.raises(TraceCorrupt, match="costs more than a real conversation"):
        decode(data, "a.trace.json")


@pytest.mark.timeout(20)
def test_calls_that_grow_by_a_text_each_time_are_read() -> None:
    data = growing(lambda at: {"op": "add", "path": "/input/-", "value": "x"}, {"input": []}, 3000)
    assert decode(data, "a.trace.json").side_calls[-1].request == {"input": ["x"] * 2999}
