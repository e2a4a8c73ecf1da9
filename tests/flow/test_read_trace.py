"""A trace that was recorded under other mocks is told before anything is launched."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from flowproof.errors import CapabilityError, ExitCode, StaleTrace, TraceCorrupt, TraceMissing
from flowproof.flow.read_trace import read_trace
from flowproof.model.jsonvalue import JsonValue, parse
from flowproof.model.turn import Operation
from flowproof.trace.document import RecordedMock
from flowproof.trace.file import write_trace
from tests.flow.support import SPEC, asking, job, saying, trace, turn

TURN = turn(asking("Say hello"), saying("Hello"))


def mocked(*tools: str) -> str:
    return SPEC.replace("steps:", f"tools: [{', '.join(tools)}]\nsteps:")


def recorded(*results: str, repeat_last: bool = True) -> RecordedMock:
    values: list[JsonValue] = [parse(text) for text in results]
    return RecordedMock(tuple(values), repeat_last)


SAME = [
    pytest.param(
        ["{name: a, result: {x: 1, y: [2]}}"], {"a": recorded('{"x":1,"y":[2]}')}, id="an object"
    ),
    pytest.param(["{name: a, result: text}"], {"a": recorded('"text"')}, id="a text"),
    pytest.param(
        ["{name: a, results: [1, 2]}"],
        {"a": recorded("1", "2", repeat_last=False)},
        id="a sequence",
    ),
    pytest.param(["{name: a}"], {}, id="declared since"),
    pytest.param([], {"a": RecordedMock((), True)}, id="no longer declared"),
    pytest.param(
        ["{name: b, result: 2}", "{name: a, result: 1}"],
        {"a": recorded("1"), "b": recorded("2")},
        id="another order",
    ),
    pytest.param(["{name: a, result: '${HOME}'}"], {"a": recorded('"${HOME}"')}, id="unresolved"),
]


@pytest.mark.parametrize(("tools", "mocks"), SAME)
def test_the_same_mocks(tmp_path: Path, tools: list[str], mocks: dict[str, RecordedMock]) -> None:
    spec = mocked(*tools) if tools else SPEC
    assert read_trace(job(tmp_path, spec, TURN, mocks=mocks)).turns == (TURN,)


STALE = [
    pytest.param(["{name: a, result: 1}"], {}, ["`a`: its mock was added"], id="added"),
    pytest.param([], {"a": recorded("1")}, ["`a`: its mock was removed"], id="removed"),
    pytest.param(
        ["{name: a}"], {"a": recorded("1")}, ["`a`: its mock was removed"], id="only declared now"
    ),
    pytest.param(
        ["{name: a, result: 2}"], {"a": recorded("1")}, ["`a`: its result was edited"], id="edited"
    ),
    pytest.param(
        ["{name: a, result: 1}"], {"a": recorded("true")}, ["`a`: its result"], id="1 and true"
    ),
    pytest.param(
        ["{name: a, result: 1.10}"], {"a": recorded("1.1")}, ["`a`: its result"], id="number text"
    ),
    pytest.param(
        ["{name: a, result: [1, 2]}"], {"a": recorded("[2,1]")}, ["`a`: its result"], id="order"
    ),
    pytest.param(
        ["{name: a, result: {x: 1, y: 2}}"],
        {"a": recorded('{"y":2,"x":1}')},
        ["`a`: its result"],
        id="the text that is sent",
    ),
    pytest.param(
        ["{name: a, results: [1], repeat_last: true}"],
        {"a": recorded("1", repeat_last=False)},
        ["`a`: its result"],
        id="what comes after the last",
    ),
    pytest.param(
        ["{name: a, result: 1}", "{name: b, result: 2}"],
        {"b": recorded("1"), "c": recorded("3")},
        ["`a`: its mock was added", "`b`: its result was edited", "`c`: its mock was removed"],
        id="all of them at once",
    ),
]


@pytest.mark.parametrize(("tools", "mocks", "told"), STALE)
def test_other_mocks(
    tmp_path: Path, tools: list[str], mocks: dict[str, RecordedMock], told: list[str]
) -> None:
    spec = mocked(*tools) if tools else SPEC
    with pytest.raises(StaleTrace) as caught:
        read_trace(job(tmp_path, spec, TURN, mocks=mocks))
    lines = [line for line in str(caught.value).splitlines() if line.startswith("  ")]
    assert len(lines) == len(told)
    assert all(text in line for text, line in zip(told, lines, strict=True))
    assert "record again: flowproof record a.flow.yaml" in str(caught.value)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


def test_no_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceMissing, match=r"no trace at a\.trace\.json.*record a\.flow\.yaml"):
        read_trace(job(tmp_path))


def test_no_trace_inside(tmp_path: Path) -> None:
    made = job(tmp_path)
    made.trace_path.write_text("[]")
    with pytest.raises(TraceCorrupt, match=r"a\.trace\.json: not a usable trace"):
        read_trace(made)


def test_a_dialect_that_is_not_spoken(tmp_path: Path) -> None:
    made = job(tmp_path)
    foreign = dataclasses.replace(TURN, operation=Operation("acme.chat", "/chat"))
    write_trace(made.trace_path, trace(TURN, foreign))
    with pytest.raises(CapabilityError, match=r"recorded in acme\.chat; .*openai\.chat"):
        read_trace(made)
