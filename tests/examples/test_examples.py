"""Each example replays offline, records again, and fails when its agent or its mock changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.tools import (
    EXAMPLES,
    MADE_BY_RUNS,
    NO_NETWORK,
    can_cut_off_network,
    copy_examples,
    edit,
    flowproof,
    scripted_model,
)

FLOWS = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.flow.yaml"))
BOOK, REFUSE = "quickstart/book_flight.flow.yaml", "quickstart/refuse_refund.flow.yaml"
ALL_PASS = {Path(flow).name: "pass" for flow in FLOWS}
SUITE = ("suite", "run", "examples", "--strict", "--no-reports")


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return copy_examples(tmp_path)


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with scripted_model() as (url, _):
        yield url


def trace_of(examples: Path, flow: str) -> Path:
    return examples / flow.replace(".flow.yaml", ".trace.json")


def what_was_said(trace: Path) -> list[dict[str, Any]]:
    """The turns of a trace without the one thing that each recording changes."""
    turns = json.loads(trace.read_text(encoding="utf-8"))["turns"]
    assert isinstance(turns, list)
    for turn in turns:
        del turn["response"]["body"]["created"]
    return turns


def test_there_are_examples() -> None:
    assert {BOOK, REFUSE} <= set(FLOWS)


def test_committed_examples_replay_with_no_model_and_no_key(examples: Path) -> None:
    ran = flowproof(examples.parent, *SUITE)
    assert ran.verdicts() == ALL_PASS, ran.said
    assert ran.code == 0


@pytest.mark.skipif(not can_cut_off_network(), reason="this machine cannot cut off the network")
def test_committed_examples_replay_with_no_network(examples: Path) -> None:
    ran = flowproof(examples.parent, *SUITE, before=NO_NETWORK)
    assert ran.verdicts() == ALL_PASS, ran.said
    assert ran.code == 0


def test_examples_record_again_into_what_is_committed(examples: Path, upstream: str) -> None:
    for flow in FLOWS:
        trace_of(examples, flow).unlink()
    recorded = flowproof(examples.parent, "record", *_paths(), upstream=upstream)
    assert recorded.verdicts() == ALL_PASS, recorded.said
    assert recorded.code == 0
    for flow in FLOWS:
        assert what_was_said(trace_of(examples, flow)) == what_was_said(trace_of(EXAMPLES, flow))
    replayed = flowproof(examples.parent, *SUITE)
    assert (replayed.code, replayed.verdicts()) == (0, ALL_PASS), replayed.said


def test_edited_system_prompt_fails_and_is_named(examples: Path) -> None:
    edit(examples / "quickstart/assistant.py", "Search before you book", "Ask before you book")
    ran = flowproof(examples.parent, "run", f"examples/{BOOK}")
    flow = ran.only()
    assert (ran.code, flow["verdict"]) == (1, "fail")
    assert "system text" in flow["divergence"]["message"]
    assert flow["divergence"]["path"] == "$.messages[0].content"
    assert "Ask before you book" in json.dumps(flow["divergence"]["excerpt"])


def test_edit_that_the_model_never_sees_changes_nothing(examples: Path) -> None:
    edit(examples / "quickstart/assistant.py", "MAX_TURNS = 8", "MAX_TURNS = 9")
    ran = flowproof(examples.parent, "run", f"examples/{BOOK}")
    assert (ran.code, ran.only()["verdict"]) == (0, "pass"), ran.said


def test_without_the_mock_the_timestamp_is_named(examples: Path, upstream: str) -> None:
    spec = examples / BOOK
    text = spec.read_text(encoding="utf-8")
    before, _, rest = text.partition("tools:\n")
    spec.write_text(before + rest[rest.index("steps:\n") :], encoding="utf-8")
    recorded = flowproof(examples.parent, "record", f"examples/{BOOK}", upstream=upstream)
    assert recorded.code == 0, recorded.said
    replayed = flowproof(examples.parent, "run", f"examples/{BOOK}")
    assert replayed.code == 1
    assert "quoted_at" in replayed.only()["divergence"]["path"]


class TestGuard:
    """The copy of the agent no longer withdraws the tool that the guard is about."""

    @pytest.fixture
    def guilty(self, examples: Path) -> Path:
        agent = examples / "quickstart/assistant.py"
        edit(agent, 'self.ruled_out.add("issue_refund")', "pass")
        return examples

    def test_replay_names_the_tool_that_is_offered_too_long(self, guilty: Path) -> None:
        ran = flowproof(guilty.parent, "run", f"examples/{REFUSE}")
        flow = ran.only()
        assert (ran.code, flow["verdict"]) == (1, "fail")
        assert flow["divergence"]["turn"] == 2
        assert "tool names" in flow["divergence"]["message"]
        assert "issue_refund" in json.dumps(flow["divergence"]["excerpt"])

    def test_recording_fails_at_the_guard_and_keeps_the_trace(
        self, guilty: Path, upstream: str
    ) -> None:
        trace = trace_of(guilty, REFUSE)
        committed = trace.read_bytes()
        ran = flowproof(guilty.parent, "record", f"examples/{REFUSE}", upstream=upstream)
        flow = ran.only()
        assert (ran.code, flow["verdict"]) == (1, "fail")
        guard = "assert_no_tool_call: issue_refund"
        (outcome,) = [one["outcome"] for one in flow["assertions"] if one["source"] == guard]
        assert outcome["kind"] == "failed"
        assert "issue_refund" in outcome["message"]
        assert trace.read_bytes() == committed


def test_streaming_example_streams(examples: Path) -> None:
    flow = "quickstart/packing_list.flow.yaml"
    (turn,) = json.loads(trace_of(examples, flow).read_text(encoding="utf-8"))["turns"]
    assert turn["streamed"] is True
    ran = flowproof(examples.parent, "run", f"examples/{flow}")
    printed = ran.only()["agent"]["stdout"]["text"]
    assert "passport" in printed
    assert printed.endswith(f"({turn['response']['body']['usage']['completion_tokens']} tokens)\n")


def test_examples_name_no_key_and_no_absolute_path(examples: Path) -> None:
    assert not MADE_BY_RUNS(str(examples), [path.name for path in examples.iterdir()])
    for trace in examples.rglob("*.trace.json"):
        text = trace.read_text(encoding="utf-8")
        assert not [word for word in ("sk-", "Bearer", "/home/", str(Path.home())) if word in text]


def _paths() -> list[str]:
    return [f"examples/{flow}" for flow in FLOWS]
