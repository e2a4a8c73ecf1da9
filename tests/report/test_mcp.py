"""Lanes of MCP servers in every report: counted, named, and beside the conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from flowproof.model.jsonvalue import JsonObject, parse, write
from flowproof.model.mcp_record import McpRecord
from flowproof.model.run_record import FlowRecord
from flowproof.model.trajectory import Trajectory
from flowproof.report.console import flow_detail
from flowproof.report.evidence_flow import entry
from flowproof.report.html_diff import diff_shown
from flowproof.report.html_mcp import done_at, lanes_shown
from flowproof.report.html_pairs import Place
from flowproof.report.junit_case import flow_case
from flowproof.report.mcp_words import lane_line, mcp_calls
from flowproof.report.run_json import dump, load
from tests.report.fixtures import booking_trajectory, flow_record, run_of
from tests.report.hostile import EVIL
from tests.report.mcp_runs import SEARCHED, diverged_at_server, lane, with_servers
from tests.report.pages import Page, pages


def page(flow: FlowRecord) -> Page:
    (found,) = [text for name, text in pages(run_of(flow)).items() if name != "index.html"]
    return found


@pytest.mark.parametrize(
    ("found", "line"),
    [
        pytest.param(
            lane(),
            "5 calls (1 mocked) over stdio; 1 notification, 1 request of the server",
            id="all",
        ),
        pytest.param(
            replace(lane(), transport="http", made=1, mocked=0, connections=2, notifications=0),
            "1 call over HTTP in 2 connections; 1 request of the server",
            id="http",
        ),
        pytest.param(
            replace(lane(), requests=3, notifications=2000, mocked=0),
            "5 calls over stdio; 2,000 notifications, 3 requests of the server",
            id="many",
        ),
        pytest.param(
            McpRecord("flights", "stdio", "FLOWPROOF_MCP_SERVER_flights", contacted=False),
            "never contacted; FLOWPROOF_MCP_SERVER_flights tells the agent where it is",
            id="never",
        ),
    ],
)
def test_a_lane_in_one_line(found: McpRecord, line: str) -> None:
    assert lane_line(found) == line


def test_calls_are_counted_over_servers() -> None:
    assert mcp_calls(with_servers().mcp) == "6 MCP calls"
    assert mcp_calls(()) == ""


def test_the_record_comes_back_and_an_earlier_one_without_lanes_loads() -> None:
    record = run_of(diverged_at_server())
    assert load(dump(record)) == record
    earlier = cast("JsonObject", parse(dump(run_of(flow_record()))))
    for flow in cast("list[JsonObject]", earlier["flows"]):
        del flow["mcp"]
    assert load(write(earlier)).flows[0].mcp == ()


def test_a_page_shows_each_lane_with_its_calls() -> None:
    shown = page(with_servers())
    ids = shown.ids()
    assert {"mcp", "mcp-flights", "mcp-flights.3", "mcp-web-2", "mcp-web-2.3"} <= {*ids}
    assert len(ids) == len({*ids})
    words = shown.words()
    assert "5 calls (1 mocked) over stdio" in words
    assert "Call 4 tools/call Calls hold_seat" in words
    assert "✗ error of the tool" in words
    assert "The server asked: elicitation/create, after call 3 had arrived" in words
    assert "flowproof started and contacted no MCP server" in words
    assert {link[1:] for link in shown.links() if link.startswith("#")} <= {*ids}


def test_a_call_of_the_model_names_what_it_led_to_and_back() -> None:
    shown = page(with_servers())
    words, links = shown.words(), list(shown.links())
    assert "Sent to the MCP server flights as call 3 : ✓ result" in words
    assert "asked for in turn 1" in words
    assert "#mcp-flights.3" in links
    bare = page(flow_record())
    assert "MCP" not in bare.words() and "mcp" not in bare.ids()


def test_the_place_of_a_call_is_found_where_others_are_left_out() -> None:
    seen = booking_trajectory()
    first = seen.turns[0]
    (call,) = first.answers[0].tool_calls
    served = replace(call, served=True)
    answer = replace(first.answers[0], tool_calls=(call, served, call))
    turns = Trajectory((replace(first, answers=(answer,)),))
    calls = (replace(SEARCHED, asked=2),)
    found = done_at(turns, [replace(lane(), calls=calls)])
    # Of the served call that repeats the first there is no number.
    assert [*found] == [Place(1, len(first.added), 2)]
    assert done_at(turns, ()) == {}


def test_a_divergence_at_a_server_is_told_at_its_lane() -> None:
    shown = page(diverged_at_server())
    words = shown.words()
    assert "Call 5 of this run differs from what was recorded and was refused" in words
    assert "Request 5 of this run" not in words
    assert "#mcp-flights.5" in [*shown.links()]
    found = diverged_at_server().divergence
    assert found is not None
    diff = diff_shown(found)
    assert (diff.left, diff.right) == ("Recorded, call 3", "This run, call 5")


def test_hostile_names_and_texts_stay_texts() -> None:
    names = (EVIL, "files", "files-1", "title", EVIL, "mcp", "files.1")
    lanes = tuple(replace(lane(), server=text, stderr=EVIL, problems=(EVIL,)) for text in names)
    flow = replace(with_servers(), mcp=lanes)
    ids = page(flow).ids()
    assert len(ids) == len({*ids})
    assert all("<" not in one and " " not in one for one in ids)
    for line in flow_detail(replace(diverged_at_server(), mcp=lanes), verbose=True).splitlines():
        assert line.isprintable()


def test_a_lane_of_more_calls_than_are_kept_says_so() -> None:
    (shown,) = lanes_shown([replace(lane(), made=3_000)], booking_trajectory(), None)
    assert (len(shown.calls), shown.left_out) == (5, 2_995)


def test_the_console_names_lanes_and_failed_calls_where_it_is_not_green() -> None:
    assert "mcp" not in flow_detail(with_servers())
    assert "mcp flights: 5 calls" in flow_detail(with_servers(), verbose=True)
    flow = diverged_at_server()
    flow = replace(flow, mcp=(replace(flow.mcp[0], stderr="one\nboom\n"), *flow.mcp[1:]))
    detail = flow_detail(flow)
    assert "  mcp flights: 5 calls (1 mocked) over stdio" in detail
    assert '✗ call 4: tools/call hold_seat: error of the tool "full"' in detail
    assert "its server's stderr ends:\n    | one\n    | boom" in detail
    assert "mcp web-2: 1 call over HTTP in 2 connections" in detail


def test_a_recording_says_how_many_calls_it_holds() -> None:
    flow = replace(with_servers(), phase="record")
    assert "wrote smoke/booking.trace.json (2 turns, 6 MCP calls)" in flow_detail(flow)


def test_junit_and_evidence_count_calls() -> None:
    properties = flow_case(with_servers(), "suite", "flow", 10_000).properties
    assert properties["flowproof.mcp.flights"] == "5"
    assert properties["flowproof.mcp.web-2"] == "1"
    assert not any(name.startswith("flowproof.mcp") for name in _properties(flow_record()))
    found = entry(diverged_at_server(), "host")
    (first, _) = cast("list[JsonObject]", found["mcp"])
    assert first == {
        "calls": 5,
        "connections": 1,
        "contacted": True,
        "failed": 1,
        "mocked": 1,
        "notifications": 1,
        "problems": [],
        "requests": 1,
        "server": "flights",
        "transport": "stdio",
    }
    assert cast("JsonObject", found["divergence"])["server"] == "flights"
    assert entry(flow_record(), "host")["mcp"] == []


def _properties(flow: FlowRecord) -> list[str]:
    return [*flow_case(flow, "suite", "flow", 10_000).properties]
