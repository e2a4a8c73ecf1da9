"""Clients of Azure, with the variables that they read themselves, through the command line."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.e2e.project import Project, flow
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream

HELLO = '[{"role": "user", "content": "Hello?"}]'
CLIENT = f"""\
import os
from openai import AzureOpenAI

with AzureOpenAI(api_version=os.environ.get("MY_VERSION"), max_retries=0) as api:
    answer = api.chat.completions.create(model="gpt-prod", messages={HELLO})
print(answer.choices[0].message.content)
"""
MODULE = f"""\
import openai

openai.max_retries = 0
answer = openai.chat.completions.create(model="gpt-prod", messages={HELLO})
print(answer.choices[0].message.content)
"""
KEY = "sk-azure-6b1f0e2d9c"
OTHER = "sk-openai-77aa0123"
ANSWER = up.completion("Hello there")
CHAT = "/openai/deployments/gpt-prod/chat/completions?api-version=2025-04-01"


def write(project: Project, agent: str) -> None:
    project.write("agent.py", agent)
    command = shlex.join([sys.executable, "agent.py"])
    spec = flow(command, {"assert": "reply contains Hello"}, agent={"env": {}})
    project.write("a.flow.yaml", spec)


@pytest.mark.parametrize("agent", [CLIENT, MODULE], ids=["a client", "the module"])
@pytest.mark.parametrize("variable", ["AZURE_OPENAI_ENDPOINT", "FLOWPROOF_UPSTREAM_AZURE"])
def test_it_is_recorded_with_azures_variables_and_replayed_with_none(
    project: Project, agent: str, variable: str
) -> None:
    write(project, agent)
    with FakeUpstream(up.chat(ANSWER)) as azure, FakeUpstream(up.chat(ANSWER)) as other:
        env = {
            variable: azure.url.removesuffix("/v1"),
            "AZURE_OPENAI_API_KEY": KEY,
            "OPENAI_API_VERSION": "2025-04-01",
        }
        if agent == CLIENT:
            # Where the functions of the module are used, both would have them refuse to choose.
            env |= {"OPENAI_BASE_URL": other.url, "OPENAI_API_KEY": OTHER}
        ran = project.flowproof("record", "a.flow.yaml", "--json", env=env)
    assert (ran.code, ran.flow["verdict"]) == (0, "pass"), ran.flow
    [asked] = azure.received
    assert (other.received, asked.target) == ([], CHAT)
    sent = [pair for pair in asked.headers if pair[0] in ("api-key", "authorization")]
    assert sent == [("api-key", KEY)]
    assert KEY not in ran.stdout + project.trace("a.flow.yaml").read_text("utf-8")
    replayed = project.replay("a.flow.yaml")
    assert (replayed.code, replayed.flow["verdict"]) == (0, "pass"), replayed.flow


def test_without_azures_variables_it_goes_nowhere(project: Project) -> None:
    write(project, CLIENT)
    env = {"OPENAI_API_KEY": OTHER, "AZURE_OPENAI_API_KEY": KEY, "MY_VERSION": "2025-04-01"}
    ran = project.flowproof("record", "a.flow.yaml", "--json", env=env)
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    expected = "cannot record: no upstream for openai.chat from a client of Azure: set "
    assert ran.flow["reason"].startswith(expected)
    assert "AZURE_OPENAI_ENDPOINT" in ran.flow["reason"]
    assert "api.openai.com" not in ran.flow["reason"]
    assert "from a client of Azure" in ran.flow["agent"]["stderr"]["text"]


def test_the_module_speaks_to_openai_where_nothing_says_azure(project: Project) -> None:
    write(project, MODULE)
    with FakeUpstream(up.chat(ANSWER)) as upstream:
        ran = project.record("a.flow.yaml", upstream.url)
    assert ran.code == 0, ran.flow
    assert [one.target for one in upstream.received] == ["/v1/chat/completions"]
    replayed = project.replay("a.flow.yaml")
    assert replayed.code == 0, replayed.flow
    trace = json.loads(project.trace("a.flow.yaml").read_text("utf-8"))
    assert trace["turns"][0]["path"] == "/chat/completions"
