"""What an upstream says that no recording may hold, through a whole flow to its verdict."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit, Captured
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from tests.flow.support import SPEC, Agent, asking, ended, job, run
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Script, completion, frames

KEY = "sk-Ab+cd/ef=0123"
ESCAPED = KEY.replace("+", "\\u002B").replace("=", "\\u003d")


def agent(body: Mapping[str, Any], *lists: str) -> Agent:
    """Asks for lists, then the model, and prints the answers."""

    def act(launch: Launch) -> AgentExit:
        parts = urlsplit(launch.env["OPENAI_BASE_URL"])
        heard = ""
        for query in lists:
            heard += ask(parts.netloc, "GET", f"/v1/models{query}", None)
        heard += ask(parts.netloc, "POST", "/v1/chat/completions", body)
        return ended(stdout=Captured(heard, len(heard)))

    return Agent(act)


def ask(netloc: str, method: str, path: str, body: Any) -> str:
    connection = http.client.HTTPConnection(netloc, timeout=20)
    connection.request(method, path, None if body is None else json.dumps(body))
    answer = connection.getresponse()
    heard = f"{dict(answer.getheaders())} {answer.read().decode()}"
    connection.close()
    return heard


def record(folder: Path, script: Script, asked: Agent) -> tuple[FlowRecord, list[Received], str]:
    """The record of a flow, what its upstream received, and its trace, empty if there is none."""

    def respond(received: Received) -> Script:
        return up.answer({"data": []}) if received.method == "GET" else script

    with FakeUpstream(respond) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url, "FLOWPROOF_AGENT_KEY": KEY}
        ran = run(job(folder, SPEC, phase="record"), asked, env)
    trace = folder / "a.trace.json"
    return ran, upstream.received, trace.read_text("utf-8") if trace.exists() else ""


def test_an_escaped_key_is_in_no_trace_and_no_output(tmp_path: Path) -> None:
    said = json.dumps({**completion("Hello"), "note": "KEY"}).replace("KEY", ESCAPED)
    ran, _, trace = record(tmp_path, up.plain(said.encode()), agent(asking("Say hello")))
    assert (ran.verdict, ran.exit_code) == (Verdict.PASS, ExitCode.PASSED)
    assert "flowproof-placeholder-key" in trace
    for text in (trace, repr(ran)):
        assert KEY not in text
        assert "u002B" not in text


@pytest.mark.parametrize(
    ("stream", "script", "code"),
    [
        pytest.param(True, up.answer(completion("Hello")), ExitCode.WORLD_ERROR, id="whole"),
        pytest.param(True, up.stream(frames(completion("Hello"))), ExitCode.PASSED, id="a stream"),
        pytest.param(False, up.answer(completion("Hello")), ExitCode.PASSED, id="none asked for"),
    ],
)
def test_a_whole_answer_where_a_stream_was_asked_for(
    tmp_path: Path, stream: bool, script: Script, code: ExitCode
) -> None:
    ran, _, trace = record(tmp_path, script, agent(asking("Say hello", stream=stream)))
    assert ran.exit_code is code
    assert ("where a stream was asked for" in ran.reason) is (code is ExitCode.WORLD_ERROR)
    assert bool(trace) is (code is ExitCode.PASSED)


@pytest.mark.parametrize(
    ("coding", "code"),
    [
        pytest.param(KEY, ExitCode.WORLD_ERROR, id="the key"),
        pytest.param("identity", ExitCode.PASSED, id="none"),
    ],
)
def test_a_coding_is_told_without_the_key(tmp_path: Path, coding: str, code: ExitCode) -> None:
    script = up.answer(completion("Hello"), headers=[("content-encoding", coding)])
    ran, _, _ = record(tmp_path, script, agent(asking("Say hello")))
    assert ran.exit_code is code
    assert KEY.lower() not in repr(ran).lower()
    assert ("`flowproof-placeholder-key`" in ran.reason) is (code is ExitCode.WORLD_ERROR)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        pytest.param("?limit=3&after_id=a", "?limit=3&after_id=a", id="a page"),
        pytest.param("?x-api-key=SECRET&limit=3", "?limit=3", id="a header's name"),
        pytest.param("?client_secret=SECRET", "", id="alone"),
        pytest.param("?limit=3;key=SECRET", "?limit=3", id="behind a semicolon"),
        pytest.param("?key[]=SECRET&code=SECRET&sig=SECRET", "", id="more"),
    ],
)
def test_an_agents_own_credential_stays_here(tmp_path: Path, query: str, kept: str) -> None:
    asked = agent(asking("Say hello"), query)
    ran, received, trace = record(tmp_path, up.answer(completion("Hello")), asked)
    assert ran.exit_code is ExitCode.PASSED
    assert received[0].target == f"/v1/models{kept}"
    assert "SECRET" not in trace
    assert f'"/models{kept}"' in trace
    assert run(job(tmp_path, SPEC), asked).verdict is Verdict.PASS
