"""What record keeps, drops and refuses, seen from outside."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.e2e.model import NEVER, Answer, failing, model, saying
from tests.e2e.project import PLAIN_AGENT, PLAIN_PLAN, Project, flow
from tests.support.upstream import FakeUpstream, Reset, answer, scripted

ASK = {"do": "ask", "say": "hello"}
LAUNCHED = [{"do": "touch", "file": "launched"}, ASK]
KEY = "sk-marker-0123456789"


@pytest.fixture
def plain(project: Project) -> Project:
    project.write("a.flow.yaml", flow(PLAIN_AGENT, {"assert": "reply contains Hello"}))
    return project


def leftovers(folder: Path) -> list[str]:
    """Temporary files and traces in a folder."""
    return sorted(
        path.name for path in folder.iterdir() if path.suffix == ".tmp" or "trace" in path.name
    )


def test_a_retried_failure_is_dropped_and_told(plain: Project) -> None:
    plan = [ASK, {"do": "ask"}]
    with model(failing(429), saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        told = plain.flowproof("record", "a.flow.yaml", plan=plan, env=env)
    assert told.code == 0
    assert "1 failed and retried request" in told.stderr
    assert plain.replay("a.flow.yaml", plan=[ASK]).flow["traffic"]["recorded"] == 1


def test_no_failure_is_told_where_there_was_none(plain: Project) -> None:
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        told = plain.flowproof("record", "a.flow.yaml", plan=[ASK], env=env)
    assert told.code == 0
    assert "retried" not in told.stderr


def test_keep_retries_keeps_them(project: Project) -> None:
    spec = flow(PLAIN_AGENT, {"assert": "reply contains Hello"}, agent={"keep_retries": True})
    project.write("a.flow.yaml", spec)
    plan = [ASK, {"do": "ask"}]
    with model(failing(429), saying("Hello.")) as upstream:
        flow_record = project.record("a.flow.yaml", upstream.url, plan=plan).flow
    assert flow_record["traffic"]["recorded"] == 2
    assert flow_record["traffic"]["retries_dropped"] == 0
    statuses = [line["status"] for line in project.replay("a.flow.yaml", plan=plan).said()]
    assert statuses == [429, 200]


def test_an_unreachable_upstream_is_named(plain: Project) -> None:
    with socket.socket() as taken:
        # Bound and not listening: connections are refused, and nobody else gets the port.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        ran = plain.record("a.flow.yaml", url, plan=[ASK])
    assert (ran.code, ran.flow["verdict"]) == (4, "error"), ran.flow["reason"]
    assert url in ran.flow["reason"]
    assert "cannot connect" in ran.flow["reason"]
    assert leftovers(plain.folder) == []


def test_a_dropped_connection_is_an_error_unless_it_was_retried(plain: Project) -> None:
    hello = answer(saying("Hello.").body)
    with FakeUpstream(scripted([Reset()], [Reset()], hello)) as upstream:
        ran = plain.record("a.flow.yaml", upstream.url, plan=[ASK])
        assert (ran.code, ran.flow["verdict"]) == (4, "error"), ran.flow["reason"]
        assert "model request 1 has no answer" in ran.flow["reason"]
        assert leftovers(plain.folder) == []
        ran = plain.record("a.flow.yaml", upstream.url, plan=[ASK, {"do": "ask"}])
    assert (ran.code, ran.flow["traffic"]["retries_dropped"]) == (0, 1)
    assert [line["status"] for line in ran.said()] == [502, 200]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(plain: Project, status: int) -> None:
    with model(failing(status)) as upstream:
        ran = plain.record("a.flow.yaml", upstream.url, plan=[ASK], FLOWPROOF_AGENT_KEY=KEY)
    assert (ran.code, ran.flow["verdict"]) == (2, "error")
    assert "FLOWPROOF_AGENT_KEY" in ran.flow["reason"]
    assert str(status) in ran.flow["reason"]
    assert KEY not in ran.stdout + ran.stderr
    assert leftovers(plain.folder) == []


def test_a_failing_assertion_leaves_the_previous_trace_as_it_was(plain: Project) -> None:
    with model(saying("Hello.")) as upstream:
        assert plain.record("a.flow.yaml", upstream.url, plan=[ASK]).code == 0
    before = plain.trace("a.flow.yaml").read_bytes()
    with model(saying("Go away.")) as upstream:
        ran = plain.record("a.flow.yaml", upstream.url, plan=[ASK])
    assert (ran.code, ran.flow["verdict"], ran.flow["trace"]) == (1, "fail", None)
    assert "Go away." in ran.flow["assertions"][0]["outcome"]["message"] + str(
        ran.flow["assertions"][0]["outcome"]["closest"]
    )
    assert plain.trace("a.flow.yaml").read_bytes() == before
    assert leftovers(plain.folder) == ["a.trace.json"]
    with model(saying("Hello again.")) as upstream:
        assert plain.record("a.flow.yaml", upstream.url, plan=[ASK]).code == 0
    assert plain.trace("a.flow.yaml").read_bytes() != before


def test_no_upstream_named_ends_before_the_launch(plain: Project) -> None:
    ran = plain.flowproof("record", "a.flow.yaml", "--json", plan=LAUNCHED)
    assert ran.code == 2
    for name in ("FLOWPROOF_AGENT_UPSTREAM", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        assert name in ran.flow["reason"]
    assert not (plain.folder / "launched").exists()


def test_a_trace_may_live_elsewhere(plain: Project) -> None:
    with model(saying("Hello.")) as upstream:
        env = {"FLOWPROOF_AGENT_UPSTREAM": upstream.url}
        record = ("record", "a.flow.yaml", "--out")
        lost = plain.flowproof(*record, "no/such/x.json", plan=LAUNCHED, env=env)
        assert (lost.code, upstream.received) == (2, [])
        assert "no/such/x.json cannot be written: its folder does not exist" in lost.stderr
        assert not (plain.folder / "launched").exists()
        assert plain.flowproof(*record, "x.json", plan=[ASK], env=env).code == 0
    assert not plain.trace("a.flow.yaml").exists()
    assert plain.flowproof("run", "a.flow.yaml", "--trace", "x.json", plan=[ASK]).code == 0


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        pytest.param(
            [{"do": "print", "names": []}],
            "the agent made no model call",
            id="none",
        ),
        pytest.param([{"do": "exit", "status": 3}], "exited with status 3 before", id="died first"),
        pytest.param(
            [{"do": "ask", "say": "hello", "path": "/images/edits"}],
            "POST /v1/images/edits",
            id="an unserved path",
        ),
    ],
)
def test_zero_model_requests_fail_in_both_phases(
    plain: Project, plan: list[object], reason: str
) -> None:
    with model(saying("Hello.")) as upstream:
        ran = plain.record("a.flow.yaml", upstream.url, plan=plan)
        assert (ran.code, ran.flow["verdict"]) == (1, "fail")
        assert reason in ran.flow["reason"]
        assert upstream.received == []
        assert leftovers(plain.folder) == []
        assert plain.record("a.flow.yaml", upstream.url, plan=[ASK]).code == 0
    ran = plain.replay("a.flow.yaml", plan=plan)
    assert (ran.code, ran.flow["verdict"]) == (1, "fail")
    assert reason in ran.flow["reason"]


def test_an_unserved_request_beside_others_is_told_and_does_not_fail(plain: Project) -> None:
    plan = [{"do": "ask", "path": "/images/edits?key=secret", "say": "x"}, {"do": "ask"}]
    with model(saying("Hello.")) as upstream:
        recorded = plain.record("a.flow.yaml", upstream.url, plan=plan)
    replayed = plain.replay("a.flow.yaml", plan=plan)
    for ran in (recorded, replayed):
        assert ran.code == 0
        assert ran.flow["traffic"]["unserved"] == [
            {"method": "POST", "path": "/v1/images/edits", "count": 1, "kind": "request"}
        ]
        assert ran.said()[0]["status"] == 404
        assert "secret" not in ran.stdout


def test_an_upstream_that_never_answers_ends_in_bounded_time(plain: Project) -> None:
    with model(NEVER) as upstream:
        ran = plain.record("a.flow.yaml", upstream.url, plan=[ASK], FLOWPROOF_IDLE_TIMEOUT="1")
    assert (ran.code, ran.flow["verdict"]) == (4, "error"), ran.flow["reason"]
    assert upstream.url in ran.flow["reason"]
    assert "sent nothing for 1 s" in ran.flow["reason"]
    assert ran.flow["duration"] < 8
    assert leftovers(plain.folder) == []


def test_parallel_calls_are_forwarded_in_parallel(plain: Project) -> None:
    slow = Answer(saying("Hello.").body, seconds=1.0)
    plan = [{"do": "at once", "count": 8}]
    with model(slow) as upstream:
        bare = plain.agent_alone(PLAIN_AGENT, upstream.url, plan)
        recorded = plain.record("a.flow.yaml", upstream.url, plan=plan)
    assert recorded.code == 0
    [said] = recorded.said()
    assert said["statuses"] == bare[0]["statuses"] == [200] * 8
    # One after another they would take eight seconds.
    assert said["seconds"] < bare[0]["seconds"] + 1.3
    # They may arrive in any order when they are replayed.
    replayed = plain.replay("a.flow.yaml", plan=plan)
    assert (replayed.code, replayed.flow["traffic"]["served"]) == (0, 8)


def test_request_headers_reach_the_upstream_but_for_the_agents_credentials(plain: Project) -> None:
    headers = {"x-tenant": "blue", "authorization": "Bearer agents-own", "cookie": "a=b"}
    plan = [ASK | {"headers": headers}]
    with model(saying("Hello.")) as upstream:
        ran = plain.record("a.flow.yaml", upstream.url, plan=plan, FLOWPROOF_AGENT_KEY=KEY)
    assert ran.code == 0
    [asked] = upstream.received
    assert asked.header("x-tenant") == "blue"
    assert asked.header("authorization") == f"Bearer {KEY}"
    assert asked.header("cookie") is None
    assert asked.target == "/v1/chat/completions"


def test_two_turns_are_recorded_in_the_order_of_their_requests(plainly_recorded: Project) -> None:
    ran = plainly_recorded.replay("plain.flow.yaml", plan=PLAIN_PLAN)
    turns = ran.flow["trajectory"]["turns"]
    assert [turn["answers"][0]["text"] for turn in turns] == ["Hello.", "Good bye."]
