"""Where a report says that there were calls beside the conversation, and where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowproof.model.jsonvalue import JsonValue, parse
from flowproof.model.phase import Phase
from flowproof.model.run_record import FileDigest
from flowproof.model.traffic import ModelTraffic
from flowproof.model.turn import Operation, Response, SideCall
from flowproof.report.console import flow_detail
from flowproof.report.html_flow import flow_shown
from flowproof.report.run_json import dump_part
from flowproof.report.trajectory_text import shown_json, side_calls_text
from tests.report.fixtures import booking_trajectory, flow_record


def call(name: str, asks: JsonValue = None, status: int = 200) -> SideCall:
    return SideCall(Operation(name, "/x"), "POST", asks, Response(status, {}))


def test_side_calls_are_listed_by_endpoint_and_one_by_one() -> None:
    assert side_calls_text(()) == ""
    calls = [
        call("openai.embeddings", {"model": "small", "input": ["How is", "Oslo?"]}),
        call("ollama.tags"),
        call("openai.embeddings", {"model": "none"}, 404),
    ]
    assert side_calls_text(calls).splitlines() == [
        "3 side calls: openai.embeddings (2), ollama.tags (1)",
        "  side call 1  (openai.embeddings; status 200)  small How is Oslo?",
        "  side call 2  (ollama.tags; status 200)  /x",
        "  side call 3  (openai.embeddings; status 404)  none",
    ]
    assert side_calls_text([call("a\x1b[2J")]).startswith("1 side call: a␛[2J")


def test_long_requests_and_many_calls_are_cut() -> None:
    calls = [call("openai.embeddings", {"input": ["\x1b[2J" + "x" * 5000] * 50})] * 300
    lines = side_calls_text(calls).splitlines()
    assert len(lines) == 102
    assert lines[-1] == "  … and 200 more, which --json shows"
    assert max(map(len, lines)) < 170
    assert "\x1b" not in lines[1]


def test_all_of_them_are_in_the_json() -> None:
    asks: JsonValue = {"input": "x" * 5000}
    shown = parse(shown_json(booking_trajectory(), [call("openai.embeddings", asks, 404)]))
    assert isinstance(shown, dict)
    assert shown["side_calls"] == [
        {
            "number": 1,
            "endpoint": "openai.embeddings",
            "method": "POST",
            "path": "/x",
            "request": asks,
            "status": 404,
        }
    ]
    trajectory = parse(dump_part(booking_trajectory()))
    assert isinstance(trajectory, dict)
    assert {key: shown[key] for key in trajectory} == trajectory


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
    facts = dict(flow_shown(replace(flow_record(), phase=phase, traffic=traffic)).facts)
    assert facts["Model traffic"].startswith("1 request and 2 side calls; ")
    facts = dict(flow_shown(replace(flow_record(), phase=phase)).facts)
    assert "side" not in facts["Model traffic"]
