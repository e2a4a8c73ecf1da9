"""An agent that speaks to two companies in one flow, through the command line."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.e2e.model import model, saying
from tests.e2e.project import Project, flow
from tests.support.upstream import FakeUpstream, answer, scripted

AGENT = """\
import json, os, sys, urllib.error, urllib.request

def ask(url, body, **headers):
    headers |= {"content-type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        sys.exit(error.read().decode())

hello = [{"role": "user", "content": "Hello?"}]
key = os.environ["ANTHROPIC_API_KEY"]
ask(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions?api_key=sk-agents-own",
    {"model": "m", "messages": hello},
    authorization="Bearer " + os.environ["OPENAI_API_KEY"],
)
ask(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    {"model": "c", "max_tokens": 9, "messages": hello},
    **{"x-api-key": key, "authorization": "Bearer " + key},
)
"""
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "c",
    "content": [{"type": "text", "text": "Hello from the other one."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
KEYS = {"OPENAI_API_KEY": "sk-openai-6b1f0e2d9c", "ANTHROPIC_API_KEY": "sk-anthropic-77aa01"}


@pytest.fixture
def two(project: Project) -> Project:
    project.write("agent.py", AGENT)
    command = shlex.join([sys.executable, "-S", "agent.py"])
    spec = flow(command, {"assert": "reply contains other"}, agent={"env": {}})
    project.write("a.flow.yaml", spec)
    return project


def test_both_are_recorded_each_with_its_key_and_replayed_without_any(two: Project) -> None:
    with model(saying("Hello.")) as openai, FakeUpstream(scripted(answer(MESSAGE))) as anthropic:
        env = {
            **KEYS,
            "FLOWPROOF_AGENT_UPSTREAM": openai.url,
            "FLOWPROOF_UPSTREAM_ANTHROPIC": anthropic.url,
        }
        ran = two.flowproof("record", "a.flow.yaml", "--json", env=env)
    assert ran.code == 0, ran.flow["reason"]
    credentials = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
    [first], [second] = openai.received, anthropic.received
    assert first.target == "/v1/chat/completions"
    assert second.target == "/v1/messages"
    sent = [[pair for pair in one.headers if pair[0] in credentials] for one in (first, second)]
    assert sent == [
        [("authorization", f"Bearer {KEYS['OPENAI_API_KEY']}")],
        [("x-api-key", KEYS["ANTHROPIC_API_KEY"])],
    ]
    kept = two.trace("a.flow.yaml").read_text("utf-8")
    for key in (*KEYS.values(), "sk-agents-own"):
        assert key not in kept + ran.stdout + ran.stderr
    replayed = two.replay("a.flow.yaml")
    assert (replayed.code, replayed.flow["traffic"]["served"]) == (0, 2)


def test_a_missing_upstream_names_its_variable_and_ends_with_2(two: Project) -> None:
    with model(saying("Hello.")) as openai:
        env = {"OPENAI_BASE_URL": openai.url, "OPENAI_API_KEY": KEYS["OPENAI_API_KEY"]}
        ran = two.flowproof("record", "a.flow.yaml", "--json", env=env)
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    assert "cannot record: no upstream for anthropic.messages" in ran.flow["reason"]
    assert "FLOWPROOF_UPSTREAM_ANTHROPIC" in ran.flow["reason"]
    assert not two.trace("a.flow.yaml").exists()
    # The agent is told as well, in the words of the API that it speaks.
    told = json.loads(ran.flow["agent"]["stderr"]["text"])
    assert told["type"] == "error"
    assert "FLOWPROOF_UPSTREAM_ANTHROPIC" in told["error"]["message"]
