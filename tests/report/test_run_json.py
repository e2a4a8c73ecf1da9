"""The run record as JSON and back."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowproof.errors import ExitCode, RunRecordUnreadable
from flowproof.model.agent_exit import AgentExit
from flowproof.model.flow_spec import Control
from flowproof.model.jsonvalue import JsonValue, NumberText
from flowproof.model.origin import Origin, Population, Source
from flowproof.model.outcome import (
    AssertionResult,
    Divergence,
    Excerpt,
    Failed,
    Passed,
    Uncertifiable,
    Unjudged,
    Verdict,
)
from flowproof.model.run_record import (
    AttemptRecord,
    FileDigest,
    FlowRecord,
    RunRecord,
    TaskRecord,
    contradiction,
)
from flowproof.model.task_state import TaskState
from flowproof.model.traffic import ModelTraffic, Unserved
from flowproof.model.trajectory import Message, ToolCall, Trajectory, TurnView
from flowproof.report.run_json import dump, dump_part, load
from tests.report.fixtures import flow_record, run_of, sample_run, tool_call

T = TypeVar("T")


def not_a_pair(text: str) -> bool:
    # Two lone halves side by side are one character to JSON, and no JSON text gives them to us.
    return not any("\ud800" <= a < "\udc00" <= b <= "\udfff" for a, b in pairwise(text))


TEXT = st.text(st.characters(), max_size=12).filter(not_a_pair)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
# What `parse` never makes: it reads `-0.0` as a number with that text.
PARSED = FINITE.filter(lambda number: repr(number) != "-0.0")
NUMBERS = st.sampled_from(
    [NumberText(text) for text in ("1.10", "1e5", "-0", "-0.0", "1E400", "0.0e0")]
)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | PARSED | TEXT | NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def some(items: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(items, max_size=2).map(tuple)


CALLS = st.builds(ToolCall, st.none() | TEXT, TEXT, TEXT, JSON, st.booleans(), st.booleans())
MESSAGES = st.builds(Message, text=st.none() | TEXT, tool_calls=some(CALLS))
TURNS = st.builds(TurnView, added=some(MESSAGES), answers=some(MESSAGES))
OUTCOMES = st.builds(Passed) | st.builds(Failed) | st.builds(Unjudged) | st.builds(Uncertifiable)
FLOWS = st.builds(
    FlowRecord,
    duration=FINITE,
    reason=TEXT,
    control=st.none() | st.builds(Control),
    spec=st.none() | st.builds(FileDigest),
    assertions=some(st.builds(AssertionResult, outcome=OUTCOMES)),
    divergence=st.none() | st.builds(Divergence, excerpt=some(st.builds(Excerpt))),
    traffic=st.builds(ModelTraffic, unserved=some(st.builds(Unserved))),
    agent=st.none() | st.builds(AgentExit, duration=FINITE, survivors=some(TEXT)),
    trajectory=some(TURNS).map(Trajectory),
    tasks=some(st.builds(TaskRecord, started=st.none() | FINITE, duration=st.none() | FINITE)),
    environment=some(TEXT),
)
# No other pairs are read: a record must not contradict itself.
ENDS = [
    (verdict, code)
    for verdict in Verdict
    for code in ExitCode
    if not contradiction(replace(flow_record(), verdict=verdict, exit_code=code))
]
FLOWS = st.builds(
    lambda flow, end: replace(flow, verdict=end[0], exit_code=end[1]), FLOWS, st.sampled_from(ENDS)
)
RUNS = st.builds(RunRecord, duration=FINITE, flows=some(FLOWS), warnings=some(TEXT))


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_any_record_comes_back_the_same(record: RunRecord) -> None:
    text = dump(record)
    text.encode()
    assert load(text) == record
    assert dump(load(text)) == text


def test_it_starts_with_schema_and_counts_that_add_up() -> None:
    text = dump(sample_run())
    value = json.loads(text)
    assert list(value)[:2] == ["schema", "counts"]
    assert value["schema"] == "flowproof.run/1"
    counts = value["counts"]
    assert counts.pop("flows") == sum(counts.values()) == 7
    assert text.endswith("}\n")
    assert "\r" not in text


def test_a_part_is_written_as_it_stands_in_the_record() -> None:
    flow = flow_record()
    part = json.loads(dump_part(flow.trajectory))
    assert part == json.loads(dump(run_of(flow)))["flows"][0]["trajectory"]


def test_numbers_in_arguments_keep_their_text() -> None:
    assert '"max": 1.10' in dump(run_of(flow_record()))


def test_arguments_may_be_as_deep_as_a_request() -> None:
    deep: JsonValue = 1
    for _ in range(199):
        deep = [deep]
    turn = flow_record().trajectory.turns[0]
    answers = (Message("assistant", None, (tool_call("dig", deep),)),)
    record = run_of(
        replace(flow_record(), trajectory=Trajectory((replace(turn, answers=answers),)))
    )
    assert load(dump(record)) == record


def test_writing_does_not_import_what_is_heavy() -> None:
    code = (
        "import sys; from flowproof.report import run_json; "
        "sys.exit(any(name in sys.modules for name in ('pydantic', 'jinja2', 'rich', 'junit_xml')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def changed(**changes: object) -> str:
    return json.dumps(json.loads(dump(run_of(flow_record()))) | changes)


def flow_changed(**changes: object) -> str:
    value = json.loads(dump(run_of(flow_record())))
    value["flows"][0] |= changes
    return json.dumps(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "not JSON", id="no-json"),
        pytest.param("[]", "expected an object", id="no-object"),
        pytest.param("[" * 5000 + "]" * 5000, "nested", id="too-deep"),
        pytest.param("{}", "`schema` is nothing", id="no-schema"),
        pytest.param(changed(schema="flowproof.run/2"), "by flowproof 0.1.0, and", id="newer"),
        pytest.param(changed(schema=7), "`schema` is 7", id="odd-schema"),
        pytest.param(changed(counts={"flows": 9}), "counts do not match", id="counts"),
        pytest.param(changed(extra=1), "unknown key 'extra'", id="unknown-key"),
        pytest.param(changed(id=3), r"\$\.id: expected a string, found 3", id="type"),
        pytest.param(changed(partial=0), r"\$\.partial: expected true or false", id="bool"),
        pytest.param(changed(duration="1"), r"\$\.duration: expected a number", id="number"),
        pytest.param(changed(duration=True), "expected a number, found true", id="bool-number"),
        pytest.param(changed(duration=10**900), "expected a number", id="huge"),
        pytest.param(changed(exit_code=77), r"\$\.exit_code: expected one of 0", id="exit-code"),
        pytest.param(changed(exit_code=True), r"\$\.exit_code", id="exit-code-bool"),
        pytest.param(changed(phase="rehearse"), "expected one of record, replay", id="literal"),
        pytest.param(changed(flows={}), "expected a list, found an object", id="list"),
        pytest.param(flow_changed(verdict="maybe"), r"\$\.flows\[0\]\.verdict", id="verdict"),
        pytest.param(
            flow_changed(assertions=[{"source": "", "line": 1, "outcome": {"kind": "luck"}}]),
            r"outcome\.kind: expected one of passed, failed",
            id="outcome",
        ),
        pytest.param(
            flow_changed(control={}), r"control: the key 'id' is missing", id="missing-key"
        ),
    ],
)
def test_what_is_no_record_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(RunRecordUnreadable, match=message) as caught:
        load(text)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


def test_a_verdict_and_an_exit_code_that_exclude_each_other_are_refused() -> None:
    bad = [(Verdict.FAIL, ExitCode.PASSED), (Verdict.PASS, ExitCode.FLOW_FAILED)]
    for verdict, code in (*bad, (Verdict.ERROR, ExitCode.FLOW_FAILED)):
        guilty = run_of(replace(flow_record(), verdict=verdict, exit_code=code))
        with pytest.raises(RunRecordUnreadable, match=r"flows\[0\]: it contradicts itself"):
            load(dump(guilty))
        tried = AttemptRecord(verdict, code, 1.0)
        with pytest.raises(RunRecordUnreadable, match="it contradicts itself"):
            load(dump(run_of(replace(flow_record(), attempts=(tried,)))))


@pytest.mark.parametrize(("verdict", "code"), ENDS)
def test_every_end_of_a_flow_can_be_read(verdict: Verdict, code: ExitCode) -> None:
    record = run_of(replace(flow_record(), verdict=verdict, exit_code=code))
    assert load(dump(record)).flows[0].exit_code is code


LATER = ("slots", "tasks", "inputs", "origin", "source", "population")
LATER_IN_FLOWS = ("id", "needs", "after", "locks", "offset", "usual", "inputs")


def test_a_record_of_before_these_fields_is_read() -> None:
    value = json.loads(dump(sample_run()))
    for name in LATER:
        del value[name]
    for flow in value["flows"]:
        for name in LATER_IN_FLOWS:
            del flow[name]
        for task in flow["tasks"]:
            del task["needs"]
    record = load(json.dumps(value))
    assert (record.slots, record.tasks, record.inputs) == (1, (), ())
    assert (record.origin, record.source, record.population) == (None, None, None)
    assert {(flow.id, flow.offset, flow.usual, flow.inputs) for flow in record.flows} == {
        ("", None, None, ())
    }


def test_where_a_run_comes_from_survives() -> None:
    digest = FileDigest("uv.lock", "ab" * 32)
    flow = replace(
        flow_record(),
        id="a.flow.yaml [1/2]",
        needs=("b.flow.yaml",),
        after=("c.flow.yaml",),
        locks=("port 4646",),
        offset=0.25,
        usual=1.5,
        inputs=(digest,),
    )
    record = replace(
        run_of(flow),
        slots=4,
        tasks=(TaskRecord("after_all", TaskState.NOT_RUN, cause="cut", needs=("before_all",)),),
        inputs=(digest,),
        origin=Origin("casey", "push", "CI", "https://ci.example/1", "Debian", "6.1", "ab" * 32),
        source=Source("https://git.example/a", "c0" * 20, "main", True, "ab" * 32),
        population=Population(3, 1, (("-k", "a"), ("--last-failed", ""))),
    )
    assert load(dump(record)) == record


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("population", "discovered"), "3", id="a count"),
        pytest.param(("population", "selection"), [["-k"]], id="half an option"),
        pytest.param(("source", "changed"), "no", id="a state"),
        pytest.param(("origin", "actor"), None, id="nobody"),
    ],
)
def test_where_a_run_comes_from_is_checked(path: tuple[str, str], value: JsonValue) -> None:
    record = replace(
        sample_run(),
        origin=Origin(),
        source=Source("", "c0" * 20, "", False),
        population=Population(1, 1),
    )
    changed = json.loads(dump(record))
    changed[path[0]][path[1]] = value
    with pytest.raises(RunRecordUnreadable, match=rf"\$\.{path[0]}\.{path[1]}"):
        load(json.dumps(changed))
