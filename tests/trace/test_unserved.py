"""Requests that nobody served, as a trace keeps them: bounded, optional, every defect named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from flowproof.errors import TraceCorrupt
from flowproof.model.traffic import MOST_UNSERVED, Unserved
from flowproof.trace.decode import decode
from flowproof.trace.encode import encode
from tests.trace.samples import conversation, trace_of

FILES = Unserved("GET", "/v1/files", 2)
REALTIME = Unserved("GET", "/v1/realtime", 1, "websocket")
PLAIN = trace_of(*conversation(1))


@pytest.mark.parametrize("unserved", [None, (), (FILES,), (FILES, REALTIME)])
def test_they_survive_the_file(unserved: tuple[Unserved, ...] | None) -> None:
    trace = replace(PLAIN, unserved=unserved)
    assert decode(encode(trace), "a.trace.json") == trace


def test_how_they_are_written() -> None:
    document = json.loads(encode(replace(PLAIN, unserved=(FILES, REALTIME))))
    assert list(document)[-1] == "unserved"
    assert document["unserved"] == [
        {"method": "GET", "path": "/v1/files", "count": 2},
        {"method": "GET", "path": "/v1/realtime", "count": 1, "kind": "websocket"},
    ]
    assert "unserved" not in json.loads(encode(PLAIN))


def _set(key: str, value: Any) -> Callable[[Any], None]:
    return lambda document: document["unserved"][0].update({key: value})


DEFECTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "null": (lambda d: d.update(unserved=None), r"\$\.unserved: expected a list"),
    "no object": (lambda d: d.update(unserved=[1]), r"\$\.unserved\[0\]: expected an object"),
    "no method": (lambda d: d["unserved"][0].pop("method"), "the key `method` is missing"),
    "no path": (lambda d: d["unserved"][0].pop("path"), "the key `path` is missing"),
    "another key": (_set("query", "a"), "unknown key `query`"),
    "a method that is a number": (_set("method", 1), r"\[0\]\.method: expected a string"),
    "a long method": (_set("method", "A" * 21), r"\.method: expected at most 20"),
    "a long path": (_set("path", "/" * 201), r"\.path: expected at most 200"),
    "never": (_set("count", 0), r"\.count: .* at least once"),
    "a text as count": (_set("count", "2"), r"\.count: expected a whole number"),
    "another kind": (_set("kind", "probe"), r"\.kind: known are request, upgrade"),
    "a kind that is a list": (_set("kind", []), r"\.kind: expected a string"),
    "too many": (
        lambda d: d.update(unserved=d["unserved"] * (MOST_UNSERVED + 1)),
        "more than 50 unserved requests",
    ),
}


@pytest.mark.parametrize(("change", "says"), DEFECTS.values(), ids=DEFECTS)
def test_a_defect_is_named(change: Callable[[Any], None], says: str) -> None:
    document = json.loads(encode(replace(PLAIN, unserved=(FILES,))))
    change(document)
    with pytest.raises(TraceCorrupt, match=says):
        decode((json.dumps(document) + "\n").encode(), "a.trace.json")
