"""Real keys reach the upstream and nobody else: no file, no output, no agent, no guard."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from flowproof.flow.agent_environment import PLACEHOLDER_KEY
from tests.e2e.model import model, saying
from tests.e2e.project import PLAIN_AGENT, Project, flow

MARKER = "sk-marker-6b1f0e2d9c"
PLAN = [{"do": "ask", "say": "hello"}, {"do": "surroundings"}]


def occurrences(project: Project, text: str) -> list[str]:
    """The files of a project that hold a text."""
    return [
        str(path)
        for path in project.folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("variable", ["FLOWPROOF_AGENT_KEY", "OPENAI_API_KEY"])
def test_the_key_goes_to_the_upstream_alone(project: Project, variable: str) -> None:
    spec = flow(PLAIN_AGENT, {"assert": "reply contains Hello"})
    project.write("flows/a.flow.yaml", spec)
    keys = {
        variable: MARKER,
        # The same key under a name that flowproof does not know, and inside another value.
        "MY_GATEWAY_KEY": MARKER,
        "GATEWAY_HEADER": f"Bearer {MARKER}",
    }
    with model(saying("Hello.")) as upstream:
        env = {"OPENAI_BASE_URL": upstream.url, **keys}
        told = project.flowproof("record", "flows/a.flow.yaml", "-v", plan=PLAN, env=env)
        kept = project.flowproof("record", "flows/a.flow.yaml", "--json", plan=PLAN, env=env)
    assert [asked.header("authorization") for asked in upstream.received] == [
        f"Bearer {MARKER}"
    ] * 2
    replayed = project.flowproof("suite", "run", "flows", "--json", plan=PLAN, env=keys)
    assert (told.code, kept.code, replayed.code) == (0, 0, 0)
    for ran in (told, kept, replayed):
        assert MARKER not in ran.stdout + ran.stderr
    assert occurrences(project, MARKER) == []
    # The agent printed all that it can see, so its output is in these files.
    assert occurrences(project, "GATEWAY_HEADER") != []
    for ran in (kept, replayed):
        seen = ran.said()[1]
        assert MARKER not in json.dumps(seen)
        assert seen["env"]["GATEWAY_HEADER"] == f"Bearer {PLACEHOLDER_KEY}"
        assert "FLOWPROOF_AGENT_KEY" not in seen["env"] or variable == "FLOWPROOF_AGENT_KEY"
        assert seen["env"]["OPENAI_API_KEY"] == PLACEHOLDER_KEY
        if sys.platform == "linux":
            # What was looked at is what is meant.
            assert "plain_agent" in seen["self/cmdline"]
            assert "guard" in seen["parent/cmdline"]


def test_a_key_named_in_agent_env_is_a_placeholder_there(project: Project) -> None:
    names = ["A", "B", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"]
    env = {"A": "${OPENAI_API_KEY}", "B": "x-${FLOWPROOF_AGENT_KEY}", "AGENT_PLAN": "${PLAN}"}
    plan = [{"do": "ask", "say": "hello"}, {"do": "print", "names": names}]
    project.write("a.flow.yaml", flow(PLAIN_AGENT, agent={"env": env}))
    with model(saying("Hello.")) as upstream:
        ran = project.record("a.flow.yaml", upstream.url, plan=plan, OPENAI_API_KEY=MARKER)
    assert ran.code == 0
    for seen in (ran.said()[1], project.replay("a.flow.yaml", plan=plan).said()[1]):
        assert seen == {
            "A": PLACEHOLDER_KEY,
            "B": f"x-{PLACEHOLDER_KEY}",
            "OPENAI_API_KEY": PLACEHOLDER_KEY,
            "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
        }


def test_the_own_key_wins_over_the_providers(project: Project) -> None:
    project.write("a.flow.yaml", flow(PLAIN_AGENT))
    keys = {"FLOWPROOF_AGENT_KEY": MARKER, "OPENAI_API_KEY": "sk-other"}
    with model(saying("Hello.")) as upstream:
        assert project.record("a.flow.yaml", upstream.url, plan=PLAN[:1], **keys).code == 0
    assert upstream.received[0].header("authorization") == f"Bearer {MARKER}"


LITERAL_AGENT = """\
import json, os, urllib.request
body = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "be brief" + SECRET},
        {"role": "user", "content": os.environ["FLOWPROOF_PROMPT"]},
    ],
}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
asked = urllib.request.Request(url, json.dumps(body).encode())
try:
    urllib.request.urlopen(asked).read()
except OSError:
    pass
"""


def test_a_key_that_an_agent_has_from_elsewhere_is_in_no_file(project: Project) -> None:
    agent = project.write("agent.py", f"SECRET = ''\n{LITERAL_AGENT}")
    command = shlex.join([sys.executable, str(agent)])
    project.write("a.flow.yaml", flow(command, {"assert": "reply contains Hello"}))
    held = {"OPENAI_API_KEY": MARKER}
    with model(*[saying("Hello.")] * 2) as upstream:
        env = {"OPENAI_BASE_URL": upstream.url, **held}
        assert project.flowproof("record", "a.flow.yaml", env=env).code == 0
        before = project.trace("a.flow.yaml").read_bytes()
        agent.write_text(f"SECRET = ' {MARKER}'\n{LITERAL_AGENT}", "utf-8")
        again = project.flowproof("record", "a.flow.yaml", "--json", env=env)
    assert again.code == 2
    assert "turn 1, at $.messages[0].content holds the key in OPENAI_API_KEY" in again.stdout
    assert project.trace("a.flow.yaml").read_bytes() == before
    replayed = project.flowproof("suite", "run", "--report", "html", env=held)
    every = project.flowproof("suite", "run", "--json", env=held)
    assert (replayed.code, every.code) == (1, 1)
    assert "be brief" in every.flow["divergence"]["sides"]["replayed"]
    for ran in (again, replayed, every):
        assert MARKER not in ran.stdout + ran.stderr
    assert occurrences(project, MARKER) == [str(agent)]
