"""The graph that a flow compiles into."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowproof.flow.compile import compile_flow
from flowproof.model.phase import Phase
from tests.flow.support import SPEC, job


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


@pytest.mark.parametrize("phase", ["record", "replay"])
def test_each_mcp_server_is_there_before_the_agent(tmp_path: Path, phase: Phase) -> None:
    spec = SPEC.replace(
        "steps:", "mcp: [{name: a, command: x}, {name: b, url: 'http://b'}]\nsteps:"
    )
    tasks = compile_flow(job(tmp_path, spec, phase=phase).spec, phase).tasks
    assert (tasks["start_mcp:a"].kind, tasks["start_mcp:b"].item) == ("start_mcp", "b")
    for later in ("launch_agent", "collect_lanes"):
        assert {"start_mcp:a", "start_mcp:b"} <= {*tasks[later].needs}


@pytest.mark.parametrize("phase", ["record", "replay"])
def test_a_flow_without_servers_has_the_needs_it_names(tmp_path: Path, phase: Phase) -> None:
    tasks = compile_flow(job(tmp_path, phase=phase).spec, phase).tasks
    assert tasks["launch_agent"].needs == ("resolve_env", "start_model_proxy")
    assert tasks["collect_lanes"].needs == ("start_model_proxy", "launch_agent")
