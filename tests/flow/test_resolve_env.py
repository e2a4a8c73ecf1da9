"""Everything that is found out before an agent is launched."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from flowproof.boundary.mocks import MockedTool
from flowproof.errors import CapabilityError, ExitCode, UnsetVariable, UsageError
from flowproof.flow.agent_environment import PLACEHOLDER_KEY
from flowproof.flow.resolve_env import resolve_env
from flowproof.model.flow_spec import AssertReply, AssertToolCall, Scalar
from tests.flow.support import SPEC, asking, job, saying, turn

REAL = "sk-real-0123456789"

VARIABLES = """\
name: Greeter
agent:
  command: greet --to ${WHO} '$${WHO}'
  env: {GREETING: "${HELLO}", ESCAPED: "$${HELLO}"}
tools:
  - {name: look, result: {seen: ["${WHO}", 1.10], "${WHO}": true}}
steps:
  - prompt: Greet ${WHO}
  - assert_tool_call: look where at equals ${WHO}
  - assert_tool_call: {tool: look, args_exact: {at: ["${WHO}"]}}
  - assert: reply contains ${HELLO} $${HELLO}
"""


def test_variables_are_put_in_everywhere(tmp_path: Path) -> None:
    prepared = resolve_env(job(tmp_path, VARIABLES), {"WHO": "Casey", "HELLO": "Hi"})
    assert prepared.task == "Greet Casey"
    look, exact, reply = prepared.assertions
    assert isinstance(look, AssertToolCall)
    assert isinstance(exact, AssertToolCall)
    assert isinstance(reply, AssertReply)
    assert look.clauses[0].value == Scalar("Casey", False)
    assert exact.arguments_exact == {"at": (Scalar("Casey", True),)}
    assert reply.value == Scalar("Hi ${HELLO}", False)
    [(tool, mocked)] = prepared.mocks.items()
    assert tool == "look"
    assert isinstance(mocked, MockedTool)
    [result] = mocked.results
    assert isinstance(result, dict)
    assert list(result) == ["seen", "${WHO}"], "keys are names, not texts"
    assert isinstance(result["seen"], list)
    assert result["seen"][0] == "Casey"
    assert prepared.resolve(prepared.command) == "greet --to Casey '${WHO}'"
    assert {k: prepared.resolve(v) for k, v in prepared.env.items()} == {
        "GREETING": "Hi",
        "ESCAPED": "${HELLO}",
    }


def test_every_unset_variable_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UnsetVariable) as caught:
        resolve_env(job(tmp_path, VARIABLES), {})
    assert [name for name, _ in caught.value.missing] == ["WHO", "HELLO"]
    assert "a.flow.yaml:3:23: ${WHO} is not set" in str(caught.value)
    assert "a.flow.yaml:4:20: ${HELLO} is not set" in str(caught.value)
    assert caught.value.exit_code is ExitCode.AUTHOR_ERROR


def test_an_empty_variable_is_set(tmp_path: Path) -> None:
    assert resolve_env(job(tmp_path, VARIABLES), {"WHO": "", "HELLO": "x"}).task == "Greet "


@pytest.mark.parametrize(
    ("step", "value", "reason"),
    [
        pytest.param("assert: reply contains ${X}", "", "empty text", id="a reply"),
        pytest.param("assert: reply matches ${X}", "(", "pattern cannot be used", id="a pattern"),
        pytest.param(
            "assert_tool_call: look where at contains ${X}", "", "empty text", id="a call"
        ),
        pytest.param("assert_no_tool_call: look where at matches ${X}", "[", "pattern", id="none"),
        pytest.param("assert: reply contains ${X}", "Oslo", None, id="something"),
        pytest.param("assert: reply matches ${X}", "O.*o", None, id="a usable pattern"),
        pytest.param("assert_tool_call: look where at equals ${X}", "", None, id="equals nothing"),
    ],
)
def test_an_assertion_that_a_variable_made_useless(
    tmp_path: Path, step: str, value: str, reason: str | None
) -> None:
    made = job(tmp_path, SPEC.replace("assert: reply contains Hello", step))
    if reason is None:
        assert len(resolve_env(made, {"X": value}).assertions) == 1
        return
    with pytest.raises(UsageError, match=rf"^a\.flow\.yaml:6:\d+: `.*\$\{{X\}}.*`: .*{reason}"):
        resolve_env(made, {"X": value})


def test_the_suites_variables_come_first_and_may_use_earlier_ones(tmp_path: Path) -> None:
    suite_env = {"HELLO": "Hi", "WHO": "${FIRST} ${HELLO}", "LITERAL": "$${WHO}"}
    made = job(tmp_path, VARIABLES, suite_env=suite_env)
    prepared = resolve_env(made, {"FIRST": "Casey", "HELLO": "ignored", "HOME": "/h"})
    assert prepared.task == "Greet Casey Hi"
    assert prepared.inherited == {
        "FIRST": "Casey",
        "HELLO": "Hi",
        "HOME": "/h",
        "WHO": "Casey Hi",
        "LITERAL": "${WHO}",
    }
    assert not [text for text in prepared.warnings if "suite" in text]


def test_a_suite_variable_that_cannot_resolve_fails_only_who_refers_to_it(tmp_path: Path) -> None:
    suite_env = {"HELLO": "${NOWHERE}", "FINE": "1"}
    prepared = resolve_env(job(tmp_path, suite_env=suite_env), {})
    assert prepared.inherited == {"FINE": "1"}
    assert prepared.warnings == (
        "the suite's HELLO is left out of `env:`, since ${NOWHERE} is not set",
    )
    with pytest.raises(UnsetVariable, match=r"\$\{HELLO\} is not set"):
        resolve_env(job(tmp_path, VARIABLES, suite_env=suite_env), {"WHO": "x"})


KEYED = """\
name: Greeter
agent:
  command: greet ${OPENAI_API_KEY}
  env: {A: "${ANTHROPIC_API_KEY}", B: "x ${ALIAS}"}
steps:
  - prompt: Say hello
"""


@pytest.mark.parametrize("real", [None, REAL], ids=["unset", "set"])
def test_a_providers_key_is_a_placeholder_set_or_not(tmp_path: Path, real: str | None) -> None:
    keys = {} if real is None else {"OPENAI_API_KEY": real, "ANTHROPIC_API_KEY": real}
    prepared = resolve_env(job(tmp_path, KEYED), {"ALIAS": REAL, **keys})
    assert prepared.resolve(prepared.command) == f"greet {PLACEHOLDER_KEY}"
    assert prepared.resolve(prepared.env["A"]) == PLACEHOLDER_KEY
    alias = REAL if real is None else PLACEHOLDER_KEY
    assert prepared.resolve(prepared.env["B"]) == f"x {alias}"


SPREAD = """\
name: Greeter
agent: {command: greet}
tools:
  - {name: look, result: "${OPENAI_API_KEY} ${ALIAS}"}
steps:
  - prompt: Use ${OPENAI_API_KEY}, ${ALIAS}
  - assert: reply contains ${OPENAI_API_KEY} ${ALIAS}
"""


def test_no_part_of_a_flow_can_carry_a_real_key_away(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": REAL, "ALIAS": f"<{REAL}>"}
    suite_env = {"COPY": "${OPENAI_API_KEY}"}
    prepared = resolve_env(job(tmp_path, SPREAD, suite_env=suite_env), environ)
    assert REAL not in repr(prepared)
    assert prepared.task == f"Use {PLACEHOLDER_KEY}, <{PLACEHOLDER_KEY}>"


def test_a_key_that_the_suite_covers_up_is_one_still(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": REAL, "ALIAS": REAL}
    prepared = resolve_env(job(tmp_path, suite_env={"OPENAI_API_KEY": "dummy"}), environ)
    assert REAL not in repr(prepared)


def test_a_key_outside_of_what_the_agent_is_given_must_be_set(tmp_path: Path) -> None:
    with pytest.raises(UnsetVariable, match="OPENAI_API_KEY"):
        resolve_env(job(tmp_path, SPREAD), {"ALIAS": "x"})


def test_what_this_version_cannot_run_is_named(tmp_path: Path) -> None:
    spec = SPEC.replace("command: greet", "url: http://localhost:1/, proxy_port: 1, method: PUT")
    with pytest.raises(CapabilityError) as caught:
        resolve_env(job(tmp_path, spec), {})
    assert "a.flow.yaml:3:9: `agent.url` cannot be run by this version" in str(caught.value)
    assert "`agent.method`" in str(caught.value)
    assert caught.value.exit_code is ExitCode.WORLD_ERROR


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        pytest.param(None, "home", id="the project's by default"),
        pytest.param(".", "specs", id="relative to the spec"),
        pytest.param("../home", "home", id="above the spec"),
        pytest.param("${WHERE}", "specs/inner", id="with a variable"),
    ],
)
def test_where_the_agent_runs(tmp_path: Path, cwd: str | None, expected: str) -> None:
    for folder in ("specs/inner", "home"):
        (tmp_path / folder).mkdir(parents=True)
    spec = SPEC if cwd is None else SPEC.replace("command: greet", f"command: greet, cwd: '{cwd}'")
    made = dataclasses.replace(job(tmp_path / "specs", spec), working_folder=tmp_path / "home")
    assert resolve_env(made, {"WHERE": "inner"}).cwd == tmp_path / expected


@pytest.mark.parametrize("cwd", ["nowhere", "a.flow.yaml"], ids=["missing", "a file"])
def test_a_working_folder_that_is_none(tmp_path: Path, cwd: str) -> None:
    spec = SPEC.replace("command: greet", f"command: greet, cwd: {cwd}")
    with pytest.raises(UsageError, match=rf"a\.flow\.yaml: agent\.cwd is no folder: {cwd}"):
        resolve_env(job(tmp_path, spec), {})


@pytest.mark.parametrize("cwd", ["x" * 300, "loop"], ids=["a long name", "a link to itself"])
def test_a_working_folder_that_the_system_refuses(tmp_path: Path, cwd: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    spec = SPEC.replace("command: greet", f"command: greet, cwd: {cwd}")
    with pytest.raises(UsageError, match=r"a\.flow\.yaml: agent\.cwd ") as caught:
        resolve_env(job(tmp_path, spec), {})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        pytest.param(
            ("command: greet", 'command: greet, env: {X: "${flowproof.proxy_urll}"}'),
            "unknown handle ${flowproof.proxy_urll} is passed to the agent as it is",
            id="an unknown handle",
        ),
        pytest.param(
            ("command: greet", "command: greet, allow_egress: [h]"),
            "nothing enforces it here",
            id="egress that nothing bounds",
        ),
    ],
)
def test_warnings(tmp_path: Path, change: tuple[str, str], warning: str) -> None:
    assert resolve_env(job(tmp_path), {}).warnings == ()
    [told] = resolve_env(job(tmp_path, SPEC.replace(*change)), {}).warnings
    assert warning in told


def test_a_recording_that_could_not_be_written_is_not_begun(tmp_path: Path) -> None:
    made = job(tmp_path, phase="record")
    assert resolve_env(made, {}).task == "Say hello"
    nowhere = dataclasses.replace(made, trace_path=tmp_path / "nowhere" / "a.trace.json")
    with pytest.raises(UsageError, match="nowhere"):
        resolve_env(nowhere, {})
    assert resolve_env(dataclasses.replace(nowhere, phase="replay"), {}).task == "Say hello"
    long = dataclasses.replace(made, trace_path=tmp_path / ("x" * 5000))
    with pytest.raises(UsageError, match="cannot be written: File name too long") as caught:
        resolve_env(long, {})
    assert len(str(caught.value)) < 400


def test_a_recording_replaces_a_trace_and_nothing_else(tmp_path: Path) -> None:
    made = job(tmp_path, SPEC, turn(asking("x"), saying("Hello")), phase="record")
    assert resolve_env(made, {}).task == "Say hello"
    for target in (made.spec_path, tmp_path):
        with pytest.raises(UsageError, match="is there and is no flowproof trace") as caught:
            resolve_env(dataclasses.replace(made, trace_path=target), {})
        assert caught.value.exit_code is ExitCode.AUTHOR_ERROR
        replayed = dataclasses.replace(made, trace_path=target, phase="replay")
        assert resolve_env(replayed, {}).task == "Say hello"
