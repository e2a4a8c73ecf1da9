"""A trace where a spec is expected: one problem that says so, however it is recognised."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.errors import SpecError
from flowproof.spec.flow import load_flow
from flowproof.spec.source import MAX_BYTES
from flowproof.trace.document import Trace
from flowproof.trace.encode import encode
from tests.spec.support import MINIMAL, flow_problems

TRACE = b'{\n  "format": "flowproof-trace",\n  "version": 1,\n  "turns": []\n}\n'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("a.trace.json", TRACE, id="both"),
        pytest.param("a.flow.yaml", TRACE, id="content"),
        pytest.param("a.flow.yaml", b"format: flowproof-trace\n", id="as-yaml"),
        pytest.param("a.flow.yaml", TRACE + b"#" * MAX_BYTES, id="large"),
        pytest.param("a.trace.jsonl", b'{"app": "agent", "cassette": {}}', id="legacy"),
    ],
)
def test_a_trace_is_known_as_one(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SpecError) as caught:
        load_flow(tmp_path / name, shown=name)
    (problem,) = caught.value.problems
    assert str(problem) == (
        f"{name}:1:1: this is a trace, not a spec; `flowproof show` prints what it holds\n"
        "  accepted: a flow (`*.flow.yaml`) or a suite (`suite.yaml`)"
    )


def test_every_trace_that_is_written_is_known_as_one(tmp_path: Path) -> None:
    empty = Trace("0", "", "", "", "", "", "", "", ())
    (problem,) = flow_problems(tmp_path, encode(empty))
    assert problem.message.startswith("this is a trace")


def test_a_flow_may_speak_of_traces(tmp_path: Path) -> None:
    text = MINIMAL.replace("hello", "'format: flowproof-trace'")
    assert flow_problems(tmp_path, text) == ()
    (problem,) = flow_problems(tmp_path, f"format: other\n{MINIMAL}")
    assert problem.message == "the flow has no key `format`"
