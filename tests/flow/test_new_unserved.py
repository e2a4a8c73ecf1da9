"""What an agent asks for in vain is compared with what it asked for when it was recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from tests.flow.support import SPEC, Agent, asking, ended, job, run, saying, send, turn
from tests.flow.test_unserved import get
from tests.support.upstream import FakeUpstream, chat, completion

HELLO = asking("Say hello")
WEBSOCKET = {"connection": "Upgrade", "upgrade": "websocket"}
Asked: TypeAlias = tuple[str, str, dict[str, str]]
Sent: TypeAlias = Sequence[Asked]
FILES: Asked = ("GET", "/v1/files?key=a", {})


def agent(sent: Sent) -> Agent:
    """Asks for what nobody serves, then the model."""

    def act(launch: Launch) -> AgentExit:
        url = launch.env["OPENAI_BASE_URL"]
        for method, path, headers in sent:
            get(url, path, headers, method)
        send(f"{url}/chat/completions", HELLO)
        return ended()

    return Agent(act)


def record(folder: Path, sent: Sent) -> None:
    with FakeUpstream(chat(completion("Hello"))) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        recorded = run(job(folder, SPEC, phase="record"), agent(sent), env)
    assert recorded.verdict is Verdict.PASS


def replay(folder: Path, sent: Sent) -> FlowRecord:
    return run(job(folder, SPEC), agent(sent))


@pytest.mark.parametrize(
    ("then", "now", "names"),
    [
        pytest.param([], [FILES], "GET /v1/files", id="none before"),
        pytest.param([FILES], [("DELETE", "/v1/files", {})], "DELETE /v1/files", id="a method"),
        pytest.param([FILES], [FILES, ("GET", "/v1/evals", {})], "GET /v1/evals", id="a path"),
        pytest.param(
            [],
            [("GET", "/v1/realtime", WEBSOCKET)],
            "a WebSocket at /v1/realtime",
            id="a WebSocket",
        ),
        pytest.param(
            [("GET", "/v1/realtime", {})],
            [("GET", "/v1/realtime", WEBSOCKET)],
            "a WebSocket at /v1/realtime",
            id="another kind",
        ),
    ],
)
def test_a_new_one_is_a_divergence(tmp_path: Path, then: Sent, now: Sent, names: str) -> None:
    record(tmp_path, then)
    replayed = replay(tmp_path, now)
    assert (replayed.verdict, replayed.exit_code) == (Verdict.FAIL, ExitCode.FLOW_FAILED)
    assert replayed.divergence is not None
    assert replayed.divergence.kind == "unserved request"
    assert f"asked for {names}, which it did not when this was recorded" in replayed.reason


@pytest.mark.parametrize(
    ("then", "now"),
    [
        pytest.param([], [], id="none"),
        pytest.param([FILES], [FILES], id="the same"),
        pytest.param([FILES], [], id="fewer"),
        pytest.param([FILES], [FILES] * 3, id="more often"),
        pytest.param([FILES], [("GET", "/v1/files?key=b", {})], id="another query"),
        pytest.param([], [("GET", "/", {}), ("HEAD", "/api/hello", {})], id="probes"),
        pytest.param([], [("GET", "/v1/chat/completions", WEBSOCKET)], id="a WebSocket first"),
        pytest.param(
            [("GET", f"/v1/x{number}", {}) for number in range(51)],
            [("GET", "/v1/x50", {})],
            id="more than a recording tells apart",
        ),
    ],
)
def test_what_was_asked_for_is_none(tmp_path: Path, then: Sent, now: Sent) -> None:
    record(tmp_path, then)
    replayed = replay(tmp_path, now)
    assert (replayed.verdict, replayed.reason) == (Verdict.PASS, "")


def test_a_trace_that_does_not_tell_leaves_the_warning(tmp_path: Path) -> None:
    one = turn(HELLO, saying("Hello"))
    replayed = run(job(tmp_path, SPEC, one), agent([FILES]))
    assert "unserved" not in json.loads((tmp_path / "a.trace.json").read_text("utf-8"))
    assert replayed.verdict is Verdict.PASS
    assert any("GET /v1/files (1×)" in text for text in replayed.warnings)
