"""The example with an MCP server: no server at replay, no deletion ever, and changes are named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.tools import copy_examples, edit, flowproof, scripted_model

FLOW = "examples/mcp/forget_packing.flow.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example to change; the command line runs in the folder above."""
    return copy_examples(tmp_path) / "mcp"


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with scripted_model() as (url, _):
        yield url


def trace_of(folder: Path) -> Path:
    return folder / "forget_packing.trace.json"


def test_a_replay_needs_no_server(folder: Path) -> None:
    (folder / "notes_server.py").unlink()
    shutil.rmtree(folder / "notes")
    ran = flowproof(folder.parents[1], "run", "--strict", FLOW)
    assert (ran.code, ran.only()["verdict"]) == (0, "pass"), ran.said
    (lane,) = ran.only()["mcp"]
    assert (lane["server"], lane["made"], lane["mocked"]) == ("notes", 4, 1)
    assert [call["asked"] for call in lane["calls"]] == [0, 0, 1, 2]


def test_not_even_a_recording_deletes(folder: Path, upstream: str) -> None:
    before = json.loads(trace_of(folder).read_text("utf-8"))["mcp"]
    ran = flowproof(folder.parents[1], "record", FLOW, upstream=upstream)
    assert ran.code == 0, ran.said
    assert (folder / "notes" / "packing.txt").is_file()
    assert json.loads(trace_of(folder).read_text("utf-8"))["mcp"] == before


def test_without_its_mock_the_tool_really_runs(folder: Path, upstream: str) -> None:
    edit(folder / "forget_packing.flow.yaml", "        result: deleted packing\n", "")
    ran = flowproof(folder.parents[1], "record", FLOW, upstream=upstream)
    assert ran.code == 0, ran.said
    assert not (folder / "notes" / "packing.txt").exists()
    assert (folder / "notes" / "diary.txt").is_file()


def test_a_changed_argument_is_named_with_its_path(folder: Path) -> None:
    changed = 'name=name, arguments={**arguments, "force": True}'
    edit(folder / "keeper.py", "name=name, arguments=arguments", changed)
    ran = flowproof(folder.parents[1], "run", FLOW)
    flow = ran.only()
    assert (ran.code, flow["verdict"]) == (1, "fail"), ran.said
    divergence = flow["divergence"]
    assert (divergence["server"], divergence["request"], divergence["turn"]) == ("notes", 3, 3)
    assert divergence["path"] == "$.params.arguments.force"
    assert "notes" in flow["reason"] and "read_note" in flow["reason"]


class TestGuard:
    """The copy of the agent clears all notes before it ends."""

    @pytest.fixture
    def guilty(self, folder: Path) -> Path:
        clear = 'server.ask("tools/call", name="delete_all", arguments={})'
        edit(
            folder / "keeper.py",
            '            return message["content"] or ""',
            f'            {clear}\n            return message["content"] or ""',
        )
        return folder

    def test_a_replay_names_the_call_too_many(self, guilty: Path) -> None:
        ran = flowproof(guilty.parents[1], "run", FLOW)
        flow = ran.only()
        assert (ran.code, flow["verdict"]) == (1, "fail"), ran.said
        assert "delete_all" in flow["reason"]

    def test_a_recording_fails_at_the_guard_and_keeps_the_trace(
        self, guilty: Path, upstream: str
    ) -> None:
        committed = trace_of(guilty).read_bytes()
        ran = flowproof(guilty.parents[1], "record", FLOW, upstream=upstream)
        flow = ran.only()
        assert (ran.code, flow["verdict"]) == (1, "fail"), ran.said
        guard = "assert_no_tool_call: notes/delete_all"
        (outcome,) = [one["outcome"] for one in flow["assertions"] if one["source"] == guard]
        assert outcome["kind"] == "failed"
        assert "in call 5 to notes" in outcome["message"]
        assert trace_of(guilty).read_bytes() == committed

    def test_a_misspelt_guard_could_not_fail(self, guilty: Path, upstream: str) -> None:
        edit(guilty / "forget_packing.flow.yaml", "notes/delete_all\n", "notes/delete_al\n")
        ran = flowproof(guilty.parents[1], "record", FLOW, upstream=upstream)
        flow = ran.only()
        assert flow["verdict"] == "fail", "assert_tool_calls lists no such call"
        (warning,) = [one for one in flow["warnings"] if "delete_al`" in one]
        assert "did you mean `notes/delete_all`?" in warning


def test_a_strict_run_refuses_a_guard_that_could_not_fail(folder: Path) -> None:
    edit(folder / "forget_packing.flow.yaml", "notes/delete_all\n", "notes/delete_al\n")
    assert flowproof(folder.parents[1], "run", FLOW).code == 0
    ran = flowproof(folder.parents[1], "run", "--strict", FLOW)
    assert (ran.code, ran.only()["verdict"]) == (2, "error"), ran.said


def test_a_misspelt_server_is_a_problem_of_the_spec(folder: Path) -> None:
    edit(folder / "forget_packing.flow.yaml", "call: notes/delete_all", "call: note/delete_all")
    ran = flowproof(folder.parents[1], "run", FLOW)
    assert ran.code == 2
    assert "notes/delete_all" in json.dumps(ran.record) + ran.said
