"""The graph that a flow compiles into."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.flow.compile import compile_flow
from flowproof.model.phase import Phase
from tests.flow.support import job


@pytest.mark.parametrize(
    ("phase", "absent"),
    [
        pytest.param("record", "read_trace", id="record"),
        pytest.param("replay", "write_trace", id="replay"),
    ],
)
def test_both_phases(tmp_path: Path, phase: Phase, absent: str) -> None:
    made = job(tmp_path, phase=phase)
    order = compile_flow(made.spec, phase).order()
    assert absent not in [node.id for node in order]
    assert order[0].id == "resolve_env", "nothing is begun before all values are known"
    assert order[-1].id == "report"
    assert [node.id for node in order if node.always] == ["report"]


def test_a_trace_is_written_only_after_all_was_judged(tmp_path: Path) -> None:
    tasks = compile_flow(job(tmp_path, phase="record").spec, "record").tasks
    assert "check" in tasks["write_trace"].needs
