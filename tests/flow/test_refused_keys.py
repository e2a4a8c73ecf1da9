"""A key that is refused is the author's error, named with its variable, unless it is the point."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.flow.answers import is_foreign, refuses_key
from flowproof.model.agent_exit import AgentExit
from flowproof.model.jsonvalue import JsonValue
from flowproof.model.outcome import Verdict
from flowproof.model.run_record import FlowRecord
from flowproof.model.turn import Response
from tests.flow.support import SPEC, Agent, asking, ended, job, run, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Script

HELLO = asking("Say hello")
NO: Any = {"error": {"message": "Missing scopes: model.request"}}
KEEPS = SPEC.replace("command: greet", "command: greet, keep_retries: true")
CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"


def asks(*paths: str) -> Agent:
    """An agent that asks each and takes whatever comes back."""

    def act(launch: Launch) -> AgentExit:
        for path in paths:
            body = HELLO if path == CHAT else {"model": "m", "input": "a"}
            send(launch.env["OPENAI_BASE_URL"] + path, body)
        return ended()

    return Agent(act)


def recorded(
    folder: Path,
    agent: Agent,
    refused: Mapping[str, Script],
    *,
    spec: str = SPEC,
    named: str = "FLOWPROOF_AGENT_UPSTREAM",
    **keys: str,
) -> tuple[FlowRecord, str]:
    """The record of a flow whose upstream answers some paths so, and where that upstream was."""

    def respond(request: Received) -> Script:
        for path, script in refused.items():
            if request.target.endswith(path):
                return script
        return up.answer(up.completion("Hello"))

    with FakeUpstream(respond) as upstream:
        return run(job(folder, spec, phase="record"), agent, {named: upstream.url, **keys}), (
            upstream.url
        )


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    "paths",
    [
        pytest.param([EMBEDDINGS], id="alone"),
        pytest.param([EMBEDDINGS, CHAT], id="first"),
        pytest.param([CHAT, EMBEDDINGS], id="last"),
    ],
)
def test_a_side_call_that_is_refused_is_told(tmp_path: Path, paths: list[str], status: int) -> None:
    answers = {EMBEDDINGS: up.answer(NO, status)}
    record, url = recorded(tmp_path, asks(*paths), answers, OPENAI_API_KEY="sk-openai-1")
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
    assert record.trace is None
    assert f"{url}/embeddings answered {status}: it was sent the key in OPENAI_API_KEY" in (
        record.reason
    )
    assert "Missing scopes" in record.reason
    assert "FLOWPROOF_AGENT_KEY" not in record.reason


def test_a_flow_that_is_about_it_is_recorded(tmp_path: Path) -> None:
    answers = {EMBEDDINGS: up.answer(NO, 403)}
    record, _ = recorded(tmp_path, asks(EMBEDDINGS, CHAT), answers, spec=KEEPS)
    assert (record.verdict, record.reason) == (Verdict.PASS, "")
    record, _ = recorded(tmp_path, asks(CHAT), {CHAT: up.answer(NO, 401)}, spec=KEEPS_ALONE)
    assert record.exit_code is ExitCode.PASSED
    assert record.traffic.recorded == 1


KEEPS_ALONE = KEEPS.replace("  - assert: reply contains Hello\n", "")


def test_a_key_that_is_refused_once_and_then_taken_is_no_wrong_one(tmp_path: Path) -> None:
    scripts = up.scripted(up.answer(NO, 403), up.answer(up.completion("Hello")))
    with FakeUpstream(scripts) as upstream:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        record = run(job(tmp_path, phase="record"), asks(CHAT, CHAT), environ)
    assert (record.verdict, record.reason) == (Verdict.PASS, "")
    assert any("turn 1 holds no answer" in warning for warning in record.warnings)


@pytest.mark.parametrize(
    ("named", "keys", "sent", "advised"),
    [
        pytest.param(
            "FLOWPROOF_AGENT_UPSTREAM",
            {"FLOWPROOF_AGENT_KEY": "sk-own-00001", "OPENAI_API_KEY": "sk-openai-1"},
            *("the key in FLOWPROOF_AGENT_KEY", "FLOWPROOF_AGENT_KEY"),
            id="ours",
        ),
        pytest.param(
            "FLOWPROOF_AGENT_UPSTREAM",
            {"OPENAI_API_KEY": "sk-openai-1"},
            *("the key in OPENAI_API_KEY", "OPENAI_API_KEY"),
            id="the provider's",
        ),
        pytest.param(
            "FLOWPROOF_AGENT_UPSTREAM",
            {"ANTHROPIC_API_KEY": "sk-anthropic-1"},
            *("the key in ANTHROPIC_API_KEY", "FLOWPROOF_AGENT_KEY"),
            id="another provider's, for want of a better",
        ),
        pytest.param("OPENAI_BASE_URL", {}, "no key", "OPENAI_API_KEY", id="none"),
        pytest.param("FLOWPROOF_UPSTREAM_OPENAI", {}, "no key", "OPENAI_API_KEY", id="none at all"),
        pytest.param("FLOWPROOF_AGENT_UPSTREAM", {}, "no key", "FLOWPROOF_AGENT_KEY", id="nobody"),
    ],
)
def test_the_advice_is_to_correct_the_variable_that_counts(
    tmp_path: Path, named: str, keys: dict[str, str], sent: str, advised: str
) -> None:
    answers = {CHAT: up.answer(NO, 401)}
    record, url = recorded(tmp_path, asks(CHAT), answers, named=named, **keys)
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    expected = f"{url}/chat/completions answered 401: it was sent {sent}; set {advised} to a key"
    assert expected in record.reason
    assert record.reason.endswith("if that is what the flow is about, set agent.keep_retries: true")


GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Say hello"}]}]}
INVALID: Any = {
    "error": {
        "code": 400,
        "message": "Please pass a valid one.",
        "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo"}, {"reason": "X"}],
    }
}
REASON = {"reason": "API_KEY_INVALID", "domain": "googleapis.com"}


@pytest.mark.parametrize("refused", [True, False], ids=["the key", "something else"])
def test_google_refuses_a_key_with_400(tmp_path: Path, refused: bool) -> None:
    def act(launch: Launch) -> AgentExit:
        path = "/v1beta/models/gemini-3:generateContent"
        send(launch.env["GOOGLE_GEMINI_BASE_URL"] + path, GEMINI)
        return ended()

    error = {**INVALID["error"]}
    if refused:
        error["details"] = [*error["details"], REASON]
    with FakeUpstream(up.scripted(up.answer({"error": error}, 400))) as upstream:
        environ = {"GOOGLE_GEMINI_BASE_URL": upstream.url, "GOOGLE_API_KEY": "google-key-1"}
        record = run(job(tmp_path, phase="record"), Agent(act), environ)
    assert record.verdict is Verdict.ERROR
    if not refused:
        assert record.exit_code is ExitCode.WORLD_ERROR
        return
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    assert "generateContent answered 400: it was sent the key in GOOGLE_API_KEY" in record.reason


MESSAGE: JsonValue = {"error": {"message": "API key not valid. Please pass a valid API key."}}


@pytest.mark.parametrize(
    ("response", "refused"),
    [
        pytest.param(Response(401, None, text=""), True, id="without a body"),
        pytest.param(Response(400, MESSAGE), True, id="a message alone"),
        pytest.param(Response(400, [MESSAGE]), True, id="in a list, as a stream has it"),
        pytest.param(Response(500, MESSAGE), False, id="another status"),
        pytest.param(Response(400, {"error": "no"}), False, id="a text"),
        pytest.param(
            Response(400, {"error": {"message": 1, "details": {"a": 1}}}), False, id="odd"
        ),
        pytest.param(Response(400, []), False, id="an empty list"),
        pytest.param(Response(400, None, text="<html>"), False, id="no JSON"),
    ],
)
def test_what_refuses_a_key(response: Response, refused: bool) -> None:
    assert refuses_key(response) is refused


@pytest.mark.parametrize(
    ("response", "foreign"),
    [
        pytest.param(Response(200, None, text="<html>"), True, id="a page"),
        pytest.param(Response(302, None, text=""), True, id="a redirect"),
        pytest.param(Response(404, None, text="not found"), True, id="a page that is not there"),
        pytest.param(Response(404, {"detail": "Not Found"}), True, id="a path that is not there"),
        pytest.param(Response(404, {"error": {"message": "model"}}), False, id="no such model"),
        pytest.param(Response(404, {"error": "model"}), False, id="no such model, in a text"),
        pytest.param(Response(429, {"message": "slow down"}), False, id="an error of any shape"),
        pytest.param(Response(502, None, text="<html>"), False, id="a gateway that broke"),
    ],
)
def test_what_no_model_api_answers(response: Response, foreign: bool) -> None:
    assert is_foreign(response) is foreign
