"""What a flow is refused for: steps, keys, and rules between keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.support import MINIMAL, flow_problems, messages, step_messages


@pytest.mark.parametrize("written", ["0", "-1", "0s", "5 m", "5d", "1e9", '"90"', "yes", ".5", "~"])
def test_refused_timeouts(tmp_path: Path, written: str) -> None:
    text = MINIMAL.replace("agent.py}", f"agent.py, timeout: {written}}}")
    (problem,) = flow_problems(tmp_path, text)
    assert (problem.line, problem.column) == (2, 44)
    assert problem.accepted == "seconds, or a number with a unit: `90s`, `5m`, `1h`, `250ms`"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            "assert_no_egres",
            "5: found the plain text `assert_no_egres`, which is no step",
            id="misspelt",
        ),
        pytest.param(
            "Book me a flight",
            "5: found the plain text `Book me a flight`, which is no step",
            id="sentence",
        ),
        pytest.param("promt: x", "5: unknown step `promt`", id="misspelt-key"),
        pytest.param("prompt", "5: `prompt` needs a value", id="key-alone"),
        pytest.param("prompt:", "12: the value is missing", id="no-value"),
        pytest.param("prompt: ~", "13: the value is missing", id="null"),
        pytest.param('prompt: " "', "13: the text is empty", id="blank"),
        pytest.param("prompt: [a]", "13: found a list", id="list"),
        pytest.param(
            "assert_no_egress: true", "23: `assert_no_egress` takes no value", id="bare-with-value"
        ),
        pytest.param("", "4: the step is empty", id="empty"),
        pytest.param("{}", "5: the step is empty", id="empty-mapping"),
        pytest.param("[prompt]", "5: found a list", id="nested-list"),
        pytest.param(
            "{prompt: a, assert: reply is b}",
            "17: a step has one key, found `prompt`, `assert`",
            id="two",
        ),
        pytest.param(
            "assert: reply is x ${A-B}", "24: `${A-B}` is not a reference", id="reference"
        ),
        pytest.param(
            "assert_tool_call: t where a matches (", "41: this pattern cannot be used", id="regex"
        ),
        pytest.param(
            "assert_tool_call: {tool: t, args: {}}", "39: the mapping is empty", id="args"
        ),
        pytest.param(
            "assert_tool_call: {tool: t, args: {a: 1}, args_exact: {a: 1}}",
            "47: `args` and `args_exact` exclude each other: write all arguments into `args_exact`",
            id="both-args",
        ),
        pytest.param(
            "assert_tool_call: {tool: t, times: {min: 2, max: 1}}",
            "41: `min` (2) is greater than `max` (1)",
            id="range",
        ),
        pytest.param(
            "assert_tool_call: {tool: t, times: {min: 0}}",
            "41: `min: 0` holds for every run; give a `max` too",
            id="vacuous-range",
        ),
        pytest.param(
            "assert_tool_call: {tool: t, times: {}}",
            "40: `times` needs at least one of `min`, `max`",
            id="no-range",
        ),
        pytest.param(
            "assert_tool_call: {args: {a: 1}}",
            "23: `assert_tool_call` lacks the key `tool`",
            id="no-tool",
        ),
        pytest.param("assert_tool_calls: a", "24: found `a`", id="calls"),
        pytest.param("assert_no_secret_leak: [DB]", "29: found `DB`", id="secret"),
    ],
)
def test_refused_steps(tmp_path: Path, written: str, expected: str) -> None:
    found = step_messages(tmp_path, written)
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_a_pattern_with_a_variable_is_judged_at_run(tmp_path: Path) -> None:
    assert step_messages(tmp_path, "assert: reply matches (${A}") == []
    assert step_messages(tmp_path, "assert: reply matches ${A}*") == []


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ("assert: reply matches .*", 27),
        ("assert: reply does not match ^.*", 34),
        ("assert: reply matches 'x?'", 28),
        ("assert_tool_call: t where a is 1 and b matches a*", 52),
        ("assert_no_tool_call: t where a matches (x|)", 44),
    ],
)
def test_a_pattern_that_every_text_matches(tmp_path: Path, written: str, column: int) -> None:
    (found,) = step_messages(tmp_path, written)
    assert found.startswith(f"{column}: the pattern `")
    assert found.endswith("matches every text, so it tells nothing")


@pytest.mark.parametrize(
    "written",
    [
        "assert: reply matches .",
        "assert: reply matches ^$",
        "assert: reply does not match ^[^@]*$",
        "assert: reply contains .*",
        "assert_tool_call: t where a matches ^[0-9]*$",
    ],
)
def test_a_pattern_that_some_text_does_not_match(tmp_path: Path, written: str) -> None:
    assert step_messages(tmp_path, written) == []


def test_other_patterns_may_match_every_text(tmp_path: Path) -> None:
    """They say where something may differ, and hold nothing up."""
    assert messages(tmp_path, MINIMAL + "volatile: [{pattern: '.*', reason: x}]\n") == []


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        pytest.param(
            "{}", ["2:8: `agent` needs exactly one of `command`, `url`, `endpoint`"], id="none"
        ),
        pytest.param(
            "{command: a, url: 'http://x', proxy_port: 1}",
            [
                "2:21: `agent` needs exactly one of `command`, `url`, `endpoint`, found "
                "`command`, `url`"
            ],
            id="two",
        ),
        pytest.param(
            "{url: 'http://x'}",
            [
                "2:9: `url` needs `proxy_port`: the service must find the model at a port "
                "known beforehand"
            ],
            id="no-port",
        ),
        pytest.param(
            "{url: x, proxy_port: 70000}", ["2:14: found `x`", "2:29: found `70000`"], id="url"
        ),
        pytest.param("{command: ' '}", ["2:18: the text is empty"], id="empty"),
        pytest.param(
            "{command: a | b}",
            ["2:20: `|` is shell syntax, and no shell runs this command"],
            id="shell",
        ),
        pytest.param("{command: a | b, shell: true}", [], id="with-shell"),
        pytest.param("{command: a | b, shell: yes}", ["2:32: found `yes`"], id="unclear-shell"),
        pytest.param(
            "{shell: false, command: 'a ${B:-c}'}",
            ["2:35: `${B:-c}` is not a reference"],
            id="reference",
        ),
        pytest.param(
            "{shell: true, command: a, env: {A: '${B:-c}'}}",
            ["2:44: `${B:-c}` is not a reference"],
            id="reference-beside-a-shell",
        ),
        pytest.param(
            "{command: a, env: {A-B: c}}", ["2:27: `A-B` cannot be a key here"], id="env-name"
        ),
        pytest.param("{command: a, env: {A: }}", ["2:30: the value is missing"], id="env-value"),
        pytest.param("{command: a, expect_exit: 256}", ["2:34: found `256`"], id="exit"),
        pytest.param("{command: a, keep_retries: on}", ["2:35: found `on`"], id="on"),
        pytest.param(
            "{command: a, allow_egress: ['https://x']}", ["2:36: found `https://x`"], id="egress"
        ),
        pytest.param(
            "{endpoint: 'http://x', shell: true}",
            ["2:31: `shell` needs `command`: it is about a process that flowproof starts"],
            id="shell-elsewhere",
        ),
    ],
)
def test_rules_of_the_agent(tmp_path: Path, agent: str, expected: list[str]) -> None:
    text = f"name: x\nagent: {agent}\nsteps: [{{prompt: x}}]\n"
    assert messages(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("  - user: x", "5:5: `prompt` and `user` steps cannot be mixed"),
        ("tools: [{name: a}, {name: a}]", "5:21: the tool `a` was declared already, in line 5"),
        (
            "tools: [{name: a, result: 1, results: [1]}]",
            "5:30: `result` and `results` exclude each other",
        ),
        ("tools: [{name: a, results: []}]", "5:28: the list is empty"),
        ("tools: [{name: a, repeat_last: true}]", "5:19: `repeat_last` needs `results`"),
        ("tools: [{name: a, result: }]", "5:27: the value is missing"),
        ("tools: [{name: a, error: {message: x}}]", "5:19: an entry of `tools` has no key `error`"),
        ("mcp: [{name: A, command: x}]", "5:14: found `A`"),
        (
            "mcp: [{name: a, command: x, port: 1}]",
            "5:29: `command` and `port` exclude each other: a stdio server is spawned, not dialed",
        ),
        (
            "mcp: [{name: a-b, command: x}, {name: a_b, command: x}]",
            "5:33: the servers `a-b` and `a_b` differ only in `-` and `_`, and would share "
            "one environment variable",
        ),
        (
            "mcp: [{name: a, command: x}, {name: a, command: x}]",
            "5:31: the server `a` was declared already, in line 5",
        ),
        (
            "mcp: [{name: a, command: x | y}]",
            "5:28: `|` is shell syntax, and no shell runs this command",
        ),
        ("control: {id: A b}", "5:15: found `A b`"),
        ("tags: [-x]", "5:8: found `-x`"),
        ("app: web", "5:6: found `web`"),
    ],
)
def test_rules_across_keys(tmp_path: Path, extra: str, expected: str) -> None:
    assert messages(tmp_path, f"{MINIMAL}{extra}\n") == [expected]


def test_a_flow_without_a_task_is_refused(tmp_path: Path) -> None:
    text = MINIMAL.replace("prompt: hello", "assert_no_egress")
    assert messages(tmp_path, text) == ["4:3: no step gives the agent a task"]


@pytest.mark.parametrize(
    ("planted", "leaks"),
    [
        ("  - prompt: use ${KEY}", True),
        ("tools: [{name: a, result: {x: ['${KEY}']}}]", True),
        ("mcp: [{name: a, command: x, tools: [{name: t, error: {message: '${KEY}'}}]}]", True),
        ("  - prompt: use $${KEY}", False),
        ("tools: [{name: a, result: '${OTHER}'}]", False),
    ],
)
def test_a_secret_that_the_flow_plants_itself(tmp_path: Path, planted: str, leaks: bool) -> None:
    found = messages(tmp_path, f"{MINIMAL}  - assert_no_secret_leak: ${{KEY}}\n{planted}\n")
    assert bool(found) == leaks
    assert not leaks or found[0].startswith("5:5: the secret `${KEY}` cannot be kept from leaking")


def test_hostile_sizes_end_soon(tmp_path: Path) -> None:
    long = "t where " + " and ".join(["a = 1"] * 100_000)
    assert step_messages(tmp_path, f"assert_tool_call: {long}") == [
        "23: the text is longer than 10000 characters"
    ]
    wide = ", ".join(f"k{n}: 1" for n in range(50_000))
    (found,) = step_messages(tmp_path, f"{{{wide}}}")
    assert found.startswith("13: a step has one key") and len(found) < 500


def test_a_name_is_one_line(tmp_path: Path) -> None:
    text = MINIMAL.replace("A flow", '"a\\e[31m"')
    assert messages(tmp_path, text) == ["1:7: found `a\\x1b[31m`"]
