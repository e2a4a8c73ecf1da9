"""Several providers in one flow, each with its upstream and key; and what a provider refuses."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.clients.cases import WORDY
from tests.e2e.project import Project, flow
from tests.support.upstream import Received
from tests.support.wire.serving import endpoint

pytest.importorskip("anthropic", reason="the extra `clients` is not installed")
pytest.importorskip("google.genai", reason="the extra `clients` is not installed")
pytest.importorskip("ollama", reason="the extra `clients` is not installed")

ENV = {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
SPEC = "weather.flow.yaml"
KEYS = {
    "OPENAI": "sk-openai-0001",
    "ANTHROPIC": "sk-ant-0002",
    "GOOGLE": "AIza-google-0003",
    "OLLAMA": "",
}
KEY_VARIABLES = {
    "OPENAI_API_KEY": KEYS["OPENAI"],
    "ANTHROPIC_API_KEY": KEYS["ANTHROPIC"],
    "GEMINI_API_KEY": KEYS["GOOGLE"],
}
DIALECTS = ("openai.chat", "anthropic.messages", "google.generate", "ollama.chat")


def command(module: str) -> str:
    return shlex.join([sys.executable, "-m", f"tests.e2e.clients.agents.{module}"])


def credentials(request: Received) -> list[str]:
    """What a request brings that could be a key."""
    names = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
    return [value for name, value in request.headers if name in names]


def test_four_providers_in_one_flow_each_get_their_own_key_alone(project: Project) -> None:
    steps = [{"assert_tool_call": "get_weather where city equals Oslo"}] * 4
    spec = flow(command("four_providers"), *steps, agent={"env": ENV})
    project.write(SPEC, spec)
    with ExitStack() as stack:
        upstreams = {name: stack.enter_context(endpoint(*WORDY)) for name in KEYS}
        env = {f"FLOWPROOF_UPSTREAM_{name}": one.url for name, one in upstreams.items()}
        # The version segment may be left out, whichever it is.
        env |= {name: url.removesuffix("/v1") for name, url in env.items()}
        ran = project.flowproof("record", SPEC, "--json", env={**env, **KEY_VARIABLES})
        assert ran.code == 0, ran.stdout + ran.stderr
    for name, upstream in upstreams.items():
        assert len(upstream.received) == 2
        for request in upstream.received:
            brought = [value.removeprefix("Bearer ") for value in credentials(request)]
            assert brought == ([KEYS[name]] if KEYS[name] else []), name
    trace = project.trace(SPEC).read_text("utf-8")
    assert not [key for key in KEYS.values() if key and key in trace]
    assert tuple(turn["dialect"] for turn in json.loads(trace)["turns"])[::2] == DIALECTS
    again = project.replay(SPEC)
    assert again.code == 0, again.stdout + again.stderr
    assert again.flow["agent"]["stdout"] == ran.flow["agent"]["stdout"]


@pytest.mark.parametrize(
    "module",
    ["openai_chat", "openai_responses", "anthropic_messages", "google_generate", "ollama_chat"],
)
def test_a_refusal_is_recorded_and_read_again_by_the_client(project: Project, module: str) -> None:
    guard = {"assert_no_tool_call": "get_weather"}
    agent = {"env": ENV, "expect_exit": 1, "keep_retries": True}
    project.write(SPEC, flow(command(module), guard, agent=agent))
    with endpoint() as upstream:
        ran = project.record(SPEC, upstream.url)
    assert ran.code == 0, ran.stdout + ran.stderr
    assert len(upstream.received) == 1
    [turn] = json.loads(project.trace(SPEC).read_text("utf-8"))["turns"]
    assert turn["response"]["status"] == 400
    again = project.replay(SPEC)
    assert again.code == 0, again.stdout + again.stderr
    for one in (ran, again):
        assert "the script has ended" in one.flow["agent"]["stderr"]["text"].splitlines()[-1]
