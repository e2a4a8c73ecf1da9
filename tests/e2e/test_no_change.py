"""What is no change of the request replays green: transport is not compared."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.model import call, calling, model, saying
from tests.e2e.project import OPENAI_AGENT, PLAIN_PLAN, Project, flow

SDK_PLANS = {
    "nothing changed": {},
    "an extra header": {"headers": {"x-tenant": "blue", "anthropic-beta": "any"}},
    "streamed now": {"how": "chunks"},
    "streamed now, usage asked for": {"how": "chunks", "usage": True},
    "streamed now by the helper": {"how": "helper"},
    "a doubled /v1": {"base_suffix": "/v1"},
}


@pytest.mark.parametrize("plan", SDK_PLANS.values(), ids=list(SDK_PLANS))
def test_the_sdk_replays_green(recorded: Project, plan: dict[str, Any]) -> None:
    ran = recorded.replay("weather.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"], ran.flow["reason"]) == (0, "pass", "")
    assert ran.flow["traffic"]["served"] == 2


def test_a_streamed_recording_serves_a_plain_agent(project: Project) -> None:
    project.write("a.flow.yaml", flow(OPENAI_AGENT, {"assert": "reply contains 4 degrees"}))
    weather = calling(call("get_weather", '{"city": "Oslo"}'))
    with model(weather, saying("It is 4 degrees.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan={"how": "chunks"}).code == 0
    assert all(asked.json()["stream"] for asked in upstream.received)
    assert all(
        asked.json()["stream_options"] == {"include_usage": True} for asked in upstream.received
    )
    ran = project.replay("a.flow.yaml")
    assert (ran.code, ran.flow["verdict"]) == (0, "pass")
    first, last = ran.said()
    assert first["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == (
        '{"city": "Oslo"}'
    )
    assert last["choices"][0]["message"]["content"] == "It is 4 degrees."
    assert last["usage"]["total_tokens"] == 36


PLAIN_CHANGES: dict[str, dict[str, object]] = {
    "key order": {"reorder": True},
    "key order and white space": {"reorder": True, "indent": 2},
    "a chunked request body": {"chunked": True},
    "keep-alive off": {"keep_alive": False},
    "another prefix": {"path": "/gateway/v1/chat/completions"},
    "a query": {"path": "/chat/completions?trace=1"},
}


@pytest.mark.parametrize("change", PLAIN_CHANGES.values(), ids=list(PLAIN_CHANGES))
def test_the_wire_may_differ(plainly_recorded: Project, change: dict[str, object]) -> None:
    plan = [action | change for action in PLAIN_PLAN]
    ran = plainly_recorded.replay("plain.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"], ran.flow["reason"]) == (0, "pass", "")
