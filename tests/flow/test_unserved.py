"""Agents that ask for what nobody serves, through a whole flow, in both phases."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord
from flowproof.model.served import SERVED
from flowproof.report.words import hints, notes
from tests.flow.support import SPEC, Agent, asking, ended, job, run, saying, send, turn
from tests.support.upstream import FakeUpstream, answer, chat, completion, scripted

HELLO = asking("Say hello")
WEBSOCKET = {"connection": "Upgrade", "upgrade": "websocket"}
GOOGLE = {"x-goog-api-client": "google-genai-sdk"}
ASYNC = {"input": "Say hello", "model": "m", "background": True}
QUEUED = {"id": "resp_1", "object": "response", "status": "queued", "output": []}


def get(url: str, path: str, headers: dict[str, str], method: str = "GET") -> int:
    """The status of a request without a body."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers)
        return connection.getresponse().status


def agent(*requests: tuple[str, str, dict[str, str]], then: Any = None, status: int = 0) -> Agent:
    """Sends requests without bodies, then perhaps a chat request."""

    def act(launch: Launch) -> AgentExit:
        url = launch.env["OPENAI_BASE_URL"]
        for method, path, headers in requests:
            get(url, path, headers, method)
        if then is not None:
            send(f"{url}/chat/completions", then)
        return ended(status)

    return Agent(act)


@pytest.fixture(params=["record", "replay"])
def ran(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Agent], FlowRecord]]:
    """Runs an agent, in both phases."""
    phase: Phase = request.param
    turns = [turn(HELLO, saying("Hello"))] if phase == "replay" else []
    with FakeUpstream(chat(completion("Hello"))) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url} if phase == "record" else {}
        yield lambda agent: run(job(tmp_path, SPEC, *turns, phase=phase), agent, env)


@pytest.mark.parametrize("status", [0, 1])
def test_an_agent_that_only_tries_a_websocket(
    ran: Callable[[Agent], FlowRecord], status: int
) -> None:
    record = ran(agent(*[("GET", "/v1/responses", WEBSOCKET)] * 3, status=status))
    assert (record.verdict, record.exit_code) == (Verdict.FAIL, ExitCode.FLOW_FAILED)
    assert "tried a WebSocket at /v1/responses 3 times" in record.reason
    assert "set the client to HTTP" in record.reason
    assert "base URL from somewhere else" not in record.reason


def test_an_agent_that_falls_back_from_a_websocket(ran: Callable[[Agent], FlowRecord]) -> None:
    record = ran(agent(("GET", "/v1/chat/completions", WEBSOCKET), then=HELLO))
    assert (record.verdict, record.warnings, hints(record)) == (Verdict.PASS, (), ())
    assert "tried a WebSocket at /v1/chat/completions once" in notes(record)[0]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        pytest.param(
            ("GET", "/v1/realtime", WEBSOCKET), "WebSocket /v1/realtime (1×)", id="realtime"
        ),
        pytest.param(("POST", "/", GOOGLE), "clients of Vertex AI and Bedrock", id="Vertex"),
    ],
)
def test_another_api_is_named(
    ran: Callable[[Agent], FlowRecord], request_: tuple[str, str, dict[str, str]], says: str
) -> None:
    record = ran(agent(request_))
    assert record.verdict is Verdict.FAIL
    assert says in record.reason
    assert SERVED in record.reason
    assert hints(record) == ()


def test_a_response_made_in_the_background_is_no_answer_and_polling_is_explained(
    tmp_path: Path,
) -> None:
    def act(launch: Launch) -> AgentExit:
        url = launch.env["OPENAI_BASE_URL"]
        send(f"{url}/responses", ASYNC)
        assert get(url, "/v1/responses/resp_1", {}) == 404
        return ended()

    spec = SPEC.replace("assert: reply contains Hello", "assert_no_tool_call: pay")
    with FakeUpstream(scripted(answer(QUEUED))) as upstream:
        record = run(
            job(tmp_path, spec, phase="record"),
            Agent(act),
            {"FLOWPROOF_AGENT_UPSTREAM": upstream.url},
        )
    assert record.verdict is Verdict.ERROR
    assert '"status":"queued"' in record.reason
    assert any("let the agent ask without `background: true`" in hint for hint in hints(record))
    assert not (tmp_path / "a.trace.json").exists()


@pytest.mark.parametrize("status", [401, 404])
def test_what_the_upstream_refused_is_said_once(tmp_path: Path, status: int) -> None:
    with FakeUpstream(scripted(answer({"error": {"message": "no"}}, status))) as upstream:
        record = run(
            job(tmp_path, SPEC, phase="record"),
            agent(then=HELLO),
            {"FLOWPROOF_AGENT_UPSTREAM": upstream.url},
        )
    assert str(status) in record.reason
    assert not [text for text in record.warnings if "holds no answer" in text]
