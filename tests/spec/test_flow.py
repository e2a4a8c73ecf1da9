"""Loading flows: what each key means, and what must hold between keys."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from flowproof.model.flow_spec import (
    AssertNoEgress,
    AssertNoSecretLeak,
    AssertNoToolCall,
    AssertReply,
    AssertToolCall,
    AssertToolCalls,
    Clause,
    Matcher,
    Mock,
    Prompt,
    Scalar,
    Times,
)
from flowproof.model.jsonvalue import NumberText
from tests.spec.support import MINIMAL, flow, step

FULL = """\
name: 1.10
description: yes
app: agent
tags: [booking, 2026, Smoke_1.x-y]
expected_behavior: books ${WHAT}
control: {id: ac.bookings.create, title: T, description: D, references: ["SOC2:CC7.1"], owner: me}
skip_unless_env: [FLAG]
strict: true
agent:
  command: python "my agent.py" ${ARG}
  shell: false
  cwd: ./sub
  env: {NAME: 12:30, EMPTY: "", BASE: "${flowproof.proxy_url}", N: 007}
  timeout: 5m
  expect_exit: 3
  keep_retries: true
  allow_egress: ["api.example.com:443", 10.0.0.0/8:443, "${HOST}:443"]
tools:
  - name: search
    result: {flights: [1, 1.10, yes, true, null, "2", -0], when: 2026-01-01, 1: ~x}
  - {name: pay, results: [a, {b: 1}], repeat_last: true}
  - {name: once, results: [a]}
  - name: declared
steps:
  - prompt: 12:30
  - prompt: |
      Book it
      for ${WHO}
  - assert_tool_call: search
"""


def test_every_runnable_key(tmp_path: Path) -> None:
    spec = flow(tmp_path, FULL)
    assert spec.sha256 == hashlib.sha256(FULL.encode()).hexdigest()
    assert (spec.name, spec.description, spec.strict) == ("1.10", "yes", True)
    assert spec.tags == ("booking", "2026", "Smoke_1.x-y")
    assert spec.skip_unless_env == ("FLAG",)
    assert spec.control is not None
    assert (spec.control.id, spec.control.references) == ("ac.bookings.create", ("SOC2:CC7.1",))
    agent = spec.agent
    assert (agent.driver, agent.command) == ("command", 'python "my agent.py" ${ARG}')
    assert (agent.cwd, agent.timeout, agent.expect_exit) == ("./sub", 300.0, 3)
    assert agent.keep_retries
    assert agent.env == {
        "NAME": "12:30",
        "EMPTY": "",
        "BASE": "${flowproof.proxy_url}",
        "N": "007",
    }
    assert agent.allow_egress == ("api.example.com:443", "10.0.0.0/8:443", "${HOST}:443")
    assert spec.task == "12:30\nBook it\nfor ${WHO}\n"
    assert spec.unsupported == ()
    assert str(spec.position) == "a.flow.yaml:1:1"


def test_mock_results_are_json_values_that_keep_their_text(tmp_path: Path) -> None:
    search, pay, once, declared = flow(tmp_path, FULL).mocks
    assert search.results == (
        {
            "flights": [1, NumberText("1.10"), "yes", True, None, "2", NumberText("-0")],
            "when": "2026-01-01",
            "1": "~x",
        },
    )
    assert search.repeat_last
    assert (pay.results, pay.repeat_last) == (("a", {"b": 1}), True)
    assert (once.results, once.repeat_last) == (("a",), False)
    assert (declared.results, declared.repeat_last) == ((), False)


def test_variables_are_found_where_they_stand(tmp_path: Path) -> None:
    uses = [
        (use.name, use.position.line, use.position.column) for use in flow(tmp_path, FULL).variables
    ]
    assert uses == [
        ("WHAT", 5, 26),
        ("ARG", 10, 33),
        ("HOST", 17, 58),
        ("WHO", 28, 11),
    ]


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param("{shell: true, command: 'a ${NO} ${NO:-x} ${NO%.txt} ${'}", id="before"),
        pytest.param("{command: 'a ${NO} ${NO:-x} ${NO%.txt} ${', shell: true}", id="behind"),
    ],
)
def test_variables_of_a_shell_are_its_own(tmp_path: Path, agent: str) -> None:
    text = f"name: x\nagent: {agent}\nsteps: [{{prompt: '${{YES}}'}}]\n"
    assert [use.name for use in flow(tmp_path, text).variables] == ["YES"]


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param("{shell: false, command: 'a ${VAR}', env: {A: '${B}'}}", id="before"),
        pytest.param("{env: {A: '${B}'}, command: 'a ${VAR}', shell: false}", id="behind"),
        pytest.param("{command: 'a ${VAR}', env: {A: '${B}'}}", id="unsaid"),
    ],
)
def test_variables_without_a_shell_are_ours(tmp_path: Path, agent: str) -> None:
    text = f"name: x\nagent: {agent}\nsteps: [{{prompt: x}}]\n"
    assert {use.name for use in flow(tmp_path, text).variables} == {"VAR", "B"}


def test_variables_of_several_lines_and_escapes(tmp_path: Path) -> None:
    text = MINIMAL + '  - prompt: "a\\t${A} $${A}\n      ${B} ${A}"\n  - prompt: $${NO}\n'
    uses = [(u.name, u.position.line, u.position.column) for u in flow(tmp_path, text).variables]
    assert uses == [("A", 5, 17), ("B", 6, 7), ("A", 6, 12)]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("300", 300.0), ("0.5", 0.5), ("90s", 90.0), ("1.5m", 90.0), ("1h", 3600.0), ("250ms", 0.25)],
)
def test_timeouts(tmp_path: Path, written: str, seconds: float) -> None:
    text = MINIMAL.replace("agent.py}", f"agent.py, timeout: {written}}}")
    assert flow(tmp_path, text).agent.timeout == seconds


def test_prose_steps(tmp_path: Path) -> None:
    made = step(tmp_path, "assert_tool_call: book where flight.id equals 1 and n is 'a and b'")
    assert isinstance(made, AssertToolCall)
    assert made.clauses == (
        Clause(("flight", "id"), Matcher.EQUALS, Scalar("1", quoted=False)),
        Clause(("n",), Matcher.EQUALS, Scalar("a and b", quoted=True)),
    )
    assert made.source == "assert_tool_call: book where flight.id equals 1 and n is 'a and b'"
    assert (made.position.line, made.position.column) == (5, 5)
    refund = step(tmp_path, "assert_no_tool_call: refund where amount matches ^[0-9]{4,}")
    assert isinstance(refund, AssertNoToolCall)
    assert refund.clauses[0].matcher is Matcher.MATCHES
    reply = step(tmp_path, "assert: reply does not contain 'sorry'")
    assert isinstance(reply, AssertReply)
    assert (reply.negated, reply.value) == (True, Scalar("sorry", quoted=True))


def test_structured_steps(tmp_path: Path) -> None:
    made = step(
        tmp_path, "assert_tool_call: {tool: t, args: {a.0: 1, b: 'x', c: [{d: y}]}, times: 2}"
    )
    assert isinstance(made, AssertToolCall)
    assert made.clauses == (
        Clause(("a", "0"), Matcher.EQUALS, Scalar("1", quoted=False)),
        Clause(("b",), Matcher.EQUALS, Scalar("x", quoted=True)),
        Clause(("c",), Matcher.EQUALS, ({"d": Scalar("y", quoted=False)},)),
    )
    assert made.times == Times(2, 2)
    assert made.source == (
        'assert_tool_call: {tool: t, args: {a.0: 1, b: "x", c: [{d: y}]}, times: 2}'
    )
    exact = step(tmp_path, "assert_tool_call: {tool: t, args_exact: {}, times: {min: 1}}")
    assert isinstance(exact, AssertToolCall)
    assert (exact.arguments_exact, exact.times) == ({}, Times(1, None))
    never = step(tmp_path, "assert_no_tool_call: {tool: t, args: {a: 1}}")
    assert isinstance(never, AssertNoToolCall)
    assert never.clauses == (Clause(("a",), Matcher.EQUALS, Scalar("1", quoted=False)),)
    order = step(tmp_path, "assert_tool_calls: [a, b]")
    assert isinstance(order, AssertToolCalls)
    assert order.tools == ("a", "b")


def test_bare_steps(tmp_path: Path) -> None:
    egress = step(tmp_path, "assert_no_egress")
    assert isinstance(egress, AssertNoEgress)
    leak = step(tmp_path, "assert_no_secret_leak")
    assert isinstance(leak, AssertNoSecretLeak)
    assert leak.variables == ()
    named = step(tmp_path, 'assert_no_secret_leak: ["${A}", "${B}"]')
    assert isinstance(named, AssertNoSecretLeak)
    assert named.variables == ("A", "B")


@pytest.mark.parametrize(
    ("extra", "feature"),
    [
        ("volatile: [{path: $.a, reason: r}, {pattern: '[0-9]', in: $.b, reason: r}]", "volatile"),
        ('redact: ["${A}", "[0-9]+"]', "redact"),
        ("allow_sensitive: [{pattern: a, reason: r, expires: 2027-01-01}]", "allow_sensitive"),
        ('freeze: {time: "2026-01-01T09:00:00Z", tz: UTC}', "freeze"),
    ],
)
def test_what_a_later_version_runs_parses(tmp_path: Path, extra: str, feature: str) -> None:
    (unsupported,) = flow(tmp_path, f"{MINIMAL}{extra}\n").unsupported
    assert (unsupported.feature, str(unsupported.position)) == (feature, "a.flow.yaml:5:1")


@pytest.mark.parametrize(
    ("agent", "features"),
    [
        (
            "{url: 'http://x', proxy_port: 1, method: PUT, body: {a: 1}}",
            ["agent.url", "agent.proxy_port", "agent.method", "agent.body"],
        ),
        (
            "{url: 'http://x', proxy_port: 1, method: POST, headers: {A: b}}",
            ["agent.url", "agent.proxy_port", "agent.headers"],
        ),
        (
            "{endpoint: 'http://x', version: 1.0, fixture: f}",
            ["agent.endpoint", "agent.version", "agent.fixture"],
        ),
        (
            "{command: a, client: codex, conversation: stdin}",
            ["agent.client", "agent.conversation"],
        ),
        ("{command: a, warm: true}", ["agent.warm"]),
        ("{command: a, warm: {preload: auto}}", ["agent.warm"]),
        ("{command: a, warm: false, allow_egress: [x]}", []),
    ],
)
def test_what_of_the_agent_a_later_version_runs(
    tmp_path: Path, agent: str, features: list[str]
) -> None:
    spec = flow(tmp_path, f"name: x\nagent: {agent}\nsteps: [{{prompt: x}}]\n")
    assert [item.feature for item in spec.unsupported] == features


def test_steps_of_a_later_version_are_named(tmp_path: Path) -> None:
    text = MINIMAL.replace("prompt", "user") + "  - assert_no_egress\n  - assert_no_secret_leak\n"
    spec = flow(tmp_path, text)
    assert [item.feature for item in spec.unsupported] == [
        "user",
        "assert_no_egress",
        "assert_no_secret_leak",
    ]


def test_an_mcp_tool_may_answer_with_an_error(tmp_path: Path) -> None:
    spec = flow(
        tmp_path,
        MINIMAL + "mcp:\n- {name: a, url: 'http://x', port: 1, tools: [{name: t, error: "
        "{code: -3, message: m}}]}\n",
    )
    (server,) = spec.mcp
    assert server.tools[0].error == {"code": -3, "message": "m"}


def test_a_mock_is_what_the_model_says(tmp_path: Path) -> None:
    (mock,) = flow(tmp_path, MINIMAL + "tools: [{name: a, result: '1'}]\n").mocks
    assert mock == Mock("a", ("1",), True, mock.position)


def test_prompts_join_in_order(tmp_path: Path) -> None:
    spec = flow(tmp_path, MINIMAL + "  - assert: reply is x\n  - prompt: yes\n")
    assert spec.task == "hello\nyes"
    assert sum(isinstance(item, Prompt) for item in spec.steps) == 2
