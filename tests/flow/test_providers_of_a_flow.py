"""One flow, several providers: each with its upstream and key, and each named where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Verdict
from tests.flow.support import SPEC, Agent, asking, ended, job, run, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Script, refusing_url

HELLO = asking("Say hello")
MESSAGES = {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "c",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
KEYS = {"OPENAI_API_KEY": "sk-openai-0001", "ANTHROPIC_API_KEY": "sk-anthropic-0001"}


def both(launch: Launch) -> AgentExit:
    """Ask one after the other, whatever comes back."""
    send(launch.env["OPENAI_BASE_URL"] + "/chat/completions", HELLO)
    send(launch.env["ANTHROPIC_BASE_URL"] + "/v1/messages", MESSAGES)
    return ended()


def anthropic_answering(*scripts: Script) -> FakeUpstream:
    return FakeUpstream(up.scripted(*scripts))


def upstreams(openai: str, anthropic: str) -> dict[str, str]:
    return {**KEYS, "FLOWPROOF_UPSTREAM_OPENAI": openai, "FLOWPROOF_UPSTREAM_ANTHROPIC": anthropic}


def test_each_goes_to_its_own_and_both_are_replayed(tmp_path: Path) -> None:
    with (
        FakeUpstream(up.chat(up.completion("Hello"))) as openai,
        anthropic_answering(up.answer(MESSAGE)) as anthropic,
    ):
        environ = upstreams(openai.url, anthropic.url)
        record = run(job(tmp_path, phase="record"), Agent(both), environ)
    assert (record.verdict, record.reason) == (Verdict.PASS, "")
    [first], [second] = openai.received, anthropic.received
    assert (first.target, second.target) == ("/v1/chat/completions", "/v1/messages")
    assert first.header("authorization") == "Bearer sk-openai-0001"
    assert (second.header("x-api-key"), second.header("authorization")) == (
        "sk-anthropic-0001",
        None,
    )
    replayed = run(job(tmp_path), Agent(both))
    assert replayed.verdict is Verdict.PASS
    assert replayed.traffic.served == 2


def test_one_gateway_serves_both(tmp_path: Path) -> None:
    def respond(request: up.Received) -> Script:
        return up.answer(MESSAGE if "messages" in request.target else up.completion("Hello"))

    with FakeUpstream(respond) as gateway:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": gateway.url, "FLOWPROOF_AGENT_KEY": "sk-gateway-1"}
        assert run(job(tmp_path, phase="record"), Agent(both), environ).verdict is Verdict.PASS
    assert [one.target for one in gateway.received] == ["/v1/chat/completions", "/v1/messages"]
    assert gateway.received[1].header("x-api-key") == "sk-gateway-1"


def test_one_without_an_upstream_is_the_authors_error(tmp_path: Path) -> None:
    with FakeUpstream(up.chat(up.completion("Hello"))) as openai:
        environ = {"OPENAI_BASE_URL": openai.url}
        record = run(job(tmp_path, phase="record"), Agent(both), environ)
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
    assert record.reason.startswith("cannot record: no upstream for anthropic.messages: set ")
    assert "FLOWPROOF_UPSTREAM_ANTHROPIC" in record.reason
    assert "ANTHROPIC_API_KEY to use https://api.anthropic.com" in record.reason
    assert record.trace is None


def test_one_that_nobody_asks_for_needs_none(tmp_path: Path) -> None:
    def one(launch: Launch) -> AgentExit:
        send(launch.env["OPENAI_BASE_URL"] + "/chat/completions", HELLO)
        return ended()

    with FakeUpstream(up.chat(up.completion("Hello"))) as openai:
        environ = {"OPENAI_BASE_URL": openai.url, "ANTHROPIC_BASE_URL": "no URL"}
        record = run(job(tmp_path, phase="record"), Agent(one), environ)
    assert record.verdict is Verdict.PASS


def test_a_malformed_one_is_named_once_it_is_asked_for(tmp_path: Path) -> None:
    with FakeUpstream(up.chat(up.completion("Hello"))) as openai:
        environ = {"OPENAI_BASE_URL": openai.url, "ANTHROPIC_BASE_URL": "gateway"}
        record = run(job(tmp_path, phase="record"), Agent(both), environ)
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    assert "anthropic.messages: ANTHROPIC_BASE_URL is not an http or https URL" in record.reason


def test_a_malformed_one_of_our_own_is_named_before_the_launch(tmp_path: Path) -> None:
    agent = Agent(both)
    environ = {**KEYS, "FLOWPROOF_UPSTREAM_GOOGLE": "gateway"}
    record = run(job(tmp_path, phase="record"), agent, environ)
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    assert "FLOWPROOF_UPSTREAM_GOOGLE is not an http or https URL" in record.reason
    assert agent.launches == []


def test_a_misspelt_one_of_our_own_is_named_before_the_launch(tmp_path: Path) -> None:
    agent = Agent(both)
    environ = {**KEYS, "FLOWPROOF_UPSTREAM_GEMINI": "http://127.0.0.1:1"}
    record = run(job(tmp_path, phase="record"), agent, environ)
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
    assert "did you mean FLOWPROOF_UPSTREAM_GOOGLE?" in record.reason
    assert agent.launches == []


def test_a_problem_names_the_upstream_it_came_from(tmp_path: Path) -> None:
    nobody = refusing_url()
    with FakeUpstream(up.chat(up.completion("Hello"))) as openai:
        environ = upstreams(openai.url, nobody)
        record = run(job(tmp_path, phase="record"), Agent(both), environ)
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert f"cannot connect: Connection refused ({nobody}/messages)" in record.reason
    assert openai.url not in record.reason


@pytest.mark.parametrize("own", [True, False], ids=["named each", "one gateway"])
def test_refused_keys_are_named_with_their_upstreams(tmp_path: Path, own: bool) -> None:
    no: Any = {"error": {"message": "no"}}
    with (
        FakeUpstream(up.scripted(up.answer(no, 401), up.answer(no, 403))) as openai,
        anthropic_answering(up.answer(no, 403)) as anthropic,
    ):
        environ = {"FLOWPROOF_AGENT_UPSTREAM": openai.url}
        if own:
            environ = upstreams(openai.url, anthropic.url)
        record = run(job(tmp_path, phase="record"), Agent(both), environ)
    assert record.exit_code is ExitCode.AUTHOR_ERROR
    urls = [
        f"{openai.url}/chat/completions answered 401",
        f"{anthropic.url}/messages answered 403",
    ]
    sent = ["the key in OPENAI_API_KEY", "the key in ANTHROPIC_API_KEY"]
    name = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"]
    if not own:
        both_urls = f"{openai.url}/chat/completions and {openai.url}/messages"
        urls = [f"{both_urls} answered 401 and 403"]
        sent, name = ["no key"], ["FLOWPROOF_AGENT_KEY"]
    for url, key, variable in zip(urls, sent, name, strict=True):
        assert f"{url}: it was sent {key}; set {variable} to a key" in record.reason
    assert '(it said: {"error":{"message":"no"}})' in record.reason


@pytest.mark.parametrize("keep", [False, True], ids=["by accident", "the flow is about it"])
def test_one_refused_key_among_answers(tmp_path: Path, keep: bool) -> None:
    no: Any = {"error": {"message": "no"}}
    spec = SPEC.replace("command: greet", "command: greet, keep_retries: true") if keep else SPEC
    with (
        FakeUpstream(up.scripted(up.answer(no, 401))) as openai,
        anthropic_answering(up.answer(MESSAGE)) as anthropic,
    ):
        environ = upstreams(openai.url, anthropic.url)
        record = run(job(tmp_path, spec, phase="record"), Agent(both), environ)
    if keep:
        assert (record.verdict, record.reason) == (Verdict.PASS, "")
        assert record.traffic.recorded == 2
        assert "turn 1 holds no answer of a model: status 401" in record.warnings[0]
        return
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
    assert "set OPENAI_API_KEY to a key" in record.reason
    assert "ANTHROPIC_API_KEY" not in record.reason
    assert record.trace is None
