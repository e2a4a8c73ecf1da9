"""Where a report says that there were calls beside the conversation, and where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowproof.model.phase import Phase
from flowproof.model.run_record import FileDigest
from flowproof.model.traffic import ModelTraffic
from flowproof.model.turn import Operation, Response, SideCall
from flowproof.report.console import flow_detail
from flowproof.report.html_view import flow_shown
from flowproof.report.trajectory_text import side_calls_text
from tests.report.fixtures import flow_record


def call(name: str) -> SideCall:
    return SideCall(Operation(name, "/x"), "POST", {}, Response(200, {}))


def test_side_calls_are_listed_by_endpoint() -> None:
    assert side_calls_text(()) == ""
    calls = [call(name) for name in ("openai.embeddings", "ollama.tags", "openai.embeddings")]
    assert side_calls_text(calls) == "3 side calls: openai.embeddings (2), ollama.tags (1)"
    assert side_calls_text([call("a\x1b[2J")]).startswith("1 side call: a␛[2J")


@pytest.mark.parametrize(
    ("held", "says"), [(0, "(1 turn)"), (1, "(1 turn, 1 side call)"), (2, "(1 turn, 2 side calls)")]
)
def test_a_recording_says_what_it_wrote(held: int, says: str) -> None:
    flow = replace(
        flow_record(),
        phase="record",
        trace=FileDigest("a.trace.json", "ab" * 32),
        traffic=ModelTraffic(requests=1, served=1, recorded=1, side_recorded=held),
    )
    assert f"wrote a.trace.json {says}" in flow_detail(flow)


@pytest.mark.parametrize("phase", ["record", "replay"])
def test_the_page_counts_side_calls(phase: Phase) -> None:
    traffic = ModelTraffic(requests=1, served=1, recorded=1, side_calls=2, side_recorded=1)
    facts = dict(flow_shown(replace(flow_record(), phase=phase, traffic=traffic), 1).facts)
    assert facts["Model traffic"].startswith("1 request and 2 side calls; ")
    facts = dict(flow_shown(replace(flow_record(), phase=phase), 1).facts)
    assert "side" not in facts["Model traffic"]
