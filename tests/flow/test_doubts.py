"""What an agent shrugs off is told: wrong places, failed side calls, requests nobody serves."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from flowproof.drivers.interface import Launch
from flowproof.errors import ExitCode
from flowproof.model.agent_exit import AgentExit
from flowproof.model.outcome import Verdict
from flowproof.model.phase import Phase
from flowproof.model.run_record import FlowRecord
from tests.flow.support import SPEC, Agent, asking, ended, job, run, send
from tests.support import upstream as up
from tests.support.upstream import FakeUpstream, Received, Script

HELLO = asking("Say hello")
KEEPS = SPEC.replace("command: greet", "command: greet, keep_retries: true")
GONE: Any = {"error": {"message": "no such thing here"}}
EMBEDDING = ("/v1/embeddings", {"model": "m", "input": "a"})
SHOW = ("/api/show", {"model": "m"})
COUNT = ("/v1/messages/count_tokens", {"model": "m", "messages": []})
RERANK = ("/v2/rerank", {"query": "a"})
CHAT = ("/v1/chat/completions", HELLO)


def asks(*requests: tuple[str, Any]) -> Agent:
    """An agent that asks each and takes whatever comes back."""

    def act(launch: Launch) -> AgentExit:
        for path, body in requests:
            with contextlib.suppress(json.JSONDecodeError):
                send(launch.env["ANTHROPIC_BASE_URL"] + path, body)
        return ended()

    return Agent(act)


def respond(request: Received) -> Script:
    if request.target.endswith("/chat/completions"):
        return up.answer(up.completion("Hello"))
    return up.answer(GONE, 404)


def judged(
    folder: Path, agent: Agent, phase: Phase, *, spec: str = SPEC, strict: bool = False
) -> FlowRecord:
    """The record of a flow; to be replayed it is recorded first, without being strict."""
    with FakeUpstream(respond) as upstream:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        strictly = strict and phase == "record"
        record = run(job(folder, spec, phase="record", strict=strictly), agent, environ)
    return record if phase == "record" else run(job(folder, spec, strict=strict), agent)


PHASES = pytest.mark.parametrize("phase", ["record", "replay"])
STRICTNESS = pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])


@PHASES
@STRICTNESS
def test_a_failed_embedding_is_told_and_a_strict_run_refuses_it(
    tmp_path: Path, phase: Phase, strict: bool
) -> None:
    record = judged(tmp_path, asks(EMBEDDING, CHAT), phase, strict=strict)
    told = (
        "a side call of openai.embeddings (POST /embeddings) failed: "
        'status 404: {"error":{"message":"no such thing here"}}'
    )
    assert record.warnings == (told,)
    if strict:
        assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
        assert record.reason == told
    else:
        assert (record.verdict, record.exit_code) == (Verdict.PASS, ExitCode.PASSED)


@PHASES
def test_a_flow_that_is_about_a_failed_embedding_passes_strictly(
    tmp_path: Path, phase: Phase
) -> None:
    record = judged(tmp_path, asks(EMBEDDING, CHAT), phase, spec=KEEPS, strict=True)
    assert record.verdict is Verdict.PASS
    assert len(record.warnings) == 1


@PHASES
@pytest.mark.parametrize("request_", [SHOW, COUNT], ids=["a look-up", "a count of tokens"])
def test_what_clients_do_without_is_told_and_passes_strictly(
    tmp_path: Path, phase: Phase, request_: tuple[str, Any]
) -> None:
    record = judged(tmp_path, asks(request_, CHAT), phase, strict=True)
    assert (record.verdict, record.exit_code) == (Verdict.PASS, ExitCode.PASSED)
    [told] = record.warnings
    assert "a side call of " in told and " failed: status 404" in told


def test_many_failures_of_one_kind_are_told_once(tmp_path: Path) -> None:
    path, body = COUNT
    counts = [(path, {**body, "system": str(number)}) for number in range(3)]
    [told] = judged(tmp_path, asks(*counts, CHAT), "replay").warnings
    assert told.startswith("3 side calls of anthropic.count_tokens (POST /messages/count_tokens) ")


def test_a_page_is_no_answer_to_a_side_call(tmp_path: Path) -> None:
    page = up.plain(b"<html>", content_type="text/html")
    with FakeUpstream(up.scripted(page, *up_hello())) as upstream:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        record = run(job(tmp_path, phase="record"), asks(EMBEDDING, CHAT), environ)
    [told] = record.warnings
    assert told.endswith('failed: status 200, text/html: "<html>"')


def test_side_calls_that_are_answered_are_not_told(tmp_path: Path) -> None:
    with FakeUpstream(up.scripted(up.answer({"data": []}), *up_hello())) as upstream:
        environ = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        made = job(tmp_path, phase="record", strict=True)
        record = run(made, asks(EMBEDDING, CHAT), environ)
    assert (record.verdict, record.warnings) == (Verdict.PASS, ())


def up_hello() -> tuple[Script, ...]:
    return (up.answer(up.completion("Hello")),)


@PHASES
@STRICTNESS
def test_what_nobody_serves_is_told_and_a_strict_run_refuses_it(
    tmp_path: Path, phase: Phase, strict: bool
) -> None:
    record = judged(tmp_path, asks(RERANK, CHAT), phase, strict=strict)
    [told] = record.warnings
    assert "POST /v2/rerank (1×)" in told
    assert [one.path for one in record.traffic.unserved] == ["/v2/rerank"]
    if strict:
        assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.AUTHOR_ERROR)
        assert record.reason == told
    else:
        assert record.verdict is Verdict.PASS


def test_a_failure_of_the_flow_comes_before_its_doubts(tmp_path: Path) -> None:
    spec = SPEC.replace("contains Hello", "contains Bye")
    judged(tmp_path, asks(RERANK, CHAT), "record")
    record = run(job(tmp_path, spec, strict=True), asks(RERANK, CHAT))
    assert (record.verdict, record.exit_code) == (Verdict.FAIL, ExitCode.FLOW_FAILED)
    assert "1 assertion failed" in record.reason and "/v2/rerank" in record.reason


WRONG: list[Any] = [
    pytest.param(up.plain(b"<html>welcome</html>", content_type="text/html"), id="a page"),
    pytest.param(up.plain(b"gone", 404, content_type="text/plain"), id="a missing page"),
    pytest.param(up.answer({"detail": "Not Found"}, 404), id="a missing path"),
    pytest.param(up.redirect("https://elsewhere.example/login"), id="a redirect"),
]


@pytest.mark.parametrize("script", WRONG)
@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "FLOWPROOF_UPSTREAM_OPENAI"])
def test_a_wrong_base_url_is_asked_about(tmp_path: Path, variable: str, script: Script) -> None:
    with FakeUpstream(up.scripted(script)) as upstream:
        named = upstream.url.removesuffix("/v1") + "/llm"
        record = run(job(tmp_path, phase="record"), asks(CHAT), {variable: named})
    assert (record.verdict, record.exit_code) == (Verdict.ERROR, ExitCode.WORLD_ERROR)
    assert f"an answer of a model from {named}/chat/completions: status " in record.reason
    assert record.reason.endswith(f"; is {variable} right?")
    assert "keep_retries" not in record.reason


@pytest.mark.parametrize(
    ("status", "asked"), [pytest.param(404, True, id="404"), pytest.param(429, False, id="429")]
)
def test_an_error_of_a_model_api_may_be_the_point(tmp_path: Path, status: int, asked: bool) -> None:
    with FakeUpstream(up.scripted(up.answer(GONE, status))) as upstream:
        environ = {"OPENAI_BASE_URL": upstream.url}
        record = run(job(tmp_path, phase="record"), asks(CHAT), environ)
    assert record.exit_code is ExitCode.WORLD_ERROR
    assert ("is OPENAI_BASE_URL right?" in record.reason) is asked
    assert record.reason.endswith("set agent.keep_retries: true)")
