"""A tool that the provider ran itself is judged in both phases, and reports say who ran it."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.e2e.project import Project, flow
from tests.support.upstream import FakeUpstream, answer, scripted

AGENT = """\
import json, os, sys, urllib.request

api = sys.argv[1]
asked = [{"role": "user", "content": "How warm is it in Oslo?"}]
if api == "responses":
    url = os.environ["OPENAI_BASE_URL"] + "/responses"
    body = {"model": "m", "input": asked, "tools": [{"type": "web_search_preview"}]}
else:
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    tool = {"type": "web_search_20250305", "name": "web_search"}
    body = {"model": "m", "max_tokens": 9, "messages": asked, "tools": [tool]}
headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
"""
SAID = "It is 4 degrees."
QUERY = "weather in Oslo"
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "output": [
        {
            "id": "ws_1",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": QUERY},
        },
        {
            "id": "msg_1",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": SAID, "annotations": []}],
        },
    ],
    "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": QUERY},
        },
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": SAID},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 2},
}
SEARCHED = (
    {"assert_tool_call": f"web_search where query equals {QUERY}"},
    {"assert_tool_calls": ["web_search"]},
    {"assert": "reply equals It is 4 degrees."},
)
FORBIDDEN = {"assert_no_tool_call": "web_search"}
BOTH = pytest.mark.parametrize(
    ("api", "body"),
    [
        pytest.param("responses", RESPONSE, id="responses"),
        pytest.param("messages", MESSAGE, id="messages"),
    ],
)


def spec(api: str, *steps: object) -> str:
    return flow(shlex.join([sys.executable, "-S", "agent.py", api]), *steps, agent={"env": {}})


@BOTH
def test_a_served_call_is_asserted_in_both_phases(
    project: Project, api: str, body: dict[str, object]
) -> None:
    project.write("agent.py", AGENT)
    project.write("a.flow.yaml", spec(api, *SEARCHED))
    with FakeUpstream(scripted(answer(body))) as upstream:
        recorded = project.record("a.flow.yaml", upstream.url)
    assert recorded.code == 0, recorded.flow["reason"]
    ran = project.replay("a.flow.yaml")
    assert (ran.code, ran.flow["warnings"]) == (0, [])
    [turn] = ran.flow["trajectory"]["turns"]
    assert (turn["tools"], turn["served"]) == (["web_search"], ["web_search"])
    [call] = turn["answers"][0]["tool_calls"]
    assert (call["name"], call["served"]) == ("web_search", True)
    shown = project.flowproof("show", "a.trace.json").stdout
    assert "offers web_search (run by the provider)" in shown
    assert QUERY in shown
    assert "}) (run by the provider)" in shown


@BOTH
def test_a_forbidden_served_call_is_caught_in_both_phases(
    project: Project, api: str, body: dict[str, object]
) -> None:
    project.write("agent.py", AGENT)
    project.write("a.flow.yaml", spec(api, FORBIDDEN))
    with FakeUpstream(scripted(answer(body))) as upstream:
        refused = project.record("a.flow.yaml", upstream.url)
    assert (refused.code, refused.flow["verdict"]) == (1, "fail")
    assert not project.trace("a.flow.yaml").exists()
    # What was recorded without the guard fails it at replay as well.
    project.write("a.flow.yaml", spec(api, *SEARCHED))
    with FakeUpstream(scripted(answer(body))) as upstream:
        assert project.record("a.flow.yaml", upstream.url).code == 0
    project.write("a.flow.yaml", spec(api, FORBIDDEN))
    ran = project.replay("a.flow.yaml")
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    [judged] = ran.flow["assertions"]
    assert judged["outcome"]["message"].startswith("`web_search` was called in turn 1 with")


@BOTH
def test_an_answer_without_the_call_keeps_the_guard_green_and_silent(
    project: Project, api: str, body: dict[str, list[object]]
) -> None:
    key = "output" if api == "responses" else "content"
    project.write("agent.py", AGENT)
    project.write("a.flow.yaml", spec(api, FORBIDDEN, SEARCHED[-1]))
    with FakeUpstream(scripted(answer({**body, key: body[key][-1:]}))) as upstream:
        assert project.record("a.flow.yaml", upstream.url).code == 0
    ran = project.replay("a.flow.yaml")
    assert (ran.code, ran.flow["verdict"], ran.flow["warnings"]) == (0, "pass", [])
